//! Panics of flows: contained, and silent towards the counterparty.

use crate::bench::{Bench, id};
use crate::sessions::{data, init};

#[test]
fn a_panic_fails_one_flow() {
    let mut b = Bench::new();
    b.start(
        1,
        "test.greet",
        &"hi".to_owned(),
        &["progress asking", "effect 1 first"],
    );
    b.start(
        2,
        "test.panics",
        &"noon".to_owned(),
        &["send B init test.panics [1] noon", "effect 2 anything"],
    );
    b.round(&["journal 0", "journal 0"]);
    b.text(
        2,
        2,
        "",
        &[
            "send B end flow.panicked",
            "forget 1",
            "failed flow.panicked",
        ],
    );
    let error = b.outcomes[&id(2)].clone().unwrap_err();
    assert_eq!(error.message, "the flow panicked: at noon");
    assert!(!error.hint.is_empty());
    b.text(1, 1, "x", &["effect 4 second x"]);
}

#[test]
fn a_panic_while_a_killed_flow_is_dropped_is_contained() {
    let mut b = Bench::new();
    b.start(
        1,
        "test.panics",
        &"on drop".to_owned(),
        &["send B init test.panics [1] on drop", "effect 2 anything"],
    );
    b.kill(
        1,
        flow::Kill::Done,
        &["send B end flow.killed", "failed flow.killed"],
    );
}

#[test]
fn a_responders_panic_text_stays_at_home() {
    let mut b = Bench::of('B', Default::default());
    b.message(
        'A',
        init("test.talk", &[1], Some("panic")),
        &["send A back end flow.panicked", "failed flow.panicked"],
    );
    let (_, message) = b.sent.last().unwrap();
    assert!(!format!("{message:?}").contains("secret"));
    b.message('A', data(1, "x"), &["send A back end flow.session_unknown"]);
}
