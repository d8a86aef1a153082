//! Shares of peers, and sessions on which a peer is silent: one peer at its worst, and another that wants to talk.

use flow::{EffectResult, FlowId, FlowLimits, PeerUsage, RESPONDER_BYTES, SessionBody, SessionId};
use primitives::{KeyPair, Monotonic, Scheme};

use crate::engine::bench::{Bench, id};
use crate::engine::flows::party;
use crate::engine::sessions::{data, init, session};

/// Returns the message with session number `number`.
fn numbered(number: u32, mut message: flow::SessionMessage) -> flow::SessionMessage {
    message.session.number = number;
    message
}

fn usage(b: &Bench, peer: char) -> PeerUsage {
    b.engine.peer_usage(&party(peer).id())
}

#[test]
fn a_peer_over_its_share_of_responders_is_refused_and_others_are_not() {
    let limits = FlowLimits {
        responders_max: 8,
        ..FlowLimits::default()
    };
    let mut b = Bench::of('B', limits);
    for number in 1..=4 {
        b.message('A', numbered(number, init("test.talk", &[1], None)), &[]);
    }
    for number in 5..=20 {
        b.message(
            'A',
            numbered(number, init("test.talk", &[1], None)),
            &["send A back end flow.share_exceeded"],
        );
    }
    assert_eq!((usage(&b, 'A').responders, usage(&b, 'A').refused), (4, 16));
    b.message('C', init("test.talk", &[1], Some("x")), &["effect 1 x"]);
    // A released share is available again.
    b.message(
        'A',
        numbered(1, data(0, "refuse")),
        &["send A back end test.refused", "failed test.refused"],
    );
    b.message('A', numbered(21, init("test.talk", &[1], None)), &[]);
}

#[test]
fn bytes_are_charged_when_they_come_and_given_back_at_the_end() {
    let limits = FlowLimits {
        peers_bytes_max: 10_000,
        ..FlowLimits::default()
    };
    let mut b = Bench::of('B', limits);
    let long = "x".repeat(RESPONDER_BYTES);
    b.message(
        'A',
        numbered(1, init("test.talk", &[1], Some("twice"))),
        &[],
    );
    b.message('A', numbered(1, data(2, &long)), &[]);
    let held = usage(&b, 'A').bytes;
    assert!(
        (2 * RESPONDER_BYTES..3 * RESPONDER_BYTES).contains(&held),
        "{held}"
    );
    // The next message does not fit: its session ends for both sides, with a code.
    b.message(
        'A',
        numbered(1, data(3, &long)),
        &[
            "send A back end flow.share_exceeded",
            "failed flow.share_exceeded",
        ],
    );
    assert_eq!((usage(&b, 'A').bytes, usage(&b, 'A').refused), (0, 1));
    let asks = format!("effect 1 {long}");
    b.message('C', init("test.talk", &[1], Some(&long)), &[&asks]);
}

#[test]
fn journals_are_charged_and_charged_again_after_a_restart() {
    let limits = FlowLimits {
        peers_journal_bytes_max: 8_200,
        ..FlowLimits::default()
    };
    let mut b = Bench::of('B', limits);
    let long = "x".repeat(3_000);
    let asks = format!("effect 1 {long}");
    let opening = numbered(1, init("test.talk", &[1], Some(&long)));
    b.message('A', opening, &[&asks]);
    b.round(&["journal 0"]);
    let before = usage(&b, 'A');
    assert!(before.journal_bytes > 3_000, "{before:?}");
    let refused = &["send A back end flow.share_exceeded"];
    b.message('A', numbered(2, init("test.talk", &[1], None)), refused);
    b.crash(&[&asks]);
    let after = usage(&b, 'A');
    assert_eq!(
        (after.responders, after.bytes, after.journal_bytes),
        (1, before.bytes, before.journal_bytes)
    );
    b.message('A', numbered(2, init("test.talk", &[1], None)), refused);
    b.message('C', init("test.talk", &[1], None), &[]);
}

#[test]
fn what_waits_for_a_parked_responder_counts_for_its_peer() {
    let limits = FlowLimits {
        peers_bytes_max: 6_000,
        ..FlowLimits::default()
    };
    let mut b = Bench::of('B', limits);
    b.message(
        'A',
        init("test.talk", &[1], Some("panic")),
        &["parked flow.panicked"],
    );
    b.message('A', data(1, "x"), &[]);
    b.message(
        'A',
        data(2, &"x".repeat(RESPONDER_BYTES)),
        &["send A back end flow.share_exceeded"],
    );
    assert_eq!(usage(&b, 'A').aside, 1);
}

#[test]
fn bytes_for_a_clients_flow_count_for_the_peer_that_sends_them() {
    let limits = FlowLimits {
        peers_bytes_max: 1_000,
        ..FlowLimits::default()
    };
    let mut a = Bench::of('A', limits);
    a.start(
        1,
        "test.talk",
        &"BC".to_owned(),
        &[
            "send B init test.talk [1] hello",
            "send C init test.talk [1] hello",
        ],
    );
    let mut answer = data(0, &"x".repeat(1_000));
    answer.to_initiator = true;
    a.message(
        'B',
        answer,
        &[
            "send B end flow.share_exceeded",
            "send C end flow.share_exceeded",
            "failed flow.share_exceeded",
        ],
    );
    assert_eq!(
        usage(&a, 'B'),
        PeerUsage {
            refused: 1,
            ..PeerUsage::default()
        }
    );
}

#[test]
fn each_peer_has_a_share_of_the_responders_that_are_kept() {
    let limits = FlowLimits {
        kept_responders_max: 4,
        ..FlowLimits::default()
    };
    let mut b = Bench::of('B', limits);
    let ends = &["send A back end flow.panicked", "failed flow.panicked"];
    for (number, expected) in [
        (1, &["parked flow.panicked"][..]),
        (2, &["parked flow.panicked"]),
        (3, ends),
    ] {
        let opening = numbered(number, init("test.talk", &[1], Some("panic")));
        b.message('A', opening, expected);
    }
    let opening = init("test.talk", &[1], Some("panic"));
    b.message('C', opening, &["parked flow.panicked"]);
}

/// Lets time pass, and looks for silent peers.
fn pass(b: &mut Bench, ms: u64, expected: &[&str]) {
    b.now += ms;
    b.engine.set_monotonic(Monotonic::from_ms(b.now));
    b.engine.end_idle();
    b.expect_after(expected);
}

fn impatient() -> Bench {
    let limits = FlowLimits {
        responder_idle_ms: 1_000,
        ..FlowLimits::default()
    };
    Bench::of('B', limits)
}

const IDLE: &[&str] = &[
    "send A back end flow.session_idle",
    "failed flow.session_idle",
];

#[test]
fn a_session_on_which_its_opener_is_silent_ends_with_a_code() {
    // The message before the silence: the silence counts from the last message.
    for said in [None, Some("twice")] {
        let mut b = impatient();
        b.message('A', init("test.talk", &[1], None), &[]);
        pass(&mut b, 999, &[]);
        if let Some(word) = said {
            b.message('A', data(0, word), &[]);
            pass(&mut b, 999, &[]);
        }
        pass(&mut b, 1, IDLE);
        assert_eq!(
            (usage(&b, 'A').responders, usage(&b, 'A').idle_ended),
            (0, 1)
        );
        assert_eq!(b.engine.next_idle(), None);
    }
}

#[test]
fn a_responder_that_waits_for_its_own_world_is_left_alone() {
    let mut b = impatient();
    b.message('A', init("test.talk", &[1], Some("x")), &["effect 1 x"]);
    pass(&mut b, 100_000, &[]);
    b.message(
        'A',
        numbered(2, init("test.talk", &[1], Some("panic"))),
        &["parked flow.panicked"],
    );
    pass(&mut b, 100_000, &[]);
    assert_eq!(usage(&b, 'A').responders, 2);
}

#[test]
fn silence_counts_from_the_start_of_the_node_after_a_restart() {
    let mut b = impatient();
    b.message('A', init("test.talk", &[1], None), &[]);
    b.round(&["journal 0"]);
    b.now += 900;
    b.crash(&[]);
    pass(&mut b, 900, &[]);
    pass(
        &mut b,
        100,
        &[
            "send A back end flow.session_idle",
            "forget 1",
            "failed flow.session_idle",
        ],
    );
    assert!(b.journal.is_empty());
}

#[test]
fn a_responder_that_has_signed_is_not_ended_for_silence() {
    let mut b = impatient();
    let opening = init("test.sign_and_wait", &[1], None);
    b.message('A', opening, &["effect 1 sign"]);
    let flow = FlowId::responder(&party('A').id(), &session());
    let key = KeyPair::from_seed(Scheme::Ed25519, [1; 32]);
    let context = primitives::SignatureContext::Transaction;
    let signature = key.sign(context, &primitives::Hash::ZERO);
    b.engine
        .complete(flow, 1, EffectResult::Signature(signature), &mut b.out);
    b.engine.run_ready(&mut b.out);
    b.expect_after(&[]);
    pass(&mut b, 100_000, &[]);
    assert_eq!(usage(&b, 'A').responders, 1);
    b.message('A', data(0, "done"), &["send A back end", "ended 0 bytes"]);
}

#[test]
fn many_silent_sessions_end_in_several_calls() {
    let mut b = impatient();
    for number in 0..600 {
        let session = SessionId {
            initiator: id(1),
            number,
        };
        let message = flow::SessionMessage {
            session,
            to_initiator: false,
            body: SessionBody::Init {
                flow: "test.talk".into(),
                versions: vec![1],
                first: None,
            },
        };
        b.message('A', message, &[]);
    }
    b.now += 10_000;
    b.engine.set_monotonic(Monotonic::from_ms(b.now));
    let mut ended = Vec::new();
    while b.engine.next_idle().is_some() {
        b.engine.end_idle();
        b.work_off();
        ended.push(std::mem::take(&mut b.lines).len() / 2);
    }
    assert_eq!(ended, [256, 256, 88]);
    assert_eq!(usage(&b, 'A').bytes, 0);
}

#[test]
fn a_node_that_answers_no_sessions_refuses_them_and_finishes_those_in_flight() {
    let mut b = Bench::new();
    b.message('A', init("test.talk", &[1], None), &[]);
    b.round(&["journal 0"]);
    let mut closed = crate::engine::flows::registry();
    closed.close_sessions();
    b.registry = std::sync::Arc::new(closed);
    b.crash(&[]);
    assert!(b.engine.versions_missing().is_empty());
    b.message(
        'A',
        numbered(2, init("test.talk", &[1], None)),
        &["send A back end flow.no_responder"],
    );
    b.message('A', data(0, "x"), &["effect 1 x"]);
}

/// Starts the node again and puts its one flow on the shelf.
fn shelved(said: &str) -> (Bench, FlowId) {
    let mut b = Bench::of('B', FlowLimits::default());
    b.message('A', init("test.talk", &[1], Some(said)), &[]);
    b.round(&["journal 0"]);
    let flow = FlowId::responder(&party('A').id(), &session());
    b.engine = crate::engine::bench::engine('B', &b.registry, b.limits);
    let rows = rows(&b);
    b.engine.load(flow, &rows);
    assert!(b.engine.shelve(flow));
    let stage = b.engine.status(&flow).map(|status| status.stage);
    assert_eq!(stage, Some(flow::Stage::Loaded));
    (b, flow)
}

fn rows(b: &Bench) -> Vec<(u32, Vec<u8>)> {
    let rows = b.journal.iter();
    rows.map(|((_, step), row)| (*step, row.clone())).collect()
}

/// Reloads the flow from its journal.
fn bring_back(b: &mut Bench, flow: FlowId, expected: &[&str]) {
    assert!(b.engine.is_written(&flow));
    let rows = rows(b);
    b.engine.load(flow, &rows);
    b.engine.retry(flow, &b.held, &mut b.out);
    b.expect_after(expected);
}

#[test]
fn a_flow_on_the_shelf_keeps_what_comes_for_it() {
    let (mut b, flow) = shelved("twice");
    assert_eq!(usage(&b, 'A').responders, 1);
    b.message('A', data(1, "more"), &[]);
    assert!(!b.engine.is_written(&flow));
    b.round(&["journal 1"]);
    let expected = ["send A back data 0 more last", "forget 2", "ended 0 bytes"];
    bring_back(&mut b, flow, &expected);
    assert_eq!(usage(&b, 'A').bytes, 0);
}

#[test]
fn a_flow_on_the_shelf_is_killed_once_it_is_back() {
    let (mut b, flow) = shelved("twice");
    assert_eq!(b.engine.kill(flow, &mut b.out), flow::Kill::Waiting);
    b.expect_after(&[]);
    bring_back(&mut b, flow, &[]);
    assert!(b.engine.is_kill_asked(&flow));
    assert_eq!(b.engine.kill(flow, &mut b.out), flow::Kill::Done);
    b.expect_after(&[
        "send A back end flow.killed",
        "forget 1",
        "failed flow.killed",
    ]);
    assert!(b.journal.is_empty());
}
