//! An application of one's own, run as its nodes are run by people: this program is the test and, called with a command of
//! `tally`, the nodes as well.
//!
//! The tests cover the operator's part: failing flows are found, kept over restarts, and retried and killed by query. Code is
//! upgraded only with consent. The guide to a first application is run too.

#[path = "../it/stage/mod.rs"]
mod stage;

mod consent;
mod deeds;
mod failing;
mod frail;
mod guide;
mod missing;

use std::path::PathBuf;
use std::process::ExitCode;

use perf::topology::{Network, NetworkOptions};

/// The commands of `tally` that a network's processes are run with; anything else is a filter of tests.
const COMMANDS: [&str; 2] = ["network", "node"];

type Test = (&'static str, fn());

const TESTS: [Test; 8] = [
    (
        "failing_flows_are_kept_retried_and_killed",
        failing::flows_are_kept_retried_and_killed,
    ),
    (
        "a_drain_leaves_kept_flows_as_they_are",
        failing::a_drain_leaves_kept_flows_as_they_are,
    ),
    (
        "code_is_upgraded_with_consent_only",
        consent::code_is_upgraded_with_consent_only,
    ),
    (
        "a_notary_is_changed_with_consent_only",
        consent::a_notary_is_changed_with_consent_only,
    ),
    (
        "what_a_participant_lacks_the_application_for_is_delivered_later",
        missing::what_a_participant_lacks_the_application_for_is_delivered_later,
    ),
    (
        "states_of_a_contract_that_is_lacking_are_named_at_each_start",
        missing::states_of_a_contract_that_is_lacking_are_named_at_each_start,
    ),
    (
        "a_delivery_that_its_receiver_cannot_record_is_shown_with_the_reason",
        missing::a_delivery_that_its_receiver_cannot_record_is_shown_with_the_reason,
    ),
    (
        "the_first_application_does_as_its_guide_says",
        guide::the_first_application_does_as_its_guide_says,
    ),
];

fn main() -> ExitCode {
    if guide::is_program() {
        return guide::main();
    }
    let first = std::env::args().nth(1).unwrap_or_default();
    if COMMANDS.contains(&first.as_str()) {
        return tally::main_with(|contracts, flows| {
            deeds::register(contracts, flows)?;
            frail::register(flows);
            Ok(())
        });
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    run_tests(&words);
    ExitCode::SUCCESS
}

/// Runs or lists the tests that the arguments select, with the output of the standard harness.
fn run_tests(words: &[String]) {
    let has = |flag: &str| words.iter().any(|word| word == flag);
    let filters: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let matches = |name: &str, filter: &str| {
        if has("--exact") {
            name == filter
        } else {
            name.contains(filter)
        }
    };
    // There are no ignored tests.
    let selected = TESTS.iter().filter(|(name, _)| {
        let named = filters.is_empty() || filters.iter().any(|filter| matches(name, filter));
        named && !has("--ignored")
    });
    if has("--list") {
        selected.for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    let mut passed = 0;
    for (name, test) in selected {
        // A test that panics ends the program with a failure.
        test();
        println!("test {name} ... ok");
        passed += 1;
    }
    let filtered = TESTS.len() - passed;
    println!(
        "\ntest result: ok. {passed} passed; 0 failed; 0 ignored; 0 measured; {filtered} filtered out"
    );
}

/// A network whose nodes are this program.
fn network(options: NetworkOptions) -> Network {
    let binary: PathBuf = std::env::current_exe().expect("this program");
    let options = NetworkOptions { binary, ..options };
    Network::bring_up(&options).expect("the network comes up")
}

/// Runs a test's asynchronous part.
fn wait_for<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    runtime.expect("threads").block_on(work)
}
