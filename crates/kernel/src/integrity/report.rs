//! Orders about a recovery, its progress, and the report for operators.

use std::collections::{BTreeMap, VecDeque};

use ledger::{PartyId, Rejection, TxId};
use primitives::{Monotonic, Timestamp};

use super::evidence::RollbackRow;
use super::link_finding::LinkFinding;

/// Recovered transactions that the report lists; of more only the number is known.
pub const RECOVERED_LISTED_MAX: usize = 1_000;

/// An operator's order about a rollback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegrityOrder {
    /// Tell how things stand.
    Show,
    /// Fetch the lost transactions from all peers.
    Recover,
    /// Go on: all peers have answered, or the operator accepts that some have not.
    Finish {
        /// Go on although some peers have not given everything.
        accept_missing: bool,
    },
}

/// The progress of the recovery from one peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerProgress {
    /// It has not answered yet, or transactions that it found have not arrived.
    Asked,
    /// Everything that it found is recorded here.
    Done,
    /// It refuses to search, with a reason.
    Refused(Rejection),
}

/// The progress of recovery from one peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerRecovery {
    /// The progress.
    pub progress: PeerProgress,
    /// The last position of its ledger that was searched.
    pub upto: u64,
    /// The last position of its ledger.
    pub end: u64,
    /// Transactions that it found, those that are here already included.
    pub found: u64,
    pub(super) step: u32,
    /// The time at which the last question is put again.
    pub(super) again: Option<Monotonic>,
}

/// A recovery since the start of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// The time at which it began.
    pub begun: Timestamp,
    /// All other nodes of the network.
    pub peers: BTreeMap<PartyId, PeerRecovery>,
    /// Transactions recorded since, the last of them at the end: at most [`RECOVERED_LISTED_MAX`].
    pub transactions: VecDeque<TxId>,
    /// The number of transactions recorded since, including those no longer listed.
    pub recorded: u64,
    /// Notarised transactions that were entered again.
    pub notarised: u64,
    /// The number of states whose entered consumer differs from the one that a peer showed.
    pub conflicts: u64,
}

/// The state of a node's data compared with the observations of other nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntegrityReport {
    /// The ordinal of the present life.
    pub ordinal: u64,
    /// The number that the data has reached.
    pub number: u64,
    /// The proof that it is an older copy, until an operator finishes the recovery.
    pub rollback: Option<RollbackRow>,
    /// Contradictions that rest on the word of a peer.
    pub links: BTreeMap<PartyId, LinkFinding>,
    /// The recovery, if one was begun.
    pub recovery: Option<Recovery>,
}

impl Recovery {
    /// Notes a recorded transaction.
    pub(crate) fn recorded(&mut self, id: TxId) {
        self.recorded += 1;
        self.transactions.push_back(id);
        if self.transactions.len() > RECOVERED_LISTED_MAX {
            self.transactions.pop_front();
        }
    }

    /// Returns the time at which a peer is to be asked again.
    pub(super) fn next_question(&self) -> Option<Monotonic> {
        self.peers.values().filter_map(|peer| peer.again).min()
    }

    /// Peers that have not given everything.
    pub(super) fn missing(&self) -> impl Iterator<Item = &PartyId> {
        let peers = self.peers.iter();
        let missing = peers.filter(|(_, peer)| peer.progress != PeerProgress::Done);
        missing.map(|(id, _)| id)
    }
}
