//! The messages' bytes: golden vectors (`testdata/attachments.json`), the one form, and garbage.
//!
//! `UPDATE_GOLDEN=1 cargo test --profile checked -p transfer golden` rewrites the vectors after a deliberate change.

use std::fs;
use std::path::Path;

use ledger::TxId;
use primitives::{Decode, Encode, Hash, hex};
use proptest::prelude::*;
use serde_json::{Value, json};
use transfer::{Message, Offer, Payload, Reason};

fn messages() -> Vec<(&'static str, Message)> {
    let hash = Hash::plain(b"abc");
    let offer = |size, name: Option<&str>, media_type: Option<&str>| Message::Offer {
        hash,
        offer: Offer {
            size,
            name: name.map(str::to_owned),
            media_type: media_type.map(str::to_owned),
        },
    };
    vec![
        (
            "want",
            Message::Want {
                hash,
                transaction: TxId::from_array([0x11; 32]),
            },
        ),
        ("offer", offer(3, Some("abc.txt"), Some("text/plain"))),
        ("offer without hints", offer(52_428_800, None, None)),
        (
            "ask",
            Message::Ask {
                hash,
                offset: 262_144,
                length: 1_048_576,
            },
        ),
        (
            "data",
            Message::Data {
                hash,
                offset: 0,
                bytes: Payload::new(b"abc".to_vec()),
            },
        ),
        (
            "refused, unknown",
            Message::Refused {
                hash,
                reason: Reason::Unknown,
            },
        ),
        (
            "refused, again",
            Message::Refused {
                hash,
                reason: Reason::Again,
            },
        ),
        ("done", Message::Done { hash }),
    ]
}

fn refused() -> Vec<(&'static str, String)> {
    let hash = "5820ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    vec![
        ("empty", String::new()),
        ("an unknown kind", format!("8206{hash}")),
        ("an item too many", format!("8305{hash}00")),
        ("something after the message", format!("8205{hash}00")),
        ("a question for nothing", format!("8402{hash}0000")),
        (
            "a question without an end",
            format!("8402{hash}1bffffffffffffffff01"),
        ),
        ("a part without bytes", format!("8403{hash}0040")),
        (
            "a length that is not the shortest",
            format!("8403{hash}00580161"),
        ),
        ("a name that is empty", format!("8501{hash}0360f6")),
        ("a name with a line break", format!("8501{hash}03610af6")),
        ("a reason that nobody knows", format!("8304{hash}8102")),
        ("a short hash", "820541aa".to_owned()),
    ]
}

#[test]
fn messages_have_the_bytes_of_the_golden_vectors() {
    let entry = |(name, message): &(&str, Message)| json!({ "name": name, "hex": hex::encode(&message.to_bytes()) });
    let refusal = |(name, bytes): &(&str, String)| json!({ "name": name, "hex": bytes });
    let made = json!({
        "messages": messages().iter().map(entry).collect::<Vec<_>>(),
        "refused": refused().iter().map(refusal).collect::<Vec<_>>(),
    });
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/attachments.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let text = serde_json::to_string_pretty(&made).expect("JSON");
        fs::write(&path, text + "\n").expect("the vectors are written");
    }
    let text = fs::read_to_string(&path).expect("the vectors are there");
    let read: Value = serde_json::from_str(&text).expect("the vectors are JSON");
    assert_eq!(read, made);
}

#[test]
fn what_is_written_can_be_read_and_what_is_refused_cannot() {
    for (name, message) in messages() {
        assert_eq!(Message::read(message.to_bytes()), Ok(message), "{name}");
    }
    for (name, bytes) in refused() {
        let bytes = hex::decode(&bytes).expect("hexadecimal");
        assert!(Message::read(bytes).is_err(), "{name}");
    }
}

proptest! {
    #![proptest_config(properties::config!(256))]

    #[test]
    fn whatever_is_read_is_written_as_it_was(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(message) = Message::from_bytes(&bytes) {
            prop_assert_eq!(message.to_bytes(), bytes);
        }
    }

    #[test]
    fn damaged_messages_are_refused_or_have_their_one_form(
        which in 0..8usize,
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = messages()[which].1.to_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(message) = Message::read(bytes.clone()) {
            prop_assert_eq!(message.to_bytes(), bytes);
        }
    }
}
