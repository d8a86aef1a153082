//! The chain node's HTTP API: requests, answers and codes. No domain logic: ids, keys, hashes and bytes are hexadecimal text,
//! accounts are written `TLY-...`, amounts are integers of minor units, heights and times are integers.
//!
//! Reading and submitting need no token, because a chain's transactions carry their own authority. Requests that change the node
//! itself (forging, bundling, bans, rollbacks) need one. A time without a unit in its name is in seconds since genesis, as the
//! chain itself counts. A time with `_ms` is in milliseconds since the Unix epoch.
//!
//! Modules in reading order: [`operations`] (all of them), [`network`] (constants, status, peers), [`blocks`], [`transactions`] (and
//! submitting), [`accounts`], [`forging`] (and bundling), [`equivocations`], [`events`], [`orders`] (of operators), [`codes`].

pub mod accounts;
pub mod blocks;
pub mod codes;
pub mod equivocations;
pub mod events;
pub mod forging;
pub mod network;
mod openapi;
pub mod operations;
pub mod orders;
pub mod transactions;

pub use accounts::{
    AccountBalances, AccountView, BalancesView, ChainBalance, ForgingBalance, LeaseView,
};
pub use blocks::{BlockPage, BlockView, BodyDetail, ChainIds, ChildBlockView, ChildCount};
pub use codes::ERRORS;
pub use equivocations::{EquivocationPage, EquivocationView, SignedHeader};
pub use events::{BlockAdded, BlockPopped, Forked, Stuck, TransactionLeft};
pub use forging::{
    BundlerList, BundlerView, ForgerView, ForgersView, ForgingAccount, ForgingView, RateView,
    RatesView, StartBundler, StartForging,
};
pub use network::{
    ChainHealth, ChainInfo, ChainPeer, ChainPeers, ChainStatus, Constants, NewBan, SyncState,
};
pub use openapi::document;
pub use orders::{
    PoolCleared, PopOff, Prune, PruneBegun, RolledBack, Snapshot, SnapshotMade, StateHash, Trust,
    Trusted,
};
pub use transactions::{
    ItemRefusal, PlacedTransaction, Prepare, Prepared, SUBMIT_BATCH_MAX, SignAndSend, Submit,
    SubmitAnswer, SubmitBatch, SubmitBatchAnswer, Submitted, TransactionAnswer, TransactionKind,
    TransactionPage, TransactionState, TransactionView, UnconfirmedPage,
};
