//! Invalid messages are counted and logged within a rate limit, and have no other effect. Node 1 is real. Node 2, and in some tests
//! the notary, is played.

use flow::messaging::RequestId;
use flow::{FlowId, SessionBody, SessionId, SessionMessage};
use kernel::message::{Answer, FetchRequest, PeerMessage, ServiceId};
use ledger::{Rejection, TxId};
use primitives::{Encode, Hash};

use crate::pay::{issue, pay};
use crate::town::Town;

fn town() -> Town {
    let mut town = Town::new(2);
    town.play(2);
    town.heard(2);
    town
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
    let mut town = town();
    town.logs.clear();
    for number in 0..500 {
        town.say_bytes(2, 1, noise(number, number as usize % 100));
    }
    // A peer that is slowed down is heard a little at a time.
    for _ in 0..50 {
        town.now += 20;
        town.settle();
    }
    let bad = town.figures(1).messages_bad;
    assert!(bad > 490, "{bad}");
    assert_eq!(town.logs.len(), 20, "{:#?}", town.logs);
    town.now += 60_000;
    town.say_bytes(2, 1, vec![0xff]);
    town.settle();
    let silent = bad - 20;
    let said = format!("(and {silent} lines before it that were not written)");
    assert!(town.logs[20].contains(&said), "{}", town.logs[20]);
}

#[test]
fn what_a_peer_writes_can_not_forge_lines_of_the_log() {
    let mut town = town();
    let issued = town.start(1, "cash.issue", &issue(10), None);
    let paid = town.start(1, "cash.pay", &pay(4, 2), None);
    town.settle();
    let id = town.nodes[1].disk.ledger()[1].1.id();
    let rejection = Rejection::new("x\ny", "fine\r\n2026-01-01 INFO all is well\u{1b}[2J", "");
    town.say(2, 1, &PeerMessage::Refused { id, rejection });
    town.settle();
    assert_eq!(
        (town.ended(issued), town.ended(paid)),
        (Ok(true), Ok(false))
    );
    let line = town.logs.last().expect("a line");
    assert!(
        line.contains("all is well") && !line.contains(char::is_control),
        "{line:?}"
    );
}

#[test]
fn a_message_with_any_bit_changed_or_any_end_cut_off_harms_nobody() {
    let mut town = town();
    for bytes in samples().iter().map(Encode::to_bytes) {
        for end in 0..bytes.len() {
            town.say_bytes(2, 1, bytes[..end].to_vec());
        }
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            town.say_bytes(2, 1, changed);
            if bit % 100 == 0 {
                // Slowly enough not to be cut off for it.
                town.settle();
                town.now += 60_000;
            }
        }
        town.settle();
    }
    assert!(town.cut_off.is_empty());
    let issued = town.start(1, "cash.issue", &issue(10), None);
    town.settle();
    assert_eq!(town.ended(issued), Ok(true));
    assert_eq!(town.figures(1).flows_live, 0);
}

#[test]
fn what_nobody_asked_for_has_no_effect() {
    let mut town = town();
    for message in samples() {
        town.say(2, 1, &message);
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
            town.say(2, 1, &PeerMessage::Response { id, answer });
        }
    }
    town.quiet();
    assert!(town.nodes[1].disk.ledger().is_empty());
    let figures = town.figures(1);
    assert_eq!((figures.flows_live, figures.requests_outstanding), (0, 0));
    assert_eq!((figures.flows_done, figures.flows_failed), (0, 0));
}

#[test]
fn an_answer_counts_only_from_who_was_asked() {
    let mut town = Town::new(2);
    let issued = town.start(1, "cash.issue", &issue(10), None);
    town.settle();
    assert_eq!(town.ended(issued), Ok(true));
    town.play(0);
    town.play(2);
    town.heard(0);
    let paid = town.start(1, "cash.pay", &pay(4, 2), Some("a"));
    town.settle();
    let heard = town.heard(0);
    let [PeerMessage::Request { id, .. }] = heard.as_slice() else {
        panic!("{heard:?}");
    };
    let rejection = Rejection::new("test.no", "no", "none");
    for answer in [
        Answer::Wait(1),
        Answer::Failed(rejection),
        Answer::Done(vec![]),
    ] {
        town.say(2, 1, &PeerMessage::Response { id: *id, answer });
        town.settle();
    }
    assert_eq!(town.figures(1).requests_outstanding, 1);
    town.up(0);
    town.up(2);
    town.quiet();
    assert_eq!(town.ended(paid), Ok(true), "{:?}", town.logs);
}

#[test]
fn garbage_in_a_session_stream_is_acknowledged_and_dropped() {
    let mut town = town();
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
        town.say(2, 1, &PeerMessage::Session { seq, body });
        town.settle();
    }
    let heard = town.heard(2);
    let mut acked = heard.iter().filter_map(|message| match message {
        PeerMessage::SessionAck { upto } => Some(*upto),
        _ => None,
    });
    assert_eq!(acked.next_back(), Some(count));
    let figures = town.figures(1);
    assert_eq!((figures.messages_bad, figures.flows_live), (2, 0));
    town.down(1);
    town.up(1);
    town.settle();
    assert_eq!(town.figures(1).flows_live, 0, "nothing of it comes back");
}

#[test]
fn an_acknowledgement_of_what_was_never_sent_tells_of_stale_data() {
    let mut town = town();
    town.logs.clear();
    for upto in [0, 1, u64::MAX] {
        town.say(2, 1, &PeerMessage::SessionAck { upto });
    }
    town.settle();
    assert_eq!(town.figures(1).messages_bad, 2);
    let stale = |log: &String| log.starts_with("1: node.stale_data");
    assert_eq!(town.logs.len(), 2);
    assert!(town.logs.iter().all(stale), "{:?}", town.logs);
    town.up(2);
    let asked = town.start(1, "test.double", "2", None);
    town.settle();
    assert_eq!(town.ended(asked), Ok(true), "the stream is unharmed");
}
