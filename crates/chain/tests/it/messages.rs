//! Messages between nodes: golden vectors (`testdata/chain_messages.json`), the unique encoding, and garbage.
//!
//! `UPDATE_GOLDEN=1 cargo test --profile checked -p chain --test it messages::` updates the vectors after a deliberate change.

use std::fs;
use std::path::Path;

use chain::bundle::{BundlerRate, BundlerRules, SignedRates};
use chain::message::{Announcement, Answer, Gossip, Listed, Question, Status};
use chain::{
    AccountId, Anchor, BlockTimestamp, Body, ChainId, Header, Height, MinorUnits, Minutes,
    Transaction, TxId, key_of_passphrase,
};
use primitives::{Hash, hex};
use proptest::prelude::*;
use serde_json::{Value, json};

fn genesis() -> Hash {
    Hash::plain(b"genesis")
}

fn payment(message: &[u8]) -> Transaction {
    let key = key_of_passphrase("0");
    let mut transaction = Transaction {
        chain: ChainId(2),
        time: BlockTimestamp::new(1_000),
        deadline_minutes: Minutes::new(60),
        sender: *public(&key),
        fee: MinorUnits::new(7),
        anchor: Anchor::at(Height::GENESIS, &genesis()),
        body: Body::Payment {
            to: AccountId([3; 16]),
            amount: MinorUnits::new(500),
            message: message.to_vec(),
        },
        signature: [0; 64],
    };
    transaction.sign(&genesis(), &key);
    transaction
}

fn public(key: &primitives::KeyPair) -> &[u8; 32] {
    match key.public() {
        primitives::PublicKey::Ed25519(bytes) => bytes,
        _ => unreachable!("passphrases make Ed25519 keys"),
    }
}

fn child_block() -> Transaction {
    Transaction {
        chain: ChainId::PARENT,
        body: Body::ChildBlock {
            child: ChainId(2),
            count: 2,
            root: chain::block::root_of(&ids()),
        },
        ..payment(b"")
    }
}

fn rates() -> SignedRates {
    let rules = BundlerRules {
        child: ChainId(2),
        rate_min: BundlerRate::new(95),
        overpay_percent: chain::Percent::new(10),
        total_fee_max: None,
        senders: Vec::new(),
        recipients: Vec::new(),
        purpose: String::new(),
    };
    SignedRates::new(
        &key_of_passphrase("2"),
        &rules,
        BlockTimestamp::new(1_000),
        &genesis(),
    )
    .unwrap()
}

fn ids() -> Vec<TxId> {
    vec![TxId([1; 32]), TxId([2; 32])]
}

fn header() -> Header {
    let key = key_of_passphrase("1");
    let mut header = Header {
        height: Height::new(9),
        time: BlockTimestamp::new(1_010),
        previous: Hash::plain(b"8"),
        forger: *public(&key),
        generation: Hash::plain(b"generation"),
        base_target: chain::pos::BaseTarget::new(153_722_867),
        difficulty: 1 << 70,
        parent_count: 2,
        child_count: 2,
        body_bytes: 630,
        root: chain::block::root_of(&ids()),
        signature: [0; 64],
    };
    header.sign(&genesis(), &key);
    header
}

fn status() -> Status {
    Status {
        height: Height::new(9),
        tip: Hash::plain(b"9"),
        difficulty: 1 << 70,
    }
}

fn gossip() -> Vec<(&'static str, Gossip)> {
    vec![
        (
            "a batch of two transactions",
            Gossip::Transactions(vec![payment(b""), payment(b"rent")]),
        ),
        (
            "a block",
            Gossip::Block(Announcement {
                header: header(),
                ids: ids(),
            }),
        ),
        (
            "a block whose ids do not fit",
            Gossip::Block(Announcement {
                header: header(),
                ids: Vec::new(),
            }),
        ),
        (
            "a child block",
            Gossip::ChildBlock {
                transaction: child_block(),
                ids: ids(),
            },
        ),
        ("rates of bundlers", Gossip::Rates(vec![rates()])),
    ]
}

fn questions() -> Vec<(&'static str, Question)> {
    let block = Hash::plain(b"9");
    vec![
        ("status", Question::Status(status())),
        (
            "headers",
            Question::Headers {
                locator: vec![block, genesis()],
            },
        ),
        ("bodies", Question::Bodies(vec![block, Hash::plain(b"10")])),
        (
            "transactions of a block",
            Question::Transactions { block, ids: ids() },
        ),
        (
            "parent transactions of the pool",
            Question::Parents {
                block: Hash::ZERO,
                ids: ids(),
            },
        ),
        (
            "ids of the pool",
            Question::PoolIds {
                after: TxId([1; 32]),
            },
        ),
    ]
}

fn answers() -> Vec<(&'static str, Answer)> {
    vec![
        ("status", Answer::Status(status())),
        (
            "headers",
            Answer::Headers {
                common: Hash::plain(b"8"),
                headers: vec![header()],
            },
        ),
        (
            "bodies, one of them empty",
            Answer::Bodies(vec![payment(b"").to_bytes(), Vec::new()]),
        ),
        (
            "transactions",
            Answer::Transactions(vec![payment(b""), payment(b"rent")]),
        ),
        (
            "parent transactions",
            Answer::Parents(vec![
                Listed {
                    transaction: child_block(),
                    ids: ids(),
                },
                Listed {
                    transaction: payment(b""),
                    ids: Vec::new(),
                },
            ]),
        ),
        ("ids of the pool", Answer::PoolIds(ids())),
        ("busy", Answer::Busy),
    ]
}

fn vectors() -> Value {
    let table = |rows: Vec<(&str, Vec<u8>)>| -> Value {
        rows.iter()
            .map(|(what, bytes)| json!({ "what": what, "hex": hex::encode(bytes) }))
            .collect()
    };
    json!({
        "gossip": table(gossip().iter().map(|(what, message)| (*what, message.to_bytes())).collect()),
        "questions": table(questions().iter().map(|(what, question)| (*what, question.to_bytes())).collect()),
        "answers": table(answers().iter().map(|(what, answer)| (*what, answer.to_bytes())).collect()),
    })
}

#[test]
fn formats_are_unchanged() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/chain_messages.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, format!("{:#}\n", vectors())).expect("testdata can be written");
    }
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(path).expect("run with UPDATE_GOLDEN=1"))
            .expect("JSON");
    assert_eq!(kept, vectors());
}

#[test]
fn what_is_written_is_read() {
    for (what, message) in gossip() {
        assert_eq!(Gossip::read(&message.to_bytes()), Ok(message), "{what}");
    }
    for (what, question) in questions() {
        assert_eq!(Question::read(&question.to_bytes()), Ok(question), "{what}");
    }
    for (what, answer) in answers() {
        assert_eq!(Answer::read(&answer.to_bytes()), Ok(answer), "{what}");
    }
}

#[test]
fn what_is_no_message_is_refused() {
    let two_ids_twice = Question::PoolIds { after: ids()[0] }.to_bytes().repeat(2);
    let unordered = {
        let mut ids = ids();
        ids.reverse();
        Question::Transactions {
            block: Hash::ZERO,
            ids,
        }
        .to_bytes()
    };
    let cases: &[(&str, Vec<u8>)] = &[
        ("nothing", Vec::new()),
        ("an unknown kind", vec![99]),
        ("a kind alone", vec![3]),
        ("a question for nothing", vec![2]),
        ("a hash cut off", vec![2, 0, 0, 0]),
        ("more than one question", two_ids_twice),
        ("ids out of order", unordered),
    ];
    for (what, bytes) in cases {
        let refused = Question::read(bytes).expect_err(what);
        assert_eq!(refused.code, "chain_message.malformed", "{what}");
    }
    let codes = [
        (Gossip::read(&[1]).unwrap_err(), "chain_message.malformed"),
        (
            Gossip::read(&[1, 9, 9, 9]).unwrap_err(),
            "chain_tx.unknown_kind",
        ),
        (
            Gossip::read(&vec![2; 1 << 21]).unwrap_err(),
            "chain_message.malformed",
        ),
        (
            Answer::read(&[7, 7]).unwrap_err(),
            "chain_message.malformed",
        ),
        (
            Answer::read(&[3, 255, 255, 255, 255]).unwrap_err(),
            "chain_message.malformed",
        ),
    ];
    for (refused, code) in codes {
        assert_eq!(refused.code, code, "{refused}");
    }
}

/// Checks that a message that decodes is encoded to the same bytes.
fn one_form(bytes: &[u8]) {
    if let Ok(message) = Gossip::read(bytes) {
        assert_eq!(message.to_bytes(), bytes);
    }
    if let Ok(question) = Question::read(bytes) {
        assert_eq!(question.to_bytes(), bytes);
    }
    if let Ok(answer) = Answer::read(bytes) {
        assert_eq!(answer.to_bytes(), bytes);
    }
}

proptest! {
    #![proptest_config(properties::config!(256))]

    #[test]
    fn garbage_has_one_form_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        one_form(&bytes);
    }

    #[test]
    fn damaged_messages_have_one_form_or_none(which in 0usize..17, at: prop::sample::Index, to: u8, cut: prop::sample::Index) {
        let mut all: Vec<Vec<u8>> = gossip().iter().map(|(_, message)| message.to_bytes()).collect();
        all.extend(questions().iter().map(|(_, question)| question.to_bytes()));
        all.extend(answers().iter().map(|(_, answer)| answer.to_bytes()));
        let bytes = &mut all[which];
        let at = at.index(bytes.len());
        bytes[at] = to;
        one_form(bytes);
        let cut = cut.index(bytes.len());
        one_form(&bytes[..cut]);
    }
}
