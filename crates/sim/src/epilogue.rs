//! Copies of disks from the middle of a run, and the answers to the adversary that puts nodes back on them.

use std::collections::BTreeMap;

use kernel::Reply;

use crate::disk::Tables;

/// Tokens from this value on belong to the adversary.
pub(crate) const EPILOGUE_TOKEN: u64 = 1 << 60;

/// Warnings of nodes that are rolled back, and of nodes that connect to them.
const WARNINGS: [&str; 5] = [
    "node.rolled_back",
    "node.delivery_waits",
    "node.peer_rolled_back",
    "node.stale_data",
    "vault.quarantined",
];

/// Copies of the disks from the middle of the work, and answers to the adversary.
#[derive(Default)]
pub(crate) struct Epilogue {
    pub(crate) copies: Option<Vec<Tables>>,
    pub(crate) replies: BTreeMap<u64, Reply>,
    pub(crate) next: u64,
    pub(crate) begun: bool,
}

impl Epilogue {
    /// Returns whether nodes are rolled back. A notary may then lack consumptions that ledgers show, until it has recovered.
    pub(crate) fn is_running(&self) -> bool {
        self.begun
    }

    /// Returns whether a node may log this warning because nodes are rolled back.
    pub(crate) fn expects(&self, code: &str) -> bool {
        self.begun && WARNINGS.contains(&code)
    }
}
