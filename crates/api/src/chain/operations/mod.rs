//! The operations of a chain node's API, one row each, like [`crate::operations`].

mod forging;
mod orders;
mod reads;
mod transactions;

use super::accounts::{AccountView, BalancesView};
use super::blocks::{BlockPage, BlockView};
use super::codes;
use super::equivocations::EquivocationPage;
use super::forging::{
    BundlerList, BundlerView, ForgersView, ForgingAccount, ForgingView, RatesView, StartBundler,
    StartForging,
};
use super::network::{ChainHealth, ChainPeers, ChainStatus, Constants, NewBan};
use super::orders::{Done, PopOff, Prune, Snapshot, StateHash, Trust};
use super::transactions::{
    Prepare, Prepared, SignAndSend, Submit, SubmitBatch, SubmitBatchAnswer, Submitted,
    TransactionAnswer, TransactionPage, UnconfirmedPage,
};
use crate::codes::{
    BAD_JSON, BAD_PARAMETER, BAD_REQUEST, BODY_TIMEOUT, BODY_TOO_LARGE, ErrorInfo, INTERNAL,
    NODE_BUSY, NODE_STOPPING, STORE_FAILED,
};
use crate::operations::parts::{LIMIT, READ, answer, json, parameter, text};
use crate::operations::{Call, Kind, Method, Operation, Parameter, Permission};

pub use forging::*;
pub use orders::*;
pub use reads::*;
pub use transactions::*;

const THE_BLOCK: Parameter = parameter(
    "block",
    Kind::Form("^([0-9]{1,10}|[0-9a-f]{64})$"),
    "A height, or a hash.",
);
const THE_ACCOUNT: Parameter = parameter("account", Kind::Text(64), "An account: `TLY-...`.");
const ID: Parameter = parameter("transaction_id", Kind::Hex(64), "The full id.");
const OF_CHAIN: Parameter = parameter("chain", Kind::Count, "Only of this chain.");
const DETAIL: Parameter = parameter(
    "transactions",
    Kind::Words(&["none", "ids", "full"]),
    "How much of each block's body comes with it; a page of blocks ends early where there is much.",
);

const ANY: &[&ErrorInfo] = &[&INTERNAL, &NODE_BUSY];
const ASKED: &[&ErrorInfo] = &[&INTERNAL, &NODE_BUSY, &BAD_PARAMETER];
const ASKED_BLOCK: &[&ErrorInfo] = &[
    &INTERNAL,
    &NODE_BUSY,
    &BAD_PARAMETER,
    &codes::UNKNOWN_BLOCK,
    &codes::PRUNED,
];
const SENT: &[&ErrorInfo] = &[
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
const ORDERED: &[&ErrorInfo] = &[&BAD_JSON, &BAD_REQUEST, &BODY_TIMEOUT, &BODY_TOO_LARGE];

/// An operation that needs no token.
const OPEN: Operation = Operation {
    permission: Permission::Anyone,
    codes: ASKED,
    ..READ
};
const ORDER: Operation = Operation {
    method: Method::Post,
    tag: "orders",
    codes: ORDERED,
    others: true,
    ..READ
};

/// Returns every operation of a chain node, in the order of the description.
pub fn operations() -> impl Iterator<Item = &'static Operation> {
    [
        reads::OPERATIONS,
        transactions::OPERATIONS,
        forging::OPERATIONS,
        orders::OPERATIONS,
    ]
    .into_iter()
    .flatten()
    .copied()
}
