//! The types of a ledger node's store.

use kernel::port::Table;

/// The store of a ledger node.
pub(crate) type LedgerStore = store::Embedded<Table>;
/// The committer of a ledger node's store.
pub(crate) type LedgerCommitter = store::Committer<Table>;
