//! The files of the simulated nodes, and the transfers under way.

use std::collections::{BTreeMap, BTreeSet};

use kernel::files::FileOffer;
use ledger::TxId;
use primitives::Hash;

use crate::membership::NODES;

/// Codes that a node logs about files that do not arrive.
const COMPLAINTS: [&str; 4] = [
    "node.delivery_waits",
    "tx.attachment_unavailable",
    "tx.attachment_mismatch",
    "file.not_stored",
];

/// A file that a node asked a peer for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) peer: usize,
    pub(crate) transaction: TxId,
    /// Distinguishes this request from other requests for the same file.
    pub(crate) number: u64,
}

/// A step of a file transfer to a node.
pub(crate) struct Step {
    pub(crate) node: usize,
    pub(crate) hash: Hash,
    pub(crate) number: u64,
    pub(crate) what: Stage,
}

/// A stage of a file transfer.
pub(crate) enum Stage {
    /// The request arrives at the peer.
    Asked,
    /// The answer arrives at the node.
    Answered(Option<FileOffer>),
    /// The last byte arrives.
    Whole(FileOffer),
    /// The deadline has passed without an answer.
    Silence,
}

/// The files and transfers of all nodes.
#[derive(Default)]
pub(crate) struct Files {
    /// Complete files, by node. They survive a crash.
    pub(crate) whole: [BTreeSet<Hash>; NODES],
    pub(crate) wanted: [BTreeMap<Hash, Wanted>; NODES],
    pub(crate) next: u64,
}

/// Returns whether a warning is about a file that does not arrive, which happens in these runs.
pub(crate) fn is_expected(code: &str) -> bool {
    COMPLAINTS.contains(&code)
}
