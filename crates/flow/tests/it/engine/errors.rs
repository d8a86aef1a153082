//! Refusals and their error texts.

use flow::ERRORS;
use flow::EffectResult::Done;

use crate::engine::bench::{Bench, start_record};
use crate::engine::flows::AskArgs;

#[test]
fn refused_starts_start_nothing() {
    let mut b = Bench::new();
    let mut refused = |record| b.engine.start(record).unwrap_err().code.into_owned();
    let args = AskArgs {
        amount: 1,
        currency: "GBP".into(),
    };
    assert_eq!(
        refused(start_record(1, "test.none", 1, &args)),
        "flow.unknown"
    );
    assert_eq!(
        refused(start_record(1, "test.ask", 2, &args)),
        "flow.version_unsupported"
    );
    assert_eq!(
        refused(start_record(1, "test.ask", 3, &7u64)),
        "flow.bad_arguments"
    );
    assert_eq!(b.engine.live(), 0);
    b.start(1, "test.ask", &args, &["effect 1 rate"]);
    let record = start_record(1, "test.ask", 3, &args);
    assert_eq!(
        b.engine.start(record).unwrap_err().code,
        "flow.duplicate_id"
    );
    b.text(1, 1, "2", &["ended 1 GBP 2"]);
    b.round(&[]);
}

#[test]
fn an_answer_of_the_wrong_kind_is_an_error_of_the_flow() {
    let mut b = Bench::new();
    b.start(
        1,
        "test.greet",
        &"hi".to_owned(),
        &["progress asking", "effect 1 first"],
    );
    b.complete(1, 1, Done, &["failed flow.effect_mismatched"]);
}

#[test]
fn answers_nobody_waits_for_are_ignored() {
    let mut b = Bench::new();
    b.text(1, 1, "x", &[]);
    b.start(
        1,
        "test.greet",
        &"hi".to_owned(),
        &["progress asking", "effect 1 first"],
    );
    b.text(1, 2, "x", &[]);
    b.text(1, 1, "x", &["effect 4 second x"]);
    b.text(1, 1, "x", &[]);
    b.round(&["journal 0"]);
}

#[test]
fn every_code_has_a_cause_and_an_action() {
    for (i, info) in ERRORS.iter().enumerate() {
        assert!(
            info.code.starts_with("flow.") && !info.cause.is_empty() && !info.action.is_empty()
        );
        assert!(
            ERRORS[..i].iter().all(|other| other.code != info.code),
            "{}",
            info.code
        );
    }
}
