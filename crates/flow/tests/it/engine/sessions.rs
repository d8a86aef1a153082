//! Sessions: order, duplicates, ends, versions, limits.

use flow::{FlowId, FlowLimits, SessionBody, SessionId, SessionMessage};
use primitives::Encode;

use crate::engine::bench::{Bench, id, text};
use crate::engine::flows::party;

/// Returns the session that flow 1 of A opens as its first effect.
pub fn session() -> SessionId {
    SessionId {
        initiator: id(1),
        number: 1,
    }
}

pub fn init(flow: &str, versions: &[u32], first: Option<&str>) -> SessionMessage {
    let first = first.map(|text| text.to_owned().to_bytes());
    let body = SessionBody::Init {
        flow: flow.into(),
        versions: versions.to_vec(),
        first,
    };
    SessionMessage {
        session: session(),
        to_initiator: false,
        body,
    }
}

pub fn data(index: u32, text: &str) -> SessionMessage {
    let body = SessionBody::Data {
        index,
        payload: text.to_owned().to_bytes(),
        last: false,
    };
    SessionMessage {
        session: session(),
        to_initiator: false,
        body,
    }
}

fn back(mut message: SessionMessage, number: u32) -> SessionMessage {
    message.session.number = number;
    message.to_initiator = true;
    message
}

fn end(error: Option<&str>) -> SessionMessage {
    let error = error.map(|code| ledger::Rejection {
        code: code.into(),
        message: "no".into(),
        hint: "ask again".into(),
    });
    SessionMessage {
        session: session(),
        to_initiator: false,
        body: SessionBody::End { index: 0, error },
    }
}

#[test]
fn a_conversation() {
    let (mut a, mut b) = (Bench::new(), Bench::of('B', FlowLimits::default()));
    a.start(
        1,
        "test.talk",
        &"B".to_owned(),
        &["send B init test.talk [1] hello"],
    );
    a.round(&["journal 0"]);
    b.message('A', a.sent[0].1.clone(), &["effect 1 hello"]);
    b.round(&["journal 0"]);
    b.crash(&["effect 1 hello"]);
    let responder = FlowId::responder(&party('A').id(), &session());
    b.engine.complete(
        responder,
        1,
        flow::EffectResult::External("hi".to_owned().to_bytes()),
        &mut b.out,
    );
    b.engine.run_ready(&mut b.out);
    b.work_off();
    assert_eq!(
        b.lines,
        ["send A back data 0 hi last", "forget 1", "ended 0 bytes"]
    );
    a.message('B', b.sent[0].1.clone(), &["forget 1", "ended hi"]);
}

#[test]
fn messages_out_of_order_and_twice() {
    let mut b = Bench::of('B', FlowLimits::default());
    b.message('A', init("test.talk", &[1], None), &[]);
    b.message('A', data(1, "second"), &[]);
    b.message('A', data(1, "second"), &[]);
    b.round(&["journal 0"]);
    b.crash(&[]);
    b.message('A', data(1, "second"), &[]);
    b.round(&[]);
    b.message('A', init("test.talk", &[1], Some("again")), &[]);
    b.message(
        'A',
        data(0, "twice"),
        &[
            "send A back data 0 second last",
            "forget 1",
            "ended 0 bytes",
        ],
    );
}

#[test]
fn all_parties_are_heard_in_any_order() {
    let mut a = Bench::new();
    a.start(
        1,
        "test.talk",
        &"BCD".to_owned(),
        &[
            "send B init test.talk [1] hello",
            "send C init test.talk [1] hello",
            "send D init test.talk [1] hello",
        ],
    );
    a.round(&["journal 0"]);
    a.message('D', back(data(0, "d"), 3), &[]);
    a.round(&["journal 1"]);
    a.message('B', back(data(0, "b"), 1), &[]);
    a.round(&["journal 2"]);
    a.crash(&[]);
    // A message from the wrong party on another party's session is refused.
    a.message(
        'B',
        back(data(0, "c"), 2),
        &["send B end flow.session_unknown"],
    );
    a.message(
        'C',
        back(data(0, "c"), 2),
        &[
            "send B end",
            "send C end",
            "send D end",
            "forget 3",
            "ended b c d",
        ],
    );
}

#[test]
fn an_error_crosses_with_its_code() {
    let mut b = Bench::of('B', FlowLimits::default());
    b.message(
        'A',
        init("test.talk", &[1], Some("refuse")),
        &["send A back end test.refused", "failed test.refused"],
    );
    let mut a = Bench::new();
    a.start(
        1,
        "test.talk",
        &"B".to_owned(),
        &["send B init test.talk [1] hello"],
    );
    a.message('B', b.sent[0].1.clone(), &["failed test.refused"]);
    let error = a.outcomes[&id(1)].clone().unwrap_err();
    assert_eq!(
        (error.message.as_str(), &*error.hint),
        ("not this word", "say another")
    );
}

#[test]
fn the_first_failure_ends_a_joint_wait() {
    let mut a = Bench::new();
    a.start(
        1,
        "test.talk",
        &"BC".to_owned(),
        &[
            "send B init test.talk [1] hello",
            "send C init test.talk [1] hello",
        ],
    );
    a.message(
        'C',
        back(end(Some("test.no")), 2),
        &["send B end test.no", "failed test.no"],
    );
}

#[test]
fn a_peer_that_says_it_was_killed_does_not_make_this_flow_a_killed_one() {
    let mut a = Bench::new();
    a.start(
        1,
        "test.talk",
        &"B".to_owned(),
        &["send B init test.talk [1] hello"],
    );
    a.message(
        'B',
        back(end(Some("flow.killed")), 1),
        &["failed flow.counterparty_killed"],
    );
}

#[test]
fn an_early_end_is_an_error_of_the_one_who_waits() {
    let mut b = Bench::of('B', FlowLimits::default());
    b.message('A', init("test.talk", &[1], None), &[]);
    b.message('A', end(None), &["failed flow.session_ended"]);
}

#[test]
fn the_highest_common_version_is_picked_and_confirmed() {
    let mut b = Bench::of('B', FlowLimits::default());
    b.message(
        'A',
        init("test.offer", &[1, 2, 9], None),
        &["send A back confirm 2"],
    );
    let mut a = Bench::new();
    a.start(
        1,
        "test.offer",
        &vec![1u32, 2, 9],
        &["send B init test.offer [1, 2, 9]"],
    );
    a.round(&["journal 0"]);
    a.message(
        'B',
        b.sent[0].1.clone(),
        &["send B end", "forget 1", "ended 1 bytes"],
    );
}

#[test]
fn a_session_without_a_common_version_is_refused() {
    let mut b = Bench::of('B', FlowLimits::default());
    b.message(
        'A',
        init("test.offer", &[8, 9], None),
        &["send A back end flow.version_unsupported"],
    );
    b.message(
        'A',
        init("test.unheard", &[1], Some("x")),
        &["send A back end flow.no_responder"],
    );
    b.round(&[]);
}

#[test]
fn limits() {
    let limits = FlowLimits {
        session_unread_max: 2,
        session_message_bytes_max: 20,
        responders_max: 1,
        ..FlowLimits::default()
    };
    let mut b = Bench::of('B', limits);
    b.message('A', init("test.talk", &[1], None), &[]);
    b.message(
        'C',
        init("test.talk", &[1], None),
        &["send C back end flow.too_many_responders"],
    );
    b.message('A', data(1, "a"), &[]);
    b.message('A', data(2, "b"), &[]);
    b.message(
        'A',
        data(3, "c"),
        &[
            "send A back end flow.session_overflow",
            "failed flow.session_overflow",
        ],
    );
    b.message(
        'C',
        init("test.talk", &[1], Some("more than twenty bytes")),
        &[
            "send C back end flow.session_overflow",
            "failed flow.session_overflow",
        ],
    );
    let mut a = Bench::of('A', limits);
    a.start(
        1,
        "test.panics",
        &"more than twenty bytes".to_owned(),
        &[
            "send B init test.panics [1]",
            "send B end flow.message_too_large",
            "failed flow.message_too_large",
        ],
    );
}

#[test]
fn payloads_are_text_in_these_tests() {
    assert_eq!(text(&"x".to_owned().to_bytes()), "x");
}
