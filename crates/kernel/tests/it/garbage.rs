//! Invalid messages are counted and logged within a rate limit, and have no other effect. Node 1 is real. Node 2, and in some tests
//! the notary, is scripted.

use flow::messaging::RequestId;
use flow::{FlowId, SessionBody, SessionId, SessionMessage};
use kernel::message::{Answer, FetchRequest, PeerMessage, ServiceId};
use ledger::{Rejection, TxId};
use primitives::{Encode, Hash};

use crate::pay::{issue, pay};
use crate::testnet::Testnet;

fn net() -> Testnet {
    let mut net = Testnet::new(2);
    net.script(2);
    net.heard(2);
    net
}

/// Returns fixed pseudo-random bytes.
fn noise(number: u64, len: usize) -> Vec<u8> {
    let hash = |block: u64| Hash::plain(&[number.to_be_bytes(), block.to_be_bytes()].concat());
    let blocks = (0..).map(hash);
    blocks.flat_map(|hash| *hash.as_bytes()).take(len).collect()
}

fn session(initiator: u8, to_initiator: bool, body: SessionBody) -> Vec<u8> {
    let session = SessionId {
        initiator: FlowId([initiator; 16]),
        number: 1,
    };
    let message = SessionMessage {
        session,
        to_initiator,
        body,
    };
    message.to_bytes()
}

/// Returns messages of every kind that a peer could send without a request.
fn samples() -> Vec<PeerMessage> {
    let id = RequestId {
        flow: FlowId([7; 16]),
        effect: 3,
    };
    let fetch = FetchRequest {
        root: TxId::from_array([1; 32]),
        wanted: vec![TxId::from_array([2; 32]); 3],
        transactions_max: u32::MAX,
        bytes_max: 0,
    };
    vec![
        PeerMessage::Session {
            seq: 1,
            body: session(1, false, data(0)),
        },
        PeerMessage::SessionAck { upto: 1 },
        PeerMessage::Request {
            id,
            service: ServiceId::Fetch as u8,
            body: fetch.to_bytes(),
        },
        PeerMessage::Response {
            id,
            answer: Answer::Done(vec![1, 2, 3]),
        },
        PeerMessage::Deliver {
            transactions: vec![noise(1, 50)],
            dependencies: vec![noise(2, 50)],
        },
        PeerMessage::Delivered {
            ids: vec![TxId::from_array([3; 32])],
        },
        PeerMessage::Refused {
            id: TxId::from_array([4; 32]),
            rejection: Rejection::new("test.no", "no", "none"),
        },
    ]
}

fn data(index: u32) -> SessionBody {
    SessionBody::Data {
        index,
        payload: vec![1],
        last: false,
    }
}

#[test]
fn garbage_is_counted_and_complained_of_twenty_times_a_minute() {
    let mut net = net();
    net.logs.clear();
    for number in 0..500 {
        net.say_bytes(2, 1, noise(number, number as usize % 100));
    }
    // A peer that is slowed down is heard a little at a time.
    for _ in 0..50 {
        net.now += 20;
        net.settle();
    }
    let bad = net.figures(1).messages_bad;
    assert!(bad > 490, "{bad}");
    assert_eq!(net.logs.len(), 20, "{:#?}", net.logs);
    net.now += 60_000;
    net.say_bytes(2, 1, vec![0xff]);
    net.settle();
    let silent = bad - 20;
    let said = format!("(and {silent} lines before it that were not written)");
    assert!(net.logs[20].contains(&said), "{}", net.logs[20]);
}

#[test]
fn what_a_peer_writes_can_not_forge_lines_of_the_log() {
    let mut net = net();
    let issued = net.start(1, "cash.issue", &issue(10), None);
    net.settle();
    let paid = net.start(1, "cash.pay", &pay(4, 2), None);
    net.settle();
    let id = net.nodes[1].disk.ledger()[1].1.id();
    let rejection = Rejection::new("x\ny", "fine\r\n2026-01-01 INFO all is well\u{1b}[2J", "");
    net.say(2, 1, &PeerMessage::Refused { id, rejection });
    net.settle();
    assert_eq!((net.ended(issued), net.ended(paid)), (Ok(true), Ok(false)));
    let line = net.logs.last().expect("a line");
    assert!(
        line.contains("all is well") && !line.contains(char::is_control),
        "{line:?}"
    );
}

#[test]
fn a_message_with_any_bit_changed_or_any_end_cut_off_harms_nobody() {
    let mut net = net();
    for bytes in samples().iter().map(Encode::to_bytes) {
        for end in 0..bytes.len() {
            net.say_bytes(2, 1, bytes[..end].to_vec());
        }
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            net.say_bytes(2, 1, changed);
            if bit % 100 == 0 {
                // Slowly enough not to be cut off for it.
                net.settle();
                net.now += 60_000;
            }
        }
        net.settle();
    }
    assert!(net.cut_off.is_empty());
    let issued = net.start(1, "cash.issue", &issue(10), None);
    net.settle();
    assert_eq!(net.ended(issued), Ok(true));
    assert_eq!(net.figures(1).flows_live, 0);
}

#[test]
fn what_nobody_asked_for_has_no_effect() {
    let mut net = net();
    for message in samples() {
        net.say(2, 1, &message);
    }
    let ids = [[0xff; 16], [0; 16]].map(FlowId);
    let answers = [
        Answer::Done(noise(1, 100)),
        Answer::Failed(Rejection::new("test.no", "no", "none")),
        Answer::Wait(u64::MAX),
    ];
    for flow in ids {
        for (effect, answer) in (0..).zip(&answers) {
            let id = RequestId { flow, effect };
            let answer = answer.clone();
            net.say(2, 1, &PeerMessage::Response { id, answer });
        }
    }
    net.quiet();
    assert!(net.nodes[1].disk.ledger().is_empty());
    let figures = net.figures(1);
    assert_eq!((figures.flows_live, figures.requests_outstanding), (0, 0));
    assert_eq!((figures.flows_done, figures.flows_failed), (0, 0));
}

#[test]
fn an_answer_counts_only_from_who_was_asked() {
    let mut net = Testnet::new(2);
    let issued = net.start(1, "cash.issue", &issue(10), None);
    net.settle();
    assert_eq!(net.ended(issued), Ok(true));
    net.script(0);
    net.script(2);
    net.heard(0);
    let paid = net.start(1, "cash.pay", &pay(4, 2), Some("a"));
    net.settle();
    let heard = net.heard(0);
    let [PeerMessage::Request { id, .. }] = heard.as_slice() else {
        panic!("{heard:?}");
    };
    let rejection = Rejection::new("test.no", "no", "none");
    for answer in [
        Answer::Wait(1),
        Answer::Failed(rejection),
        Answer::Done(vec![]),
    ] {
        net.say(2, 1, &PeerMessage::Response { id: *id, answer });
        net.settle();
    }
    assert_eq!(net.figures(1).requests_outstanding, 1);
    net.up(0);
    net.up(2);
    net.quiet();
    assert_eq!(net.ended(paid), Ok(true), "{:?}", net.logs);
}

#[test]
fn garbage_in_a_session_stream_is_acknowledged_and_dropped() {
    let mut net = net();
    let confirm = SessionBody::Confirm { version: 9 };
    let end = SessionBody::End {
        index: 7,
        error: Some(Rejection::new("test.no", "no", "none")),
    };
    let unknown = SessionBody::Init {
        flow: "nobody.has_this".to_owned(),
        versions: vec![1],
        first: Some(vec![1]),
    };
    let no_version = SessionBody::Init {
        flow: "test.double".to_owned(),
        versions: vec![],
        first: None,
    };
    let bad_number = SessionBody::Init {
        flow: "test.double".to_owned(),
        versions: vec![1],
        first: Some(noise(3, 9)),
    };
    let bodies = [
        Vec::new(),
        noise(1, 40),
        session(1, false, data(0)),
        session(1, true, data(u32::MAX)),
        session(1, true, confirm.clone()),
        session(1, false, confirm),
        session(1, true, end.clone()),
        session(1, false, end),
        session(2, true, unknown.clone()),
        session(2, false, unknown),
        session(3, false, no_version),
        session(4, false, bad_number.clone()),
        session(4, false, bad_number),
        session(4, false, data(5)),
    ];
    let count = bodies.len() as u64;
    for (seq, body) in (1..).zip(bodies) {
        net.say(2, 1, &PeerMessage::Session { seq, body });
        net.settle();
    }
    let heard = net.heard(2);
    let mut acked = heard.iter().filter_map(|message| match message {
        PeerMessage::SessionAck { upto } => Some(*upto),
        _ => None,
    });
    assert_eq!(acked.next_back(), Some(count));
    let figures = net.figures(1);
    assert_eq!((figures.messages_bad, figures.flows_live), (2, 0));
    net.down(1);
    net.up(1);
    net.settle();
    assert_eq!(net.figures(1).flows_live, 0, "nothing of it comes back");
}

#[test]
fn an_acknowledgement_of_what_was_never_sent_tells_of_stale_data() {
    let mut net = net();
    net.logs.clear();
    for upto in [0, 1, u64::MAX] {
        net.say(2, 1, &PeerMessage::SessionAck { upto });
    }
    net.settle();
    assert_eq!(net.figures(1).messages_bad, 2);
    let stale = |log: &String| log.starts_with("1: node.stale_data");
    assert_eq!(net.logs.len(), 2);
    assert!(net.logs.iter().all(stale), "{:?}", net.logs);
    net.up(2);
    let asked = net.start(1, "test.double", "2", None);
    net.settle();
    assert_eq!(net.ended(asked), Ok(true), "the stream is unharmed");
}
