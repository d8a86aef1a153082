//! The rows of a journal and their entries.

use ledger::{PartyId, Rejection, StateRef, TxId};
use primitives::{Decode, DecodeError, Decoder, Signature};

use crate::{EffectKind, EffectResult, FlowError, StartRecord};

/// The version of the row format.
pub const ROW_VERSION: u8 = 1;

/// One entry of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The start of the flow; the first entry of the first row.
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
    /// A sub-flow ended; replaces all entries of its scope.
    SubFlowEnded {
        effect: u32,
        digest: u64,
        result: Result<Vec<u8>, Rejection>,
    },
    /// A kill was requested while the flow could not be killed.
    KillAsked,
    /// A sub-flow started in a scope of its own.
    Scope { effect: u32, scope: u16 },
    /// The last entry of a row: the digest of all effects and messages of the flow itself so far, without its sub-flows.
    Check { value: u64 },
    /// Marks a row whose remaining entries arrived while the flow was parked and have not been run.
    Deferred,
}

/// The journaled form of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Response(Vec<u8>),
    States(Vec<StateRef>),
    Done,
    /// The transaction was recorded; holds the states that it consumed.
    Recorded(Vec<StateRef>),
    Signature(Signature),
    Transaction(Option<TxId>),
    External(Vec<u8>),
    Failed(Rejection),
}

/// Decodes the entries of one row.
pub(crate) fn decode_row(row: &[u8]) -> Result<Vec<Entry>, DecodeError> {
    let mut d = Decoder::new(row);
    if d.u8()? != ROW_VERSION {
        return Err(d.invalid("journal row of an unknown version"));
    }
    let mut entries = Vec::new();
    while d.remaining() > 0 {
        entries.push(Entry::decode(&mut d)?);
    }
    Ok(entries)
}

/// Describes the entries of a row as text, for operators who inspect a journal.
pub fn describe_row(row: &[u8]) -> Result<Vec<String>, DecodeError> {
    Ok(decode_row(row)?
        .iter()
        .map(|entry| format!("{entry:?}"))
        .collect())
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

/// Returns the number of the scope that an effect or session belongs to: 0 is the flow itself, others are sub-flows.
pub(crate) fn scope_of(number: u32) -> u16 {
    (number >> 16) as u16
}

/// The number under which a responder knows the session that started it.
pub(crate) const ORIGIN_SESSION: u32 = 0;

impl Outcome {
    /// Returns the result in the flow's form, if the journal holds all of it.
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
