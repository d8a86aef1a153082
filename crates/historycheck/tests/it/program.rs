//! The program `history-check`.

use std::io::Write;
use std::process::{Command, Output};

use crate::script;

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_history-check"))
        .args(arguments)
        .output();
    let Output {
        status,
        stdout,
        stderr,
    } = output.expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn exit_status_and_output() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let clean = "ask 1 A x | signed 1 | end_phase | ask 2 A | signed 2 | end";
    for (name, script, status, on_stdout, on_stderr) in [
        ("clean", clean, 0, r#""violations":[]"#, "no violation"),
        (
            "broken",
            "ask 1 A x | signed 1 | end_phase | end",
            1,
            r#""kind":"not_asked_again""#,
            "violation: transaction 4141",
        ),
        ("unfinished", "ask 1 A x", 2, "", "the run did not finish"),
    ] {
        let path = folder.join(name);
        let mut file = std::fs::File::create(&path).expect("a file");
        let text = script::text(&script::events(script));
        file.write_all(text.as_bytes()).expect("it is written");
        let (code, stdout, stderr) = run(&[path.to_str().expect("text")]);
        assert_eq!(code, Some(status), "{name}: {stderr}");
        assert!(stdout.contains(on_stdout), "{name}: {stdout}");
        assert!(stderr.contains(on_stderr), "{name}: {stderr}");
        assert_eq!(
            stdout.lines().count(),
            usize::from(status < 2),
            "{name}: {stdout}"
        );
    }
    assert_eq!(run(&["--help"]).0, Some(0));
    assert_eq!(run(&[]).0, Some(2));
    assert_eq!(run(&["/nowhere/history"]).0, Some(2));
}
