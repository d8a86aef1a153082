//! Clocks that are set while nodes run. Timers that count elapsed time fire on time, and a notary whose clock is in doubt judges
//! no time window. Node 0 is the notary; node 4 is scripted where a test says so.

use flow::FlowId;
use flow::messaging::RequestId;
use kernel::Event;
use kernel::message::{Answer, PeerMessage, ServiceId};
use kernel::{Reply, Token};
use ledger::{NotaryRequest, NotaryResponse, SignedTransaction};
use primitives::{Coded, Decode, Encode, Timestamp};

use crate::pay::{issue, pay};
use crate::testnet::Testnet;

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// Longer than peers have to answer a question for their clocks.
const ANSWERS_MS: u64 = 3_000;

/// Sets a node's clock, and lets it look at it.
fn set_clock(net: &mut Testnet, node: usize, off_ms: i64) {
    net.nodes[node].clock_off_ms = off_ms;
    net.tell(node, Event::Tick);
    net.settle();
}

fn pass(net: &mut Testnet, ms: u64) {
    net.now += ms;
    net.settle();
}

/// Builds a test network with a notary and four other nodes. Node 4 is scripted and does not tell its clock.
fn net() -> Testnet {
    let mut net = Testnet::new(4);
    net.nodes[4].tells_time = false;
    net.script(4);
    net.heard(4);
    net
}

/// Returns a coin of node 4.
fn coin(net: &Testnet) -> SignedTransaction {
    net.issued(1, 4, 10)
}

/// Sends a request of node 4 to sign a payment before a time, or at any time. Returns the answer.
fn ask(net: &mut Testnet, coin: &SignedTransaction, until_ms: Option<u64>) -> String {
    let wire = match until_ms {
        Some(until_ms) => net.payment_until(coin, 4, 1, until_ms),
        None => net.payment(coin, 4, 1, 0),
    };
    let key = crate::testnet::key(4);
    let request = NotaryRequest::sign(&wire, &net.nodes[0].id, net.nodes[4].id, &key);
    let id = RequestId {
        flow: FlowId([7; 16]),
        effect: 1,
    };
    let request = PeerMessage::Request {
        id,
        service: ServiceId::Notarise as u8,
        body: request.to_bytes(),
    };
    net.heard(4);
    net.say(4, 0, &request);
    net.settle();
    let heard = net.heard(4);
    let answers = heard.into_iter().filter_map(|message| match message {
        PeerMessage::Response { id: of, answer } if of == id => Some(answer),
        _ => None,
    });
    let answers: Vec<Answer> = answers.collect();
    match answers.as_slice() {
        [Answer::Wait(ms)] => {
            assert!(*ms > 0, "a wait has a length");
            "wait".to_owned()
        }
        [Answer::Done(body)] => match NotaryResponse::from_bytes(body).expect("an answer") {
            NotaryResponse::Signed(_) => "signed".to_owned(),
            NotaryResponse::Refused(error) => error.code().to_owned(),
        },
        other => panic!("not one answer: {other:?}; {:#?}", net.logs),
    }
}

/// Confirms the notary's clock, as its operator.
fn confirm_clock(net: &mut Testnet) {
    let token = net.token();
    let user = "operator".to_owned();
    net.tell(
        0,
        Event::ConfirmClock {
            user,
            token: Token(token),
        },
    );
    net.settle();
    assert_eq!(net.replies.remove(&token), Some(Reply::Done));
}

#[test]
fn deliveries_are_repeated_after_a_jump_forward_and_back() {
    let mut net = net();
    let issued = net.start(1, "cash.issue", &issue(100), None);
    net.settle();
    assert_eq!(net.ended(issued), Ok(true));
    net.start(1, "cash.pay", &pay(10, 4), None);
    net.settle();
    let delivers = |message: &PeerMessage| matches!(message, PeerMessage::Deliver { .. });
    assert!(net.heard(4).iter().any(delivers));
    set_clock(&mut net, 1, DAY_MS);
    set_clock(&mut net, 1, 0);
    net.heard(4);
    pass(&mut net, HOUR_MS as u64);
    assert!(net.heard(4).iter().any(delivers), "within the hour");
}

#[test]
fn a_state_rings_at_its_time_after_a_jump_forward_and_back() {
    let mut net = Testnet::new(1);
    set_clock(&mut net, 1, DAY_MS);
    set_clock(&mut net, 1, 0);
    let args = r#"{"in_ms":5000,"flow":"test.ring","again":0,"count":1}"#;
    let token = net.start(1, "test.set", args, None);
    net.settle();
    assert_eq!(net.ended(token), Ok(true), "{:?}", net.logs);
    pass(&mut net, 4_999);
    assert_eq!(net.scheduled.len(), 0, "before its time");
    pass(&mut net, 1);
    assert_eq!(net.scheduled.len(), 1, "{:?}", net.logs);
}

#[test]
fn a_window_waits_until_the_notary_agrees_with_its_peers() {
    let mut net = net();
    let coin = coin(&net);
    let until = Some(net.now + 60_000);
    set_clock(&mut net, 0, HOUR_MS);
    assert_eq!(ask(&mut net, &coin, until), "wait");
    // The peers' clocks differ from the notary's.
    pass(&mut net, ANSWERS_MS);
    let clock = net.figures(0).clock;
    assert!(clock.in_doubt);
    assert_eq!(clock.peers_ahead_ms, Some(-HOUR_MS));
    assert_eq!(ask(&mut net, &coin, until), "wait");
    set_clock(&mut net, 0, 0);
    assert_eq!(ask(&mut net, &coin, until), "wait");
    pass(&mut net, ANSWERS_MS);
    assert!(!net.figures(0).clock.in_doubt, "{:#?}", net.logs);
    assert_eq!(ask(&mut net, &coin, until), "signed");
    assert_eq!(net.figures(0).clock.jumps, 2);
    let told = net.logs.iter().filter(|log| log.contains("clock jumped"));
    assert_eq!(told.count(), 2, "{:#?}", net.logs);
}

#[test]
fn a_restart_ends_no_doubt() {
    let mut net = net();
    let coin = coin(&net);
    let until = Some(net.now + 60_000);
    set_clock(&mut net, 0, HOUR_MS);
    for _ in 0..2 {
        net.down(0);
        net.settle();
        net.up(0);
        net.settle();
        assert!(net.figures(0).clock.in_doubt);
        assert_eq!(ask(&mut net, &coin, until), "wait");
        pass(&mut net, ANSWERS_MS);
    }
    // Peers that are met agree with the clock once it is right.
    net.nodes[0].clock_off_ms = 0;
    net.down(0);
    net.settle();
    net.up(0);
    pass(&mut net, ANSWERS_MS);
    pass(&mut net, 10_000);
    assert!(!net.figures(0).clock.in_doubt, "{:#?}", net.logs);
    assert_eq!(ask(&mut net, &coin, until), "signed");
    net.down(0);
    net.settle();
    net.up(0);
    net.settle();
    assert!(!net.figures(0).clock.in_doubt, "nor begins one");
}

/// The first event that shows a jump is a request, and its judgement must not take the time of the jump.
#[test]
fn a_request_that_comes_with_a_jump_is_not_judged() {
    for validating in [false, true] {
        let mut net = Testnet::with(4, validating, kernel::KernelOptions::default());
        let issued = net.start(1, "cash.issue", &issue(100), None);
        net.settle();
        assert_eq!(net.ended(issued), Ok(true));
        net.nodes[0].clock_off_ms = DAY_MS;
        net.start(1, "cash.pay", &pay(10, 2), None);
        net.settle();
        assert!(net.figures(0).clock.in_doubt, "validating: {validating}");
        net.nodes[0].clock_off_ms = 0;
        for _ in 0..2 {
            pass(&mut net, 10_000);
        }
        let figures = net.figures(0);
        assert!(!figures.clock.in_doubt, "{:#?}", net.logs);
        assert_eq!(
            figures.notary_clock_behind_ms, 0,
            "validating: {validating}"
        );
    }
}

#[test]
fn a_doubted_clock_refuses_no_late_window_for_good() {
    let mut net = net();
    let (coin, until) = (coin(&net), Some(net.now + 60_000));
    // The clock is set back, so a window that is over seems open.
    pass(&mut net, 120_000);
    set_clock(&mut net, 0, -600_000);
    assert_eq!(ask(&mut net, &coin, until), "wait");
    set_clock(&mut net, 0, 0);
    pass(&mut net, ANSWERS_MS);
    assert_eq!(ask(&mut net, &coin, until), "notary.time_window_invalid");
    assert_eq!(ask(&mut net, &coin, None), "signed");
}

#[test]
fn what_has_no_window_is_signed_by_a_doubted_clock() {
    let mut net = net();
    let coin = coin(&net);
    set_clock(&mut net, 0, HOUR_MS);
    assert_eq!(ask(&mut net, &coin, None), "signed");
    assert!(net.figures(0).clock.in_doubt);
}

#[test]
fn fewer_than_half_of_the_peers_cannot_end_a_doubt() {
    let mut net = net();
    let (coin, until) = (coin(&net), Some(net.now + HOUR_MS as u64 * 2));
    set_clock(&mut net, 1, HOUR_MS);
    set_clock(&mut net, 0, HOUR_MS);
    pass(&mut net, 10 * ANSWERS_MS);
    assert!(net.figures(0).clock.in_doubt);
    assert_eq!(ask(&mut net, &coin, until), "wait");
    // Nor can they raise one.
    set_clock(&mut net, 0, 0);
    pass(&mut net, ANSWERS_MS);
    set_clock(&mut net, 2, -600_000);
    pass(&mut net, 10 * ANSWERS_MS);
    assert!(!net.figures(0).clock.in_doubt);
    assert_eq!(ask(&mut net, &coin, until), "signed");
}

#[test]
fn the_operator_ends_the_doubt_of_a_notary_without_peers() {
    let mut net = net();
    for node in 1..4 {
        net.down(node);
    }
    let (coin, until) = (coin(&net), Some(net.now + 60_000));
    set_clock(&mut net, 0, 5_000);
    pass(&mut net, 10 * ANSWERS_MS);
    assert_eq!(ask(&mut net, &coin, until), "wait");
    confirm_clock(&mut net);
    assert_eq!(ask(&mut net, &coin, until), "signed");
}

#[test]
fn a_restarted_notary_judges_no_earlier_than_before() {
    let mut net = net();
    let (first, second) = (coin(&net), coin(&net));
    let until = Some(net.now + HOUR_MS as u64);
    pass(&mut net, 30_000);
    assert_eq!(ask(&mut net, &first, until), "signed");
    net.down(0);
    // The new process learns only from its earlier judgements that its clock was set.
    net.nodes[0].clock_off_ms = -20_000;
    net.up(0);
    net.link(0, 4);
    net.settle();
    assert_eq!(net.figures(0).notary_clock_behind_ms, 20_000);
    let open = Some(net.now - 10_000);
    assert_eq!(ask(&mut net, &second, open), "wait");
    set_clock(&mut net, 0, 0);
    pass(&mut net, ANSWERS_MS);
    assert_eq!(ask(&mut net, &second, open), "notary.time_window_invalid");
}

/// A notary's machine boots with a clock that is ahead.
#[test]
fn a_clock_that_was_set_while_the_node_was_down_judges_nothing() {
    // The peers that are up, and whether they are enough for a doubt.
    for (others, is_doubted) in [(4, true), (1, false)] {
        let mut net = net();
        net.nodes[4].tells_time = true;
        let coin = coin(&net);
        for node in others..4 {
            net.down(node);
        }
        net.down(0);
        net.nodes[0].clock_off_ms = DAY_MS;
        net.up(0);
        net.link(0, 4);
        net.settle();
        let until = Some(net.now + 2 * DAY_MS as u64);
        // Without witnesses, a notary waits first.
        pass(&mut net, 60_000);
        assert_eq!(ask(&mut net, &coin, until), "wait", "{others} peers");
        let clock = net.figures(0).clock;
        assert!(clock.in_doubt, "{others} peers: told");
        assert_eq!(clock.peers_ahead_ms, Some(-DAY_MS));
        // A doubt survives a restart.
        for node in 0..2 {
            net.down(node);
            net.settle();
        }
        net.up(0);
        net.settle();
        let clock = net.figures(0).clock;
        assert_eq!(
            clock.in_doubt, is_doubted,
            "{others} peers: {:#?}",
            net.logs
        );
        net.link(0, 4);
        confirm_clock(&mut net);
        pass(&mut net, 60_000);
        assert_eq!(
            ask(&mut net, &coin, until),
            "signed",
            "by the operator's word"
        );
    }
}

/// A notary's machine boots with a clock that is ahead, and the operator confirms it.
#[test]
fn judgements_that_were_made_ahead_end_with_the_doubt() {
    for by_operator in [false, true] {
        let mut net = net();
        let (first, second) = (coin(&net), coin(&net));
        net.down(0);
        net.nodes[0].clock_off_ms = DAY_MS;
        net.up(0);
        net.link(0, 4);
        net.settle();
        confirm_clock(&mut net);
        let until = Some(net.now + 10 * DAY_MS as u64);
        assert_eq!(ask(&mut net, &first, until), "signed");
        net.down(0);
        if by_operator {
            for node in 1..4 {
                net.down(node);
            }
        }
        net.nodes[0].clock_off_ms = 0;
        net.up(0);
        net.link(0, 4);
        net.settle();
        let figures = net.figures(0);
        assert!(figures.clock.in_doubt);
        assert_eq!(figures.notary_clock_behind_ms, DAY_MS as u64);
        let until = Some(net.now + 600_000);
        if by_operator {
            // It waits for witnesses first.
            pass(&mut net, 60_000);
        }
        assert_eq!(ask(&mut net, &second, until), "wait");
        if by_operator {
            confirm_clock(&mut net);
        } else {
            pass(&mut net, ANSWERS_MS);
        }
        let figures = net.figures(0);
        assert!(!figures.clock.in_doubt, "{:#?}", net.logs);
        assert_eq!(ask(&mut net, &second, until), "signed", "{:#?}", net.logs);
        assert_eq!(net.figures(0).notary_clock_behind_ms, 0);
        // A restart does not bring back the judgements that were ahead.
        net.down(0);
        net.up(0);
        net.settle();
        assert!(!net.figures(0).clock.in_doubt, "{:#?}", net.logs);
    }
}

#[test]
fn a_peer_of_an_older_program_counts_as_silent() {
    let mut net = net();
    set_clock(&mut net, 0, HOUR_MS);
    let question = net.heard(4).into_iter().find_map(|message| match message {
        PeerMessage::Request { id, service, .. } => {
            (service == ServiceId::Clock as u8).then_some(id)
        }
        _ => None,
    });
    let id = question.expect("node 4 is asked too");
    let rejection = ledger::Rejection::new("node.service_unknown", "no", "");
    let answer = Answer::Failed(rejection);
    net.say(4, 0, &PeerMessage::Response { id, answer });
    set_clock(&mut net, 0, 0);
    pass(&mut net, ANSWERS_MS);
    assert!(!net.figures(0).clock.in_doubt, "three others agree");
}

#[test]
fn any_member_is_told_the_time() {
    let mut net = net();
    let id = RequestId {
        flow: FlowId([7; 16]),
        effect: 2,
    };
    let service = ServiceId::Clock as u8;
    let body = Vec::new();
    net.say(4, 1, &PeerMessage::Request { id, service, body });
    net.settle();
    let heard = net.heard(4);
    let [
        PeerMessage::Response {
            answer: Answer::Done(body),
            ..
        },
    ] = heard.as_slice()
    else {
        panic!("{heard:?}");
    };
    let told = Timestamp::from_bytes(body).expect("a time");
    assert_eq!(told, Timestamp::from_ms(net.now));
}
