//! Every decoder on arbitrary bytes and on changed valid ones: it never panics, and accepted values encode to the same
//! bytes again.

use std::fmt::Debug;

use ledger::{
    CodeKind, Constraint, ContractDescriptor, ContractName, FilteredTransaction, LegalName,
    NetworkParameters, NodeInfo, NotaryRequest, NotaryResponse, Party, Rejection, SelectionRequest,
    SignedDocument, SignedTransaction, StateAndRef, StateConflict, StateRef, TimeWindow,
    TransactionSignature, TransactionState, WireTransaction,
};
use primitives::{Decode, Encode, Hash, Timestamp};
use proptest::prelude::*;

use crate::rules::fixtures::*;

fn round_trip<T: Decode + Encode>(bytes: &[u8]) {
    if let Ok(value) = T::from_bytes(bytes) {
        assert_eq!(
            value.to_bytes(),
            bytes,
            "an accepted encoding is the canonical one"
        );
    }
}

/// A decoder under test and valid inputs to change.
struct Format {
    name: &'static str,
    decode: fn(&[u8]),
    samples: Vec<Vec<u8>>,
}

fn format<T: Decode + Encode + Debug>(name: &'static str, samples: Vec<T>) -> Format {
    let samples: Vec<Vec<u8>> = samples.iter().map(Encode::to_bytes).collect();
    for sample in &samples {
        assert!(T::from_bytes(sample).is_ok(), "{name}: a sample is valid");
    }
    Format {
        name,
        decode: round_trip::<T>,
        samples,
    }
}

pub fn signed() -> SignedTransaction {
    let wire = full();
    let batch = TransactionSignature::sign_batch(
        &[
            wire.id(),
            base().input(input(5, 5)).build(SALT).unwrap().id(),
            wire.id(),
        ],
        &key(100),
    );
    SignedTransaction::new(wire, [batch[1].clone()])
        .signed_by(&key(1))
        .signed_by(&key(2))
}

fn formats() -> Vec<Format> {
    let conflict = StateConflict {
        input: reference(1, 0),
        consumed_by: Hash::ZERO,
        is_reference: true,
    };
    let info = NodeInfo {
        party: party("Bank A", 1),
        addresses: vec!["localhost:1".into()],
        platform_version: 1,
        serial: 1,
        notary: None,
    };
    let part = FilteredTransaction::of(&full(), |_, index| index == 0);
    vec![
        format(
            "wire transaction",
            vec![full(), base().input(input(1, 0)).build(SALT).unwrap()],
        ),
        format("signed transaction", vec![signed()]),
        format("transaction signature", signed().signatures().to_vec()),
        format(
            "tear-off",
            vec![FilteredTransaction::for_notary(&full()), part],
        ),
        format(
            "notary request",
            vec![
                NotaryRequest::sign(&full(), &notary().id(), party("A", 1).id(), &key(1)),
                NotaryRequest::sign_whole(&signed(), &notary().id(), party("A", 1).id(), &key(1)),
            ],
        ),
        format(
            "notary response",
            vec![
                NotaryResponse::Signed(signed().signatures()[0].clone()),
                NotaryResponse::Refused(ledger::NotaryError::conflict(vec![conflict])),
                NotaryResponse::Refused(ledger::NotaryError::Busy { eta_ms: 1 }),
            ],
        ),
        format("transaction state", vec![state(notary())]),
        format("state and ref", vec![input(1, 0)]),
        format("state ref", vec![reference(1, u32::MAX)]),
        format(
            "time window",
            vec![window(), TimeWindow::from(Timestamp::from_ms(3))],
        ),
        format(
            "constraint",
            vec![Constraint::AlwaysAccept, Constraint::SignedBy(public(1))],
        ),
        format("contract name", vec![coin()]),
        format(
            "descriptor",
            vec![ContractDescriptor::sign(
                coin(),
                1,
                CodeKind::Native,
                &key(1),
            )],
        ),
        format("legal name", vec![notary().name]),
        format("party", vec![notary()]),
        format("node info", vec![info.clone()]),
        format(
            "network parameters",
            vec![NetworkParameters::new(
                vec![notary()],
                Timestamp::from_ms(1),
            )],
        ),
        format(
            "signed document",
            vec![SignedDocument::sign(&info, &key(1))],
        ),
        format("rejection", vec![Rejection::new("a.b", "c", "d")]),
        format(
            "selection request",
            vec![SelectionRequest {
                token: ledger::TokenId::from_array([1; 32]),
                quantity: 1,
                notary: None,
                deadline_ms: 1,
            }],
        ),
    ]
}

proptest! {
    #![proptest_config(properties::config!(2_000))]

    #[test]
    fn arbitrary_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for decode in decoders() {
            decode(&bytes);
        }
    }

    #[test]
    fn changed_valid_bytes(
        which in any::<prop::sample::Index>(),
        sample in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..4),
    ) {
        thread_local! { static FORMATS: Vec<Format> = formats(); }
        FORMATS.with(|formats| {
            let format = which.get(formats);
            let mut bytes = sample.get(&format.samples).clone();
            for (place, byte, kind) in changes {
                if bytes.is_empty() {
                    break;
                }
                let at = place.index(bytes.len());
                match kind {
                    0 => bytes[at] = byte,
                    1 => bytes[at] ^= 1 << (byte % 8),
                    2 => bytes.insert(at, byte),
                    _ => {
                        bytes.remove(at);
                    }
                }
            }
            (format.decode)(&bytes);
        });
    }
}

fn decoders() -> [fn(&[u8]); 16] {
    [
        round_trip::<WireTransaction>,
        round_trip::<SignedTransaction>,
        round_trip::<TransactionSignature>,
        round_trip::<FilteredTransaction>,
        round_trip::<NotaryRequest>,
        round_trip::<NotaryResponse>,
        round_trip::<TransactionState>,
        round_trip::<StateAndRef>,
        round_trip::<StateRef>,
        round_trip::<TimeWindow>,
        round_trip::<Constraint>,
        round_trip::<ContractName>,
        round_trip::<LegalName>,
        round_trip::<Party>,
        round_trip::<NodeInfo>,
        round_trip::<Rejection>,
    ]
}

/// Every prefix of a valid encoding, and every single byte changed to a few telling values.
#[test]
fn prefixes_and_single_bytes() {
    for format in formats() {
        for sample in &format.samples {
            for end in 0..sample.len() {
                (format.decode)(&sample[..end]);
            }
            for at in 0..sample.len() {
                for byte in [
                    0x00, 0x1b, 0x3b, 0x5b, 0x7b, 0x9b, 0xbb, 0xdb, 0xf6, 0xfb, 0xff,
                ] {
                    let mut changed = sample.clone();
                    changed[at] = byte;
                    (format.decode)(&changed);
                }
            }
        }
        assert!(!format.samples.is_empty(), "{}", format.name);
    }
}
