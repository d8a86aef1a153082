//! Round trips of rows, and the pinned format.

use ledger::{PartyId, Rejection, StateRef, TxId};
use primitives::{Hash, Seed, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::{EffectKind, EffectResult, FlowError, FlowId, Origin, SessionId, StartRecord};

fn write(row: &mut RowWriter, entry: &Entry) {
    match entry {
        Entry::Start(record) => row.start(record),
        Entry::Result {
            effect,
            kind,
            digest,
            result,
        } => {
            let consumed = match result {
                Outcome::Recorded(consumed) => consumed.clone(),
                _ => Vec::new(),
            };
            let result = result.clone().plain().expect("made of plain results");
            row.result(*effect, *kind, *digest, &result, &consumed);
        }
        Entry::Fact { effect, value } => row.fact(*effect, *value),
        Entry::Opened { session, peer } => row.opened(*session, peer),
        Entry::Received {
            session,
            index,
            payload,
            last,
        } => {
            row.received(*session, *index, payload, *last);
        }
        Entry::PeerEnded {
            session,
            index,
            error,
        } => {
            row.peer_ended(*session, *index, error.as_ref());
        }
        Entry::Confirmed { session, version } => row.confirmed(*session, *version),
        Entry::SubFlowEnded {
            effect,
            digest,
            result,
        } => {
            let error = result.clone().map_err(FlowError::from_rejection);
            let result = error.as_ref().map(Vec::as_slice);
            row.sub_flow_ended(*effect, *digest, result);
        }
        Entry::KillAsked => row.kill_asked(),
        Entry::Scope { effect, scope } => row.scope(*effect, *scope),
        Entry::Check { value } => row.check(*value),
        Entry::Deferred => row.deferred(),
    }
}

fn rejection() -> impl Strategy<Value = Rejection> {
    ("[a-z.]{0,10}", ".{0,20}", ".{0,20}").prop_map(|(c, m, h)| Rejection::new(c, m, h))
}

fn party() -> impl Strategy<Value = PartyId> {
    any::<[u8; 32]>().prop_map(PartyId::from_array)
}

fn state_ref() -> impl Strategy<Value = StateRef> {
    (any::<[u8; 32]>(), any::<u32>()).prop_map(|(tx, i)| StateRef::new(TxId::from_array(tx), i))
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..40)
}

fn start() -> impl Strategy<Value = Entry> {
    let origin = (party(), any::<[u8; 16]>(), any::<u32>()).prop_map(|(peer, id, number)| Origin {
        peer,
        session: SessionId {
            initiator: FlowId(id),
            number,
        },
    });
    let ids = (
        any::<[u8; 16]>(),
        any::<[u8; 32]>(),
        any::<u32>(),
        any::<u64>(),
    );
    (ids, ".{0,12}", bytes(), bytes(), prop::option::of(origin)).prop_map(
        |((id, seed, version, at), flow, args, caller, origin)| {
            let (id, at) = (FlowId(id), Timestamp::from_ms(at));
            Entry::Start(Box::new(StartRecord {
                id,
                flow,
                version,
                args,
                seed: Seed::new(seed),
                at,
                origin,
                caller,
            }))
        },
    )
}

fn result() -> impl Strategy<Value = (EffectKind, Outcome)> {
    let signature = primitives::KeyPair::from_seed(primitives::Scheme::Ed25519, [1; 32])
        .sign(primitives::SignatureContext::Transaction, &Hash::ZERO);
    prop_oneof![
        bytes().prop_map(|b| (EffectKind::Request, Outcome::Response(b))),
        Just((EffectKind::Verify, Outcome::Done)),
        prop::collection::vec(state_ref(), 0..4)
            .prop_map(|r| (EffectKind::Record, Outcome::Recorded(r))),
        Just((EffectKind::Sign, Outcome::Signature(signature))),
        Just((EffectKind::Transaction, Outcome::Transaction(None))),
        bytes().prop_map(|b| (EffectKind::External, Outcome::External(b))),
        rejection().prop_map(|r| (EffectKind::SelectStates, Outcome::Failed(r))),
    ]
}

fn entry() -> impl Strategy<Value = Entry> {
    let n = any::<u32>;
    prop_oneof![
        start(),
        (n(), any::<u64>(), result()).prop_map(|(effect, digest, (kind, result))| {
            Entry::Result {
                effect,
                kind,
                digest,
                result,
            }
        }),
        (n(), any::<u64>()).prop_map(|(effect, value)| Entry::Fact { effect, value }),
        (n(), party()).prop_map(|(session, peer)| Entry::Opened { session, peer }),
        (n(), n(), bytes(), any::<bool>()).prop_map(|(session, index, payload, last)| {
            Entry::Received {
                session,
                index,
                payload,
                last,
            }
        }),
        (n(), n(), prop::option::of(rejection())).prop_map(|(session, index, error)| {
            Entry::PeerEnded {
                session,
                index,
                error,
            }
        }),
        (n(), n()).prop_map(|(session, version)| Entry::Confirmed { session, version }),
        (n(), any::<u64>(), bytes()).prop_map(|(effect, digest, output)| {
            Entry::SubFlowEnded {
                effect,
                digest,
                result: Ok(output),
            }
        }),
        (n(), any::<u64>(), rejection()).prop_map(|(effect, digest, error)| {
            Entry::SubFlowEnded {
                effect,
                digest,
                result: Err(error),
            }
        }),
        Just(Entry::KillAsked),
        (n(), any::<u16>()).prop_map(|(effect, scope)| Entry::Scope { effect, scope }),
        any::<u64>().prop_map(|value| Entry::Check { value }),
        Just(Entry::Deferred),
    ]
}

proptest! {
    #![proptest_config(properties::config!(256))]

    #[test]
    fn rows_round_trip(entries in prop::collection::vec(entry(), 0..12)) {
        let mut row = RowWriter::new();
        entries.iter().for_each(|entry| write(&mut row, entry));
        prop_assert_eq!(decode_row(&row.into_bytes()), Ok(entries));
    }

    #[test]
    fn garbage_is_an_error(mut garbage in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode_row(&garbage);
        garbage.insert(0, ROW_VERSION);
        let _ = decode_row(&garbage);
    }
}

/// The format is stored, so it must not change. The row belongs to a flow that asked for the time and got one answer.
#[test]
fn golden() {
    let mut row = RowWriter::new();
    row.fact(1, 1_000);
    row.result(
        2,
        EffectKind::External,
        77,
        &EffectResult::External(vec![5, 6]),
        &[],
    );
    row.check(9);
    let hex: String = row
        .into_bytes()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    assert_eq!(
        hex,
        "0183020119 03e8 8501020b184d82064205 06820a09".replace(' ', "")
    );
}
