//! Sub-flows: their own numbers, and skipped on replay once they have ended.

use flow::EffectResult::{Done, Failed};
use flow::FlowError;

use crate::engine::bench::Bench;

#[test]
fn an_ended_sub_flow_is_skipped_on_replay() {
    let mut b = Bench::new();
    b.start(1, "test.outer", &"go".to_owned(), &["effect 1 before"]);
    b.round(&["journal 0"]);
    b.text(1, 1, "a", &["effect 1/1 one"]);
    b.round(&["journal 1"]);
    b.crash(&["effect 1/1 one"]);
    b.text(1, 0x1_0001, "b", &["effect 1/2 two"]);
    b.round(&["journal 2"]);
    b.crash(&["effect 1/2 two"]);
    b.text(1, 0x1_0002, "c", &["effect 3 after"]);
    b.round(&["journal 3"]);
    b.crash(&["effect 3 after"]);
    b.text(1, 3, "d", &["forget 4", "ended a bc d"]);
}

#[test]
fn a_failed_sub_flow_fails_again_on_replay() {
    let mut b = Bench::new();
    b.start(1, "test.outer", &"fail".to_owned(), &["effect 1 before"]);
    b.text(1, 1, "a", &["effect 1/1 one"]);
    b.text(1, 0x1_0001, "b", &["effect 1/2 two"]);
    b.text(1, 0x1_0002, "c", &["effect 3 after"]);
    b.round(&["journal 0"]);
    b.crash(&["effect 3 after"]);
    b.text(1, 3, "d", &["forget 1", "ended a test.failed d"]);
}

#[test]
fn an_effect_failed_within_is_the_sub_flows_failure() {
    let mut b = Bench::new();
    b.start(1, "test.outer", &"go".to_owned(), &["effect 1 before"]);
    b.text(1, 1, "a", &["effect 1/1 one"]);
    let error = FlowError::new("test.down", "down", "");
    b.complete(1, 0x1_0001, Failed(error), &["effect 3 after"]);
    b.round(&["journal 0"]);
    b.crash(&["effect 3 after"]);
    b.text(1, 3, "d", &["forget 1", "ended a test.down d"]);
}

#[test]
fn a_sub_flow_that_waits_for_nothing_runs_again() {
    let mut b = Bench::new();
    b.start(1, "test.outer", &"at once".to_owned(), &["effect 1 before"]);
    b.text(1, 1, "a", &["effect 3 after"]);
    b.round(&["journal 0"]);
    b.crash(&["effect 3 after"]);
    b.text(1, 3, "d", &["forget 1", "ended a nothing d"]);
}

#[test]
fn branches_keep_their_numbers_beside_a_skipped_sub_flow() {
    let mut b = Bench::new();
    b.start(
        1,
        "test.split",
        &String::new(),
        &["effect 1/1 one", "effect 2 right"],
    );
    b.round(&["journal 0"]);
    b.text(1, 0x1_0001, "a", &["effect 1/2 two"]);
    b.round(&["journal 1"]);
    b.text(1, 2, "x", &["effect 3 right again"]);
    b.round(&["journal 2"]);
    b.crash(&["effect 3 right again", "effect 1/2 two"]);
    b.text(1, 0x1_0002, "b", &["effect 4 left"]);
    b.round(&["journal 3"]);
    b.crash(&["effect 3 right again", "effect 4 left"]);
    b.text(1, 4, "c", &[]);
    b.text(1, 3, "y", &["forget 4", "ended abc+xy"]);
}

#[test]
fn a_dropped_sub_flow_ends_its_sessions() {
    let mut b = Bench::new();
    let limit = "limit".to_owned();
    b.start(
        1,
        "test.within",
        &limit,
        &[
            "send B init test.talk [1] hello",
            "effect 2 sleep until 1011",
        ],
    );
    b.round(&["journal 0"]);
    b.complete(1, 2, Done, &["effect 3 flow.timed_out", "send B end"]);
    b.round(&["journal 1"]);
    b.crash(&["effect 3 flow.timed_out"]);
    b.text(1, 3, "x", &["forget 2", "ended x"]);
}

#[test]
fn a_panic_within_keeps_the_whole_flow_and_its_counterparty_waits() {
    let mut b = Bench::new();
    let lines = ["send B init test.talk_and_fall [1]", "effect 1/2 anything"];
    b.start(1, "test.within", &"fall".to_owned(), &lines);
    b.text(1, 0x1_0002, "x", &["parked flow.panicked"]);
    b.round(&["journal 0"]);
    b.kill(
        1,
        flow::Kill::Done,
        &["send B end flow.killed", "forget 1", "failed flow.killed"],
    );
}
