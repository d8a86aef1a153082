//! The journal: the inputs a flow took, in order; a row holds those of one round.
//!
//! A row is a sequence of CBOR items: the format's version, then entries. What the ledger holds is written by reference.
//! Decoding never trusts a row: whatever is in it, the worst outcome is a parked flow.

use ledger::{PartyId, Rejection, StateRef, TxId};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, Signature};

use crate::{EffectKind, EffectResult, FlowError, StartRecord};

/// The version of the row format.
pub const ROW_VERSION: u8 = 1;

/// One entry of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// How the flow started; the first entry of the first row.
    Start(Box<StartRecord>),
    /// An effect's result.
    Result {
        effect: u32,
        kind: EffectKind,
        digest: u64,
        result: Outcome,
    },
    /// A value fixed when an effect was issued: a time, a deadline, a sub-flow's scope.
    Fact { effect: u32, value: u64 },
    /// A session was opened.
    Opened { session: u32, peer: PartyId },
    /// A message arrived.
    Received {
        session: u32,
        index: u32,
        payload: Vec<u8>,
        last: bool,
    },
    /// The other side ended.
    PeerEnded {
        session: u32,
        index: u32,
        error: Option<Rejection>,
    },
    /// The other side picked a version.
    Confirmed { session: u32, version: u32 },
    /// A sub-flow ended; stands for all entries of its scope.
    SubFlowEnded {
        effect: u32,
        digest: u64,
        result: Result<Vec<u8>, Rejection>,
    },
    /// Somebody asked to kill the flow while it could not be.
    KillAsked,
    /// A sub-flow started in a scope of its own.
    Scope { effect: u32, scope: u16 },
    /// The digest of all that the flow itself (not its sub-flows) asked for and sent so far; ends a row.
    Check { value: u64 },
    /// The rest of this row arrived while the flow was parked: it has not been run.
    Deferred,
}

/// A result as the journal holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Response(Vec<u8>),
    States(Vec<StateRef>),
    Done,
    /// Recorded; the states that the transaction consumed.
    Recorded(Vec<StateRef>),
    Signature(Signature),
    Transaction(Option<TxId>),
    External(Vec<u8>),
    Failed(Rejection),
}

/// Writes a row, entry by entry.
pub(crate) struct RowWriter {
    encoder: Encoder,
    entries: u32,
}

impl RowWriter {
    pub(crate) fn new() -> RowWriter {
        let mut encoder = Encoder::with_capacity(256);
        encoder.u64(ROW_VERSION.into());
        RowWriter {
            encoder,
            entries: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// The finished row.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.encoder.into_bytes()
    }

    fn entry(&mut self, tag: u64, fields: usize) -> &mut Encoder {
        self.entries += 1;
        self.encoder.array(fields + 1);
        self.encoder.u64(tag);
        &mut self.encoder
    }

    pub(crate) fn start(&mut self, record: &StartRecord) {
        record.encode(self.entry(0, 1));
    }

    pub(crate) fn result(
        &mut self,
        effect: u32,
        kind: EffectKind,
        digest: u64,
        result: &EffectResult,
        consumed: &[StateRef],
    ) {
        let e = self.entry(1, 4);
        e.u64(effect.into());
        e.u64(kind as u64);
        e.u64(digest);
        match result {
            EffectResult::Response(bytes) => tagged_bytes(e, 0, bytes),
            EffectResult::States(states) => {
                e.array(2);
                e.u64(1);
                e.array(states.len());
                states.iter().for_each(|s| s.reference.encode(e));
            }
            EffectResult::Done if kind == EffectKind::Record => {
                e.array(2);
                e.u64(3);
                encode_list(consumed, e);
            }
            EffectResult::Done => {
                e.array(1);
                e.u64(2);
            }
            EffectResult::Signature(signature) => {
                e.array(2);
                e.u64(4);
                signature.encode(e);
            }
            EffectResult::Transaction(found) => {
                e.array(2);
                e.u64(5);
                match found {
                    Some(transaction) => transaction.id().encode(e),
                    None => e.null(),
                }
            }
            EffectResult::External(bytes) => tagged_bytes(e, 6, bytes),
            EffectResult::Failed(error) => {
                e.array(2);
                e.u64(7);
                error.to_rejection().encode(e);
            }
        }
    }

    pub(crate) fn fact(&mut self, effect: u32, value: u64) {
        let e = self.entry(2, 2);
        e.u64(effect.into());
        e.u64(value);
    }

    pub(crate) fn opened(&mut self, session: u32, peer: &PartyId) {
        let e = self.entry(3, 2);
        e.u64(session.into());
        peer.encode(e);
    }

    pub(crate) fn received(&mut self, session: u32, index: u32, payload: &[u8], last: bool) {
        let e = self.entry(4, 4);
        e.u64(session.into());
        e.u64(index.into());
        e.bytes(payload);
        e.bool(last);
    }

    pub(crate) fn peer_ended(&mut self, session: u32, index: u32, error: Option<&Rejection>) {
        let e = self.entry(5, 3);
        e.u64(session.into());
        e.u64(index.into());
        match error {
            Some(error) => error.encode(e),
            None => e.null(),
        }
    }

    pub(crate) fn confirmed(&mut self, session: u32, version: u32) {
        let e = self.entry(6, 2);
        e.u64(session.into());
        e.u64(version.into());
    }

    pub(crate) fn sub_flow_ended(
        &mut self,
        effect: u32,
        digest: u64,
        result: Result<&[u8], &FlowError>,
    ) {
        let e = self.entry(7, 3);
        e.u64(effect.into());
        e.u64(digest);
        match result {
            Ok(bytes) => tagged_bytes(e, 0, bytes),
            Err(error) => {
                e.array(2);
                e.u64(1);
                error.to_rejection().encode(e);
            }
        }
    }

    pub(crate) fn kill_asked(&mut self) {
        self.entry(8, 0);
    }

    pub(crate) fn scope(&mut self, effect: u32, scope: u16) {
        let e = self.entry(9, 2);
        e.u64(effect.into());
        e.u64(scope.into());
    }

    pub(crate) fn deferred(&mut self) {
        self.entry(11, 0);
    }

    pub(crate) fn check(&mut self, value: u64) {
        self.entry(10, 1).u64(value);
    }
}

fn tagged_bytes(e: &mut Encoder, tag: u64, bytes: &[u8]) {
    e.array(2);
    e.u64(tag);
    e.bytes(bytes);
}

fn encode_list<T: Encode>(items: &[T], e: &mut Encoder) {
    e.array(items.len());
    items.iter().for_each(|item| item.encode(e));
}

/// The entries of one row.
pub(crate) fn decode_row(row: &[u8]) -> Result<Vec<Entry>, DecodeError> {
    let mut d = Decoder::new(row);
    if d.u8()? != ROW_VERSION {
        return Err(d.invalid("journal row of another version"));
    }
    let mut entries = Vec::new();
    while d.remaining() > 0 {
        entries.push(Entry::decode(&mut d)?);
    }
    Ok(entries)
}

impl Decode for Entry {
    fn decode(d: &mut Decoder<'_>) -> Result<Entry, DecodeError> {
        let fields = d.array()?;
        let entry = match (d.u64()?, fields) {
            (0, 2) => Entry::Start(Box::new(StartRecord::decode(d)?)),
            (1, 5) => Entry::Result {
                effect: d.u32()?,
                kind: decode_kind(d)?,
                digest: d.u64()?,
                result: Outcome::decode(d)?,
            },
            (2, 3) => Entry::Fact {
                effect: d.u32()?,
                value: d.u64()?,
            },
            (3, 3) => Entry::Opened {
                session: d.u32()?,
                peer: PartyId::decode(d)?,
            },
            (4, 5) => Entry::Received {
                session: d.u32()?,
                index: d.u32()?,
                payload: d.bytes()?.to_vec(),
                last: d.bool()?,
            },
            (5, 4) => Entry::PeerEnded {
                session: d.u32()?,
                index: d.u32()?,
                error: Option::decode(d)?,
            },
            (6, 3) => Entry::Confirmed {
                session: d.u32()?,
                version: d.u32()?,
            },
            (7, 4) => Entry::SubFlowEnded {
                effect: d.u32()?,
                digest: d.u64()?,
                result: decode_ended(d)?,
            },
            (8, 1) => Entry::KillAsked,
            (9, 3) => Entry::Scope {
                effect: d.u32()?,
                scope: d.u16()?,
            },
            (10, 2) => Entry::Check { value: d.u64()? },
            (11, 1) => Entry::Deferred,
            _ => return Err(d.invalid("unknown journal entry")),
        };
        Ok(entry)
    }
}

fn decode_kind(d: &mut Decoder<'_>) -> Result<EffectKind, DecodeError> {
    let number = d.u8()?;
    EffectKind::from_number(number).ok_or_else(|| d.invalid("unknown effect kind"))
}

fn decode_ended(d: &mut Decoder<'_>) -> Result<Result<Vec<u8>, Rejection>, DecodeError> {
    d.expect_array(2)?;
    match d.u64()? {
        0 => Ok(Ok(d.bytes()?.to_vec())),
        1 => Ok(Err(Rejection::decode(d)?)),
        _ => Err(d.invalid("unknown sub-flow result")),
    }
}

impl Decode for Outcome {
    fn decode(d: &mut Decoder<'_>) -> Result<Outcome, DecodeError> {
        let fields = d.array()?;
        let outcome = match (d.u64()?, fields) {
            (0, 2) => Outcome::Response(d.bytes()?.to_vec()),
            (1, 2) => Outcome::States(Vec::decode(d)?),
            (2, 1) => Outcome::Done,
            (3, 2) => Outcome::Recorded(Vec::decode(d)?),
            (4, 2) => Outcome::Signature(Signature::decode(d)?),
            (5, 2) => Outcome::Transaction(Option::decode(d)?),
            (6, 2) => Outcome::External(d.bytes()?.to_vec()),
            (7, 2) => Outcome::Failed(Rejection::decode(d)?),
            _ => return Err(d.invalid("unknown effect result")),
        };
        Ok(outcome)
    }
}

/// The number of the scope an effect or session belongs to: 0 is the flow itself, others are sub-flows.
pub(crate) fn scope_of(number: u32) -> u16 {
    (number >> 16) as u16
}

/// What a responder calls the session that started it.
pub(crate) const ORIGIN_SESSION: u32 = 0;

impl Outcome {
    /// The result as the flow takes it, where the journal holds all of it.
    pub(crate) fn plain(self) -> Option<EffectResult> {
        Some(match self {
            Outcome::Response(bytes) => EffectResult::Response(bytes),
            Outcome::Done | Outcome::Recorded(_) => EffectResult::Done,
            Outcome::Signature(signature) => EffectResult::Signature(signature),
            Outcome::External(bytes) => EffectResult::External(bytes),
            Outcome::Failed(error) => EffectResult::Failed(FlowError::from_rejection(error)),
            Outcome::Transaction(None) => EffectResult::Transaction(None),
            Outcome::Transaction(Some(_)) | Outcome::States(_) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use ledger::TxId;
    use primitives::{Hash, Timestamp};
    use proptest::prelude::*;

    use super::*;
    use crate::{FlowId, Origin, SessionId};

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
        let origin =
            (party(), any::<[u8; 16]>(), any::<u32>()).prop_map(|(peer, id, number)| Origin {
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
                    seed,
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

    /// The format is stored: it must not change. One row of a flow that asked the time and was answered once.
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
}
