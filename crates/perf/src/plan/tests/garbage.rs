//! Tests that no input makes the reader panic, and that accepted input gives a valid plan.

use proptest::prelude::*;

use super::{SWAP, Strict};
use crate::plan::{NoChecks, Options, parse};

/// Reads bytes and checks that an accepted plan is valid.
fn feed(bytes: &[u8], set: &[String]) {
    for full in [false, true] {
        let options = Options {
            full,
            set: set.to_vec(),
        };
        let _ = parse("x", "x.toml", bytes, &options, &Strict);
        match parse("x", "x.toml", bytes, &options, &NoChecks) {
            Ok(plan) => {
                let points = plan.points().expect("a plan that was read has its points");
                assert!(!points.is_empty());
                let again = parse(
                    "y",
                    "y.toml",
                    plan.to_toml().as_bytes(),
                    &Options::default(),
                    &NoChecks,
                );
                assert_eq!(again.as_ref(), Ok(&plan));
            }
            Err(error) => {
                assert!(!error.problems.is_empty());
                assert!(!error.to_string().is_empty());
            }
        }
    }
}

/// The stack of a program's first thread, as Linux limits it by default.
const FIRST_THREAD_STACK: usize = 8 << 20;

#[test]
fn deep_nesting_is_refused_and_does_not_overflow_the_stack() {
    let dotted = |count: usize| vec!["a"; count].join(".");
    let mut texts = vec![
        format!("{} = 1", dotted(30)),
        format!("{} = 1", dotted(100_000)),
        format!("[{}]", dotted(79)),
        format!("x = {}1{}", "[".repeat(50_000), "]".repeat(50_000)),
        format!("x = {}", "[".repeat(50_000)),
    ];
    // As deep as the parser itself allows: keys of many parts within tables within tables.
    let key = dotted(79);
    texts.push(format!(
        "{}x = 1{}",
        format!("{key} = {{ ").repeat(79),
        " }".repeat(79)
    ));
    let feed_all = move || {
        for text in &texts {
            feed(text.as_bytes(), &[]);
            feed(SWAP.as_bytes(), std::slice::from_ref(text));
            feed(SWAP.as_bytes(), &[text.replacen(" = ", "=", 1)]);
        }
    };
    // The program reads plans on its first thread. The thread of a test has a quarter of that stack, too little for code without optimisation.
    let thread = std::thread::Builder::new().stack_size(FIRST_THREAD_STACK);
    let fed = thread.spawn(feed_all).expect("a thread").join();
    fed.expect("nothing panics");
}

proptest! {
    #![proptest_config(properties::config!(256))]

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        feed(&bytes, &[]);
    }

    #[test]
    fn a_scenario_with_bytes_changed(
        edits in proptest::collection::vec((0..2_000usize, 0..4u8, any::<u8>(), 0..2_000usize), 1..6),
    ) {
        let mut bytes = SWAP.as_bytes().to_vec();
        for (at, what, byte, from) in edits {
            let at = at % bytes.len().max(1);
            match what {
                0 if !bytes.is_empty() => bytes[at] = byte & 0x7f,
                1 if !bytes.is_empty() => { bytes.remove(at); }
                2 => bytes.insert(at.min(bytes.len()), byte & 0x7f),
                _ => {
                    // A line of another scenario.
                    let lines: Vec<&str> = SWAP.lines().collect();
                    let line = format!("\n{}\n", lines[from % lines.len()]);
                    let at = at.min(bytes.len());
                    bytes.splice(at..at, line.bytes());
                }
            }
        }
        feed(&bytes, &[]);
    }

    #[test]
    fn any_settings_on_the_command_line(
        texts in proptest::collection::vec("[a-z.]{0,12}=?.{0,12}|(run|load|work|network|sweep|full)\\.[a-z_.]{0,9}=[0-9a-z\"\\[\\]{}.]{0,9}", 0..4),
    ) {
        feed(SWAP.as_bytes(), &texts);
    }
}
