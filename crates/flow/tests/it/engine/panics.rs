//! Panics of flows: contained, kept for an operator, and silent towards the counterparty.

use flow::FlowError;
use primitives::Encode;

use crate::engine::bench::{Bench, id};
use crate::engine::flows::registry;
use crate::engine::sessions::{data, init};

#[test]
fn a_panic_keeps_one_flow() {
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
    b.text(2, 2, "", &["parked flow.panicked"]);
    let chart = b.engine.status(&id(2)).unwrap().chart.unwrap();
    let cause = chart.last().unwrap();
    assert_eq!(cause.message, "the flow panicked: at noon");
    assert!(!cause.hint.is_empty());
    b.text(1, 1, "x", &["effect 4 second x"]);
    b.round(&["journal 1"]);
    b.retry(2, &["effect 2 anything"]);
    b.kill(
        2,
        flow::Kill::Done,
        &["send B end flow.killed", "forget 1", "failed flow.killed"],
    );
    assert!(b.journal.keys().all(|(flow, _)| *flow == id(1)));
}

#[test]
fn a_panic_in_a_codec_of_a_flow_is_its_error() {
    let (registry, name) = (registry(), "test.brittle");
    let bytes = |text: &str| text.to_owned().to_bytes();
    // The operation, and its result with the error's message.
    let table: [(&str, Result<(), FlowError>); 4] = [
        (
            "decoding",
            registry.args_from_json(name, 1, b"\"decode\"").map(drop),
        ),
        (
            "encoding",
            registry.args_from_json(name, 1, b"\"encode\"").map(drop),
        ),
        (
            "decoding",
            registry.args_to_json(name, 1, &bytes("decode")).map(drop),
        ),
        (
            "decoding",
            registry.output_to_json(name, 1, &bytes("decode")).map(drop),
        ),
    ];
    for (what, outcome) in table {
        let error = outcome.expect_err(what);
        assert_eq!(error.code, "flow.panicked");
        let expected = format!("the code of 'test.brittle' panicked: it broke while {what}");
        assert_eq!(error.message, expected);
    }
    let mut b = Bench::new();
    let refused = b.refused(1, name, &"decode".to_owned());
    assert_eq!(refused.code, "flow.panicked");
    b.start(2, name, &"whole".to_owned(), &["ended whole"]);
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
        &["parked flow.panicked"],
    );
    // Messages for it are kept.
    b.message('A', data(1, "x"), &[]);
    assert!(b.sent.is_empty());
}

#[test]
fn responders_beyond_the_bound_end_with_their_panic() {
    let limits = flow::FlowLimits {
        kept_responders_max: 0,
        ..Default::default()
    };
    let mut b = Bench::of('B', limits);
    b.message(
        'A',
        init("test.talk", &[1], Some("panic")),
        &["send A back end flow.panicked", "failed flow.panicked"],
    );
    let (_, message) = b.sent.last().unwrap();
    assert!(!format!("{message:?}").contains("secret"));
    b.message('A', data(1, "x"), &["send A back end flow.session_unknown"]);
}
