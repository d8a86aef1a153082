//! Keys and values of the node's own rows; the layouts are part of the stored format (see [`crate::port::Table`]).

use std::sync::Arc;

use flow::FlowId;
use ledger::{PartyId, Rejection, StateRef, TxId};
use primitives::{Decode, DecodeError, Decoder, Domain, Encode, Encoder, Hash, Timestamp};

/// Key of the row with this node's epoch: a random number that names this store to its peers.
pub const META_EPOCH: &[u8] = b"epoch";
/// Key of the row with the numbers of the rows in [`Table::FlowHistory`](crate::port::Table::FlowHistory).
pub const META_FLOW_HISTORY: &[u8] = b"flow_history";
/// Prefix of rows `quarantine/` + state ref: unconsumed states of the vault that their notary reports as consumed elsewhere.
pub const META_QUARANTINE: &[u8] = b"quarantine/";
/// Key of the row with the latest time at which this notary judged the window of a transaction that it accepted.
pub const META_JUDGED: &[u8] = b"judged";
/// Key of the row without a value that says that the wall clock is in doubt: it was set, and has not been confirmed since.
pub const META_CLOCK_DOUBT: &[u8] = b"clock_doubt";
/// Prefix of rows `inbound/` + peer: the peer's epoch and the last session message accepted from it.
pub const META_INBOUND: &[u8] = b"inbound/";
/// Prefix of rows `lacking/` + name: the number of unconsumed states of a contract when the node was started without it.
pub const META_LACKING: &[u8] = b"lacking/";
/// Prefix of rows `folder/member/` + party id: the name of a member whose file was in the node's folder at a start.
pub const META_MEMBER: &[u8] = b"folder/member/";
/// Key of the row with the position of the audit log, [`crate::folder::AuditMark`]. It is empty in a store of an earlier release.
pub const META_AUDITED: &[u8] = b"folder/audit";
/// Key of the row with how far a ledger older than the index of consumed states is indexed: two `u64` BE.
pub const META_CONSUMED_FILL: &[u8] = b"consumed_fill";
/// Prefix of rows `life/` + ordinal `u64` BE: the name of a life (16 bytes) and the number at which it began (`u64` BE).
pub const META_LIFE: &[u8] = b"life/";
/// Key of the row with the ordinal below which marks of this node are settled.
pub const META_LIFE_BASELINE: &[u8] = b"lives_settled";
/// Prefix of rows `copied/` + flow, without a value: a flow of an older copy that a proof has halted.
pub const META_COPIED: &[u8] = b"copied/";
/// Prefix of rows `link/` + peer: what the peer's numbers contradict, [`crate::integrity::LinkFinding`].
pub const META_LINK: &[u8] = b"link/";
/// Prefix of rows `mark/` + peer: the latest data mark of the peer.
pub const META_MARK: &[u8] = b"mark/";
/// Prefix of rows `notarised/` + notary: ids of the transactions recorded last with its signature, at most 16.
pub const META_NOTARISED: &[u8] = b"notarised/";
/// Key of the row with the number of transactions that this notary has accepted, `u64` BE.
pub const META_NOTARY_ACCEPTED: &[u8] = b"notary_accepted";
/// Key of the row that stops a node whose data is an older copy: [`crate::integrity::RollbackRow`].
pub const META_ROLLBACK: &[u8] = b"rollback";
/// Prefix of rows `refused/` + number `u64` BE: a participant's refusal, [`crate::RefusalRow`].
pub const META_REFUSED: &[u8] = b"refused/";

/// Prefix of rows `proposed/` + flow 16 + transaction id 32: the files of a transaction that a live flow has verified.
pub const META_PROPOSED: &[u8] = b"proposed/";

/// Returns the number as a `u64` in big endian, so that keys sort by number.
pub fn seq_key(seq: u64) -> [u8; 8] {
    seq.to_be_bytes()
}

/// Reads a big-endian `u64` from the end of a key.
pub fn seq_of(key: &[u8]) -> Option<u64> {
    let tail = key.last_chunk::<8>()?;
    Some(u64::from_be_bytes(*tail))
}

/// Returns the peer whose id these bytes are.
pub(crate) fn peer_of(bytes: &[u8]) -> Option<PartyId> {
    Some(PartyId::from_array(bytes.try_into().ok()?))
}

/// Returns `peer 32
/// seq u64 BE`.
pub fn peer_seq_key(peer: &PartyId, seq: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(40);
    key.extend_from_slice(peer.as_bytes());
    key.extend_from_slice(&seq.to_be_bytes());
    key
}

/// Returns `flow id 16
/// step u32 BE`.
pub fn journal_key(flow: &FlowId, step: u32) -> Vec<u8> {
    let mut key = Vec::with_capacity(20);
    key.extend_from_slice(flow.as_bytes());
    key.extend_from_slice(&step.to_be_bytes());
    key
}

/// Returns a journal row: `count u16 BE
/// the ids of what the flow recorded in that round, 32 each
/// the engine's row`. The ids are for the outcome of a flow that is restored after a restart.
pub fn journal_row(recorded: &[TxId], row: &[u8]) -> Vec<u8> {
    // Clipped: the ids are for an outcome, which lists far fewer.
    let count = u16::try_from(recorded.len()).unwrap_or(u16::MAX);
    let mut bytes = Vec::with_capacity(2 + recorded.len() * 32 + row.len());
    bytes.extend_from_slice(&count.to_be_bytes());
    for id in recorded.iter().take(usize::from(count)) {
        bytes.extend_from_slice(id.as_bytes());
    }
    bytes.extend_from_slice(row);
    bytes
}

/// Returns the parts of a row made by [`journal_row`].
pub fn split_journal_row(bytes: &[u8]) -> Option<(Vec<TxId>, &[u8])> {
    let (count, rest) = bytes.split_first_chunk::<2>()?;
    let (ids, row) = rest.split_at_checked(usize::from(u16::from_be_bytes(*count)) * 32)?;
    let (ids, _) = ids.as_chunks::<32>();
    Some((ids.iter().map(|id| TxId::from_array(*id)).collect(), row))
}

/// Returns `transaction id 32
/// index u32 BE`.
pub fn state_ref_key(reference: &StateRef) -> Vec<u8> {
    let mut key = Vec::with_capacity(36);
    key.extend_from_slice(reference.tx.as_bytes());
    key.extend_from_slice(&reference.index.to_be_bytes());
    key
}

/// Returns the state ref in a key made by [`state_ref_key`].
pub fn state_ref_of(key: &[u8]) -> Option<StateRef> {
    let tx = key.first_chunk::<32>()?;
    let index = key.get(32..)?.try_into().ok()?;
    Some(StateRef::new(
        TxId::from_array(*tx),
        u32::from_be_bytes(index),
    ))
}

/// Length of a key of the schedule.
pub const SCHEDULE_KEY_BYTES: usize = 45;

/// Returns `kind u8
/// time u64 BE
/// state ref 36`: the key of a row of the schedule.
pub fn schedule_key(kind: u8, at: Timestamp, state: &StateRef) -> Vec<u8> {
    let mut key = Vec::with_capacity(SCHEDULE_KEY_BYTES);
    key.push(kind);
    key.extend_from_slice(&at.as_ms().to_be_bytes());
    key.extend_from_slice(&state_ref_key(state));
    key
}

/// Returns the parts of a key made by [`schedule_key`].
pub fn schedule_key_of(key: &[u8]) -> Option<(u8, Timestamp, StateRef)> {
    let (kind, rest) = key.split_first()?;
    let (at, state) = rest.split_first_chunk::<8>()?;
    let at = Timestamp::from_ms(u64::from_be_bytes(*at));
    Some((*kind, at, state_ref_of(state)?))
}

/// Returns `transaction id 32
/// note 12`.
pub fn note_key(transaction: &TxId, note: &[u8; 12]) -> Vec<u8> {
    [transaction.as_bytes().as_slice(), note].concat()
}

/// Returns the note in a key made by [`note_key`].
pub fn note_of(key: &[u8]) -> Option<[u8; 12]> {
    key.get(32..)?.try_into().ok()
}

/// Returns the key of a client id. It is a digest, so its length does not depend on the id that a user chose.
pub fn client_key(user: &str, client_id: &str) -> Hash {
    let user_len = (user.len() as u64).to_be_bytes();
    Hash::of(
        Domain::Derive,
        &[b"client", &user_len, user.as_bytes(), client_id.as_bytes()],
    )
}

/// Returns a key of `meta`: a prefix and bytes.
pub fn meta_key(prefix: &[u8], rest: &[u8]) -> Vec<u8> {
    [prefix, rest].concat()
}

/// Returns the smallest key greater than every key with this prefix, or `None` if the prefix consists of `ff` bytes.
pub fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return Some(end);
        }
    }
    None
}

/// The outcome of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The flow.
    pub flow: FlowId,
    /// Its registered name.
    pub name: String,
    /// The version that ran.
    pub version: u32,
    /// The encoded output, or why it failed.
    pub result: Result<Vec<u8>, Rejection>,
    /// The transactions it recorded, in order.
    pub transactions: Vec<TxId>,
}

/// Maximum number of transactions that an outcome lists.
pub const OUTCOME_TRANSACTIONS_MAX: usize = 1_000;

impl Encode for Outcome {
    fn encode(&self, e: &mut Encoder) {
        e.array(6);
        e.bytes(self.flow.as_bytes());
        e.text(&self.name);
        e.u64(u64::from(self.version));
        match &self.result {
            Ok(bytes) => {
                e.bool(true);
                e.bytes(bytes);
            }
            Err(rejection) => {
                e.bool(false);
                rejection.encode(e);
            }
        }
        e.array(self.transactions.len());
        for id in &self.transactions {
            id.encode(e);
        }
    }
}

impl Decode for Outcome {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(6)?;
        let flow = FlowId::decode(d)?;
        let name = d.text()?.to_owned();
        let version = d.u32()?;
        let result = if d.bool()? {
            Ok(d.bytes()?.to_vec())
        } else {
            Err(Rejection::decode(d)?)
        };
        let count = d.array()?;
        if count > OUTCOME_TRANSACTIONS_MAX {
            return Err(d.invalid("an outcome lists at most 1000 transactions"));
        }
        let mut transactions = Vec::new();
        for _ in 0..count {
            transactions.push(TxId::decode(d)?);
        }
        Ok(Self {
            flow,
            name,
            version,
            result,
            transactions,
        })
    }
}

/// The row of a client id: its start and the outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRow {
    /// Digest of the flow's name and arguments: the same id with another start is refused.
    pub start_digest: Hash,
    /// The outcome of the start.
    pub outcome: Arc<Outcome>,
}

impl Encode for ClientRow {
    fn encode(&self, e: &mut Encoder) {
        e.array(2);
        self.start_digest.encode(e);
        self.outcome.encode(e);
    }
}

impl Decode for ClientRow {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(2)?;
        Ok(Self {
            start_digest: Hash::decode(d)?,
            outcome: Arc::new(Outcome::decode(d)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_row_holds_what_was_recorded() {
        let ids = [1, 2].map(|byte| TxId::from_array([byte; 32]));
        for recorded in [&[][..], &ids[..1], &ids] {
            let bytes = journal_row(recorded, b"row");
            assert_eq!(
                split_journal_row(&bytes),
                Some((recorded.to_vec(), &b"row"[..]))
            );
        }
        for damaged in [&b""[..], &[0], &[0, 1, 7]] {
            assert_eq!(split_journal_row(damaged), None);
        }
    }

    #[test]
    fn a_prefix_ends_where_the_next_one_begins() {
        let table: &[(&[u8], Option<&[u8]>)] = &[
            (b"a", Some(b"b")),
            (&[1, 255], Some(&[2])),
            (&[255, 255], None),
        ];
        for (prefix, end) in table {
            assert_eq!(prefix_end(prefix).as_deref(), *end, "{prefix:?}");
        }
    }
}
