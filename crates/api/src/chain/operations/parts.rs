//! The parts that the rows of a chain node's operations share.

pub(super) use crate::chain::accounts::{AccountView, BalancesView};
pub(super) use crate::chain::blocks::{BlockPage, BlockView};
pub(super) use crate::chain::codes;
pub(super) use crate::chain::equivocations::EquivocationPage;
pub(super) use crate::chain::forging::{
    BundlerList, BundlerView, ForgersView, ForgingAccount, ForgingView, RatesView, StartBundler,
    StartForging,
};
pub(super) use crate::chain::network::{ChainHealth, ChainPeers, ChainStatus, Constants, NewBan};
pub(super) use crate::chain::orders::{
    PoolCleared, PopOff, Prune, PruneBegun, RolledBack, Snapshot, SnapshotMade, StateHash, Trust,
    Trusted,
};
pub(super) use crate::chain::transactions::{
    Prepare, Prepared, SignAndSend, Submit, SubmitBatch, SubmitBatchAnswer, Submitted,
    TransactionAnswer, TransactionPage, UnconfirmedPage,
};
pub(super) use crate::codes::{
    BAD_JSON, BAD_PARAMETER, BAD_REQUEST, BODY_TIMEOUT, BODY_TOO_LARGE, ErrorInfo, INTERNAL,
    NODE_BUSY, NODE_STOPPING, STORE_FAILED,
};
pub(super) use crate::operations::parts::{LIMIT, READ, answer, json, parameter, text};
pub(super) use crate::operations::{Call, Kind, Method, Operation, Parameter, Permission};

pub(super) const THE_BLOCK: Parameter = parameter(
    "block",
    Kind::Form("^([0-9]{1,10}|[0-9a-fA-F]{64})$"),
    "A height, or a hash.",
);
pub(super) const THE_ACCOUNT: Parameter =
    parameter("account", Kind::Text(64), "An account: `TLY-...`.");
pub(super) const ID: Parameter = parameter("transaction_id", Kind::Hex(64), "The full id.");
pub(super) const OF_CHAIN: Parameter =
    parameter("chain", Kind::Byte, "Only transactions of this chain.");
pub(super) const DETAIL: Parameter = parameter(
    "transactions",
    Kind::Words(&["none", "ids", "full"]),
    "Detail of the bodies. A page with large bodies ends early.",
);

pub(super) const ANY: &[&ErrorInfo] = &[&INTERNAL, &NODE_BUSY];
pub(super) const ASKED: &[&ErrorInfo] = &[&INTERNAL, &NODE_BUSY, &BAD_PARAMETER];
pub(super) const ASKED_BLOCK: &[&ErrorInfo] = &[
    &INTERNAL,
    &NODE_BUSY,
    &BAD_PARAMETER,
    &codes::UNKNOWN_BLOCK,
    &codes::PRUNED,
];
pub(super) const SENT: &[&ErrorInfo] = &[
    &INTERNAL,
    &NODE_BUSY,
    &NODE_STOPPING,
    &STORE_FAILED,
    &BAD_JSON,
    &BAD_REQUEST,
    &BODY_TIMEOUT,
    &BODY_TOO_LARGE,
    &codes::UNKNOWN_CHAIN,
    &codes::BAD_KEY,
    &codes::BAD_PREPARE,
];
pub(super) const ORDERED: &[&ErrorInfo] =
    &[&BAD_JSON, &BAD_REQUEST, &BODY_TIMEOUT, &BODY_TOO_LARGE];

/// An operation that needs no token.
pub(super) const OPEN: Operation = Operation {
    permission: Permission::Anyone,
    codes: ASKED,
    ..READ
};
pub(super) const ORDER: Operation = Operation {
    method: Method::Post,
    tag: "orders",
    codes: ORDERED,
    others: true,
    ..READ
};
