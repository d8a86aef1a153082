//! Killing: at once, unless a notary may have signed.

use flow::EffectResult::{Done, Failed, Response, States};
use flow::{FlowError, Kill};

use crate::engine::bench::Bench;
use crate::engine::transactions::coin;

#[test]
fn at_once_where_nothing_irrevocable_is_out() {
    let mut b = Bench::new();
    b.start(
        1,
        "test.talk",
        &"B".to_owned(),
        &["send B init test.talk [1] hello"],
    );
    b.round(&["journal 0"]);
    b.kill(
        1,
        Kill::Done,
        &["send B end flow.killed", "forget 1", "failed flow.killed"],
    );
    b.kill(1, Kill::Unknown, &[]);
}

#[test]
fn after_the_answer_where_something_irrevocable_is_out() {
    let mut b = Bench::new();
    b.start(1, "test.pay", &String::new(), &["effect 1 irrevocable N"]);
    b.round(&["journal 0"]);
    b.kill(1, Kill::Waiting, &[]);
    b.round(&["journal 1"]);
    // The kill request survives a crash, and the irrevocable request is sent again.
    b.crash(&["effect 1 irrevocable N"]);
    // Answered, but not recorded yet: the flow continues.
    b.complete(1, 1, Response(b"signed".to_vec()), &["effect 2 more"]);
    b.text(1, 2, "done", &["forget 2", "ended done"]);
}

#[test]
fn at_the_next_suspension_after_a_refusal() {
    let mut b = Bench::new();
    b.start(1, "test.pay", &String::new(), &["effect 1 irrevocable N"]);
    b.kill(1, Kill::Waiting, &[]);
    b.complete(1, 1, Response(b"refused".to_vec()), &["failed flow.killed"]);
    b.start(2, "test.pay", &String::new(), &["effect 1 irrevocable N"]);
    b.kill(2, Kill::Waiting, &[]);
    b.complete(
        2,
        1,
        Failed(FlowError::new("net.down", "", "")),
        &["failed flow.killed"],
    );
    b.round(&[]);
}

#[test]
fn after_the_record_where_one_is_being_written() {
    let mut b = Bench::new();
    b.start(1, "test.spend", &String::new(), &["effect 1 select states"]);
    b.complete(1, 1, States(vec![coin(1)]), &["effect 2 record"]);
    b.kill(1, Kill::Waiting, &[]);
    b.complete(1, 2, Done, &["failed flow.killed"]);
}
