//! The kernel's state for checks of this node's data against the observations of other nodes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ledger::{DataMark, PartyId, SignedTransaction, TxId};
use primitives::{Decode, Encode, Monotonic, Seed, Timestamp};

use super::evidence::RollbackRow;
use super::link_finding::LinkFinding;
use super::lives::Lives;
use super::mark_turns::MarkTurns;
use super::report::Recovery;
use super::search_turns::SearchTurns;
use crate::context::Context;
use crate::message::SHOWN_TO_NOTARY_MAX;
use crate::part::Part;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::rows::{
    META_LINK, META_MARK, META_NOTARISED, META_NOTARY_ACCEPTED, META_ROLLBACK, meta_key,
    prefix_end, seq_of,
};
use crate::writes::{Batch, RowRange, Writer};

/// Maximum time to wait for a peer's standing, in milliseconds. A peer of an older version sends none.
pub const STANDING_WAIT_MS: u64 = 5_000;

/// Lives, marks and verdicts of this node and its peers, and the state of a rollback.
#[derive(Debug)]
pub(crate) struct Integrity {
    pub(super) lives: Lives,
    /// Proof that this node's data is an older copy, until an operator has dealt with it.
    pub(super) rollback: Option<RollbackRow>,
    pub(super) recovery: Option<Recovery>,
    /// The time at which the last transaction was recorded before this start.
    pub(super) data_until: Timestamp,
    /// The latest mark of each peer. One entry a peer, so bounded by the network map.
    pub(super) marks: BTreeMap<PartyId, DataMark>,
    /// Contradictions that rest on a peer's word. One entry a peer.
    pub(super) links: BTreeMap<PartyId, LinkFinding>,
    /// The turns of the peers whose standing has passed in the present connection: they get marks.
    pub(super) turns: MarkTurns,
    /// The turns of peers that have the ledger searched.
    pub(super) search_turns: SearchTurns,
    /// Transactions recorded last, by notary.
    notarised: BTreeMap<PartyId, VecDeque<TxId>>,
    /// Notaries whose rows are not written yet.
    unsaved: BTreeSet<PartyId>,
}

impl Writer for Integrity {
    const ROWS: &'static [RowRange] = &[
        RowRange::meta(META_LINK),
        RowRange::meta(META_MARK),
        RowRange::meta(META_NOTARISED),
        RowRange::meta(META_ROLLBACK),
    ];
}

impl Part for Integrity {
    fn next_time(&self, _: Monotonic) -> Option<Monotonic> {
        self.recovery.as_ref()?.next_question()
    }

    fn end_round(&mut self, batch: &mut Batch) {
        for notary in std::mem::take(&mut self.unsaved) {
            let ids = self.notarised.get(&notary).into_iter().flatten();
            let row: Vec<u8> = ids.flat_map(|id| *id.as_bytes()).collect();
            batch.of::<Integrity>().put(
                Table::Meta,
                meta_key(META_NOTARISED, notary.as_bytes()),
                row,
            );
        }
        self.lives.end_of_round(batch);
    }
}

impl Integrity {
    /// Reads everything back and begins a new life on a ledger that ends at a position.
    pub(crate) fn open(
        reads: &dyn Reads,
        entropy: Seed,
        last_seq: u64,
    ) -> Result<Self, StoreFailure> {
        let accepted = reads.get(Table::Meta, META_NOTARY_ACCEPTED)?;
        let accepted = accepted.map_or(Some(0), |row| seq_of(&row));
        let accepted = accepted.ok_or_else(|| damaged("the number of accepted transactions"))?;
        let number = last_seq
            .checked_add(accepted)
            .ok_or_else(|| damaged("the number of accepted transactions"))?;
        let lives = Lives::open(reads, entropy, accepted, number)?;
        let rollback = match reads.get(Table::Meta, META_ROLLBACK)? {
            None => None,
            Some(row) => {
                let row = RollbackRow::from_bytes(&row);
                Some(row.map_err(|_| damaged("the proof that the data is an older copy"))?)
            }
        };
        let last = reads.last(Table::Ledger)?;
        let last = last.and_then(|(_, row)| row.first_chunk::<8>().copied());
        let mut integrity = Self {
            lives,
            rollback,
            recovery: None,
            data_until: Timestamp::from_ms(last.map_or(0, u64::from_be_bytes)),
            marks: BTreeMap::new(),
            links: BTreeMap::new(),
            turns: MarkTurns::new(number),
            search_turns: SearchTurns::default(),
            notarised: BTreeMap::new(),
            unsaved: BTreeSet::new(),
        };
        for (peer, row) in peer_rows(reads, META_MARK)? {
            let mark = DataMark::from_bytes(&row);
            let mark = mark.map_err(|_| damaged("the latest mark of a peer"))?;
            integrity.marks.insert(peer, mark);
        }
        for (peer, row) in peer_rows(reads, META_LINK)? {
            let finding = LinkFinding::from_bytes(&row);
            let finding = finding.map_err(|_| damaged("a contradiction about a link"))?;
            integrity.links.insert(peer, finding);
        }
        for (peer, row) in peer_rows(reads, META_NOTARISED)? {
            let (ids, rest) = row.as_chunks::<32>();
            if !rest.is_empty() {
                return Err(damaged("the transactions that a notary has signed last"));
            }
            let ids = ids.iter().map(|id| TxId::from_array(*id)).collect();
            integrity.notarised.insert(peer, ids);
        }
        Ok(integrity)
    }

    /// Returns the number of peers whose numbers contradict this node's.
    pub(crate) fn contradicted_links(&self) -> usize {
        self.links.len()
    }

    /// Returns the number of transactions that this notary has accepted.
    pub(crate) fn accepted(&self) -> u64 {
        self.lives.accepted()
    }

    /// Returns the peers that have given marks: they can show that the data is no older copy.
    pub(crate) fn marked_by(&self) -> impl Iterator<Item = PartyId> {
        self.marks.keys().copied()
    }

    /// Notes a recorded transaction, which its notary is shown at the next connection.
    pub(crate) fn recorded(&mut self, transaction: &SignedTransaction, context: &Context) {
        if let Some(recovery) = &mut self.recovery {
            recovery.recorded(transaction.id());
        }
        let wire = transaction.wire();
        let notary = wire.notary().filter(|_| wire.needs_notary());
        let Some(notary) = notary
            .map(ledger::Party::id)
            .filter(|id| *id != context.my_id)
        else {
            return;
        };
        let ids = self.notarised.entry(notary).or_default();
        ids.push_back(transaction.id());
        if ids.len() > SHOWN_TO_NOTARY_MAX {
            ids.pop_front();
        }
        self.unsaved.insert(notary);
    }

    /// Transactions recorded last with the signatures of a notary.
    pub(super) fn notarised_by(&self, notary: &PartyId) -> Vec<TxId> {
        let ids = self.notarised.get(notary).into_iter().flatten();
        ids.copied().collect()
    }

    /// Keeps a mark of a peer if it is the latest. A peer that has become an older copy may show an earlier one, which must not
    /// replace the proof.
    pub(super) fn keep_mark(&mut self, peer: PartyId, mark: DataMark, batch: &mut Batch) {
        let place = |mark: &DataMark| (mark.ordinal, mark.number);
        if self
            .marks
            .get(&peer)
            .is_some_and(|known| place(known) >= place(&mark))
        {
            return;
        }
        let key = meta_key(META_MARK, peer.as_bytes());
        batch
            .of::<Integrity>()
            .put(Table::Meta, key, mark.to_bytes());
        self.marks.insert(peer, mark);
    }
}

/// Returns the rows of a prefix that are followed by a peer's id: one row a peer, so the network map bounds them.
fn peer_rows(reads: &dyn Reads, prefix: &[u8]) -> Result<Vec<(PartyId, Vec<u8>)>, StoreFailure> {
    let to = prefix_end(prefix);
    let rows = reads.scan(Table::Meta, prefix, to.as_deref(), usize::MAX)?;
    let rows = rows.into_iter().map(|(key, value)| {
        let peer = key.get(prefix.len()..).and_then(crate::rows::peer_of);
        let peer = peer.ok_or_else(|| damaged("the peer that a row is about"))?;
        Ok((peer, value))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use primitives::{Hash, KeyPair, Scheme};

    use super::*;
    use crate::errors::DAMAGED;
    use crate::fake_store::FakeStore;

    #[test]
    fn refuses_rows_that_do_not_decode() {
        let peer = [7; 32];
        for (prefix, peer) in [
            (META_LINK, peer.as_slice()),
            (META_MARK, &peer),
            (META_NOTARISED, &peer),
            (META_NOTARISED, &[7; 5]),
            (META_ROLLBACK, &[]),
            (META_NOTARY_ACCEPTED, &[]),
        ] {
            let mut store = FakeStore::default();
            store.put(Table::Meta, &meta_key(prefix, peer), &[0xff; 3]);
            let refused = Integrity::open(&store, [7; 32].into(), 0).err();
            let code = refused.map(|failure| failure.code);
            assert_eq!(code, Some(DAMAGED.code), "{}", prefix.escape_ascii());
        }
    }

    #[test]
    fn keeps_the_latest_mark_of_a_peer() {
        let store = FakeStore::default();
        let mut integrity = Integrity::open(&store, [7; 32].into(), 0).expect("an empty store");
        let key = KeyPair::from_seed(Scheme::Ed25519, [1; 32]);
        let peer = PartyId::from_hash(Hash::ZERO);
        for ((ordinal, number), kept, is_written) in [
            ((3, 10), (3, 10), true),
            ((3, 10), (3, 10), false),
            ((3, 9), (3, 10), false),
            ((2, 99), (3, 10), false),
            ((3, 11), (3, 11), true),
            ((4, 0), (4, 0), true),
        ] {
            let mark = DataMark::sign(&peer, ordinal, [5; 16], number, &key);
            let mut batch = Batch::default();
            integrity.keep_mark(peer, mark, &mut batch);
            let known = &integrity.marks[&peer];
            let case = format!("life {ordinal} at {number}");
            assert_eq!((known.ordinal, known.number), kept, "{case}");
            assert_eq!(!batch.is_empty(), is_written, "{case}");
        }
    }
}
