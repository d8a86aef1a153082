//! The hospital: transient failures, flows kept for an operator, pauses.

use flow::EffectResult::{Done, Response, States};
use flow::{EffectResult, FlowError, Kill, Pause, RETRY_KINDS, Stage};

use crate::engine::bench::{Bench, id};
use crate::engine::flows::PANICS;
use crate::engine::sessions::{data, init};
use crate::engine::transactions::coin;

fn busy() -> EffectResult {
    EffectResult::Failed(FlowError::new("notary.busy", "a long queue", "wait"))
}

fn flaky(b: &mut Bench) {
    b.start(1, "test.flaky", &String::new(), &["effect 2 first"]);
    b.round(&["journal 0"]);
}

/// Returns the time of the next retry, by the last failure on the flow's chart.
fn retry_at(b: &Bench) -> (u64, u32) {
    let status = b.engine.status(&id(1)).unwrap();
    let attempt = status.chart.unwrap().last().unwrap().attempt;
    match status.stage {
        Stage::Retrying { at, .. } => (at.as_ms() - b.now, attempt),
        stage => panic!("{stage:?}"),
    }
}

#[test]
fn a_busy_service_is_asked_again_with_longer_waits_and_then_the_flow_is_kept() {
    let mut b = Bench::new();
    flaky(&mut b);
    let (_, _, limit) = RETRY_KINDS[0];
    for attempt in 1..=limit.retries_max {
        let at = b.now + 1 + limit.wait_ms(attempt, &id(1));
        let line = format!("retrying notary.busy at {at}");
        b.complete(1, 2, busy(), &[&line]);
        assert_eq!(retry_at(&b), (limit.wait_ms(attempt, &id(1)), attempt));
        b.round(&[]);
        if attempt % 3 == 0 {
            b.crash(&["effect 2 first"]);
        } else {
            b.retry(1, &["effect 2 first"]);
        }
    }
    b.complete(1, 2, busy(), &["parked notary.busy"]);
    // The flow is kept, even across a restart; an operator's retry continues the count.
    b.crash(&["parked notary.busy"]);
    b.retry(1, &["effect 2 first"]);
    b.complete(1, 2, busy(), &["parked notary.busy"]);
    b.retry(1, &["effect 2 first"]);
    b.text(1, 2, "well", &["effect 3 second"]);
    // At another place the count starts at one.
    let at = b.now + 1 + limit.wait_ms(1, &id(1));
    let line = format!("retrying notary.busy at {at}");
    b.complete(1, 3, busy(), &[&line]);
    b.round(&["journal 1"]);
    b.retry(1, &["effect 3 second"]);
    b.text(1, 3, "done", &["forget 2", "ended well done"]);
    assert!(b.journal.is_empty(), "the chart goes with the flow");
}

#[test]
fn what_a_flow_marks_is_tried_again_and_what_it_rejects_is_not() {
    let mut b = Bench::new();
    flaky(&mut b);
    b.text(1, 2, "first", &["effect 3 second"]);
    let at = b.now + 1 + RETRY_KINDS[1].2.wait_ms(1, &id(1));
    b.text(1, 3, "again", &[&format!("retrying test.again at {at}")]);
    b.round(&["journal 1"]);
    b.crash(&["effect 3 second"]);
    b.text(1, 3, "no", &["forget 2", "failed test.no"]);
    assert!(b.journal.is_empty());
}

#[test]
fn an_unknown_operation_keeps_the_flow() {
    let mut b = Bench::new();
    flaky(&mut b);
    let unknown = FlowError::new("node.unknown_external", "no such operation", "");
    let failed = EffectResult::Failed(unknown);
    b.complete(1, 2, failed, &["parked node.unknown_external"]);
    b.retry(1, &["effect 2 first"]);
}

#[test]
fn a_flow_that_panics_at_once_is_begun_again() {
    PANICS.set(true);
    let mut b = Bench::new();
    let args = "panic at once".to_owned();
    b.start(1, "test.flaky", &args, &["parked flow.panicked"]);
    b.round(&["journal 0"]);
    b.retry(1, &["parked flow.panicked"]);
    b.crash(&["parked flow.panicked"]);
    PANICS.set(false);
    b.retry(1, &["effect 2 first"]);
    b.round(&["journal 1"]);
    b.crash(&["effect 2 first"]);
    b.text(1, 2, "a", &["effect 3 second"]);
    b.round(&["journal 2"]);
    b.crash(&["effect 3 second"]);
    b.text(1, 3, "b", &["forget 3", "ended a b"]);
}

#[test]
fn the_message_that_a_responder_fell_over_comes_again() {
    let mut b = Bench::of('B', Default::default());
    b.message('A', init("test.talk", &[1], None), &[]);
    b.round(&["journal 0"]);
    b.message('A', data(0, "panic"), &["parked flow.panicked"]);
    b.message('A', data(1, "more"), &[]);
    b.round(&["journal 1"]);
    let flow = b.engine.flow_ids()[0];
    let n = flow.0[0];
    assert_ne!(n, 1);
    // A retry gets the same input and panics again; a restart does not retry it.
    b.crash(&["parked flow.panicked"]);
    let rows: Vec<(u32, Vec<u8>)> = b
        .journal
        .iter()
        .map(|((_, s), r)| (*s, r.clone()))
        .collect();
    b.engine.load(flow, &rows);
    b.engine.retry(flow, &b.held, &mut b.out);
    b.expect_after(&["parked flow.panicked"]);
    let chart = b.engine.status(&flow).unwrap().chart.unwrap();
    assert_eq!((chart.failures, chart.last().unwrap().attempt), (2, 2));
}

#[test]
fn a_paused_flow_takes_no_step_until_it_is_resumed() {
    let mut b = Bench::new();
    flaky(&mut b);
    b.text(1, 2, "a", &["effect 3 second"]);
    b.pause(1, Pause::Done, &["paused"]);
    b.pause(1, Pause::Idle, &[]);
    b.pause(9, Pause::Unknown, &[]);
    // An answer that was under way is not lost: the effect is issued again.
    b.text(1, 3, "late", &[]);
    b.round(&["journal 1"]);
    b.crash(&["paused"]);
    assert!(matches!(
        b.engine.status(&id(1)).unwrap().stage,
        Stage::Paused
    ));
    b.retry(1, &["effect 3 second"]);
    b.crash(&["effect 3 second"]);
    b.text(1, 3, "b", &["forget 2", "ended a b"]);
}

#[test]
fn a_halted_flow_takes_no_step_with_the_answer_to_an_irrevocable_request() {
    let mut b = Bench::new();
    b.start(1, "test.pay", &String::new(), &["effect 1 irrevocable N"]);
    b.pause(1, Pause::Waiting, &[]);
    b.halt(1, Pause::Done, &["paused"]);
    b.halt(1, Pause::Idle, &[]);
    b.halt(9, Pause::Unknown, &[]);
    b.complete(1, 1, Response(b"signed".to_vec()), &[]);
    b.round(&["journal 0"]);
    b.crash(&["paused"]);
    // The request is made again, and its answer is dealt with as if there had been no halt.
    b.retry(1, &["effect 1 irrevocable N"]);
    b.pause(1, Pause::Waiting, &[]);
    b.halt(1, Pause::Done, &["paused"]);
    b.round(&[]);
    b.retry(1, &["effect 1 irrevocable N"]);
    b.complete(1, 1, Response(b"signed".to_vec()), &["effect 2 more"]);
    b.text(1, 2, "done", &["forget 1", "ended done"]);
}

#[test]
fn a_halted_flow_records_again_once_it_is_resumed() {
    let mut b = Bench::new();
    b.start(1, "test.spend", &String::new(), &["effect 1 select states"]);
    b.complete(1, 1, States(vec![coin(1)]), &["effect 2 record"]);
    b.halt(1, Pause::Done, &["paused"]);
    b.complete(1, 2, Done, &[]);
    b.round(&["journal 0"]);
    b.held.states.insert(coin(1).reference, coin(1));
    b.retry(1, &["effect 2 record"]);
}

#[test]
fn a_flow_that_waits_to_be_tried_again_can_be_paused_and_killed() {
    let mut b = Bench::new();
    flaky(&mut b);
    let at = b.now + 1 + RETRY_KINDS[0].2.wait_ms(1, &id(1));
    b.complete(1, 2, busy(), &[&format!("retrying notary.busy at {at}")]);
    b.pause(1, Pause::Done, &["paused"]);
    b.crash(&["paused"]);
    b.kill(1, Kill::Done, &["forget 1", "failed flow.killed"]);
    assert!(b.journal.is_empty());
}
