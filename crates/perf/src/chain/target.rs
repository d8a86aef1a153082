//! The interface of a chain's node to the load.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::load::Fault;
use crate::workload::Boxed;

/// A chain's number; the parent's is 1.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ChainId(pub u8);

impl ChainId {
    /// The parent chain.
    pub const PARENT: Self = Self(1);
}

/// A chain and its token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// Its number.
    pub id: ChainId,
    /// Its display name.
    pub name: String,
    /// Decimal places of its token.
    pub decimals: u8,
    /// The fee of a payment, in minor units of its token.
    pub fee: u64,
}

/// A transaction's permanent identifier: its full hash or id.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TxKey(pub [u8; 32]);

impl TxKey {
    /// Parses 64 hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        primitives::hex::decode_array(text).map(Self)
    }
}

impl From<TxKey> for String {
    fn from(key: TxKey) -> Self {
        key.to_string()
    }
}

impl TryFrom<String> for TxKey {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("a key has 64 hexadecimal digits")
    }
}

impl fmt::Display for TxKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&primitives::hex::encode(&self.0))
    }
}

impl fmt::Debug for TxKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A payment to make. Accounts are numbers among the test accounts of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payment {
    /// The chain.
    pub chain: ChainId,
    /// The payer.
    pub from: usize,
    /// The payee.
    pub to: usize,
    /// The amount, in minor units of the chain's token.
    pub amount: u64,
}

/// The status of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainStatus {
    /// Height of its tip: a number of at most 32 bits, so that heights can be added.
    pub height: u64,
    /// The node's id of its tip.
    pub tip: String,
    /// Nodes that it is connected to.
    pub peers: u64,
}

/// The level of detail of each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Headers and counts.
    Counts,
    /// Also the transactions' keys.
    Keys,
    /// Also the balance changes, if the node reports them.
    Moves,
}

/// A block as a node reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockSeen {
    /// Blocks before it: a number of at most 32 bits.
    pub height: u64,
    /// The node's id for it.
    pub id: String,
    /// The node's id of the block before it.
    pub previous: String,
    /// Its time, seconds since the chain's beginning.
    pub time_s: u64,
    /// Bytes of its body, if the node names them.
    pub bytes: Option<u64>,
    /// Parent chain transactions, child blocks not counted.
    pub parent_count: u32,
    /// Transactions in its child blocks, by chain.
    pub children: Vec<ChildCount>,
    /// Keys of all these transactions; empty unless asked for.
    pub keys: Vec<TxKey>,
    /// Balance changes; empty unless requested and reported.
    pub moves: Vec<Moved>,
}

impl BlockSeen {
    /// Transactions of all chains, child blocks not counted.
    #[must_use]
    pub fn transactions(&self) -> u64 {
        let children = self.children.iter().map(|child| u64::from(child.count));
        u64::from(self.parent_count) + children.sum::<u64>()
    }
}

/// Transactions of one child chain in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildCount {
    /// The chain.
    pub chain: ChainId,
    /// The number.
    pub count: u32,
}

/// The balance changes of one transaction, fees included. On each chain they add up to zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// The chain.
    pub chain: ChainId,
    /// The node's name of each account and its change, in minor units.
    pub changes: Vec<(String, i128)>,
}

/// The fate of an accepted transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is in a block of this height.
    InBlock(u64),
    /// It waits.
    Waiting,
    /// It left the pool without a block, for this reason.
    Left(String),
    /// The node does not know it.
    Unknown,
}

/// A page of blocks with transactions ends after this many transactions, however many blocks were requested: about 10 MB.
pub const ANSWER_TRANSACTIONS_MAX: u64 = 20_000;

/// A node of a chain. Refusals and failures are [`Fault`]s with stable codes.
pub trait ChainTarget: Send + Sync + 'static {
    /// Returns its name in results.
    fn name(&self) -> &str;

    /// Submits payments together, at most a batch. Returns the key of each accepted one, in order.
    fn submit<'a>(&'a self, payments: &'a [Payment]) -> Boxed<'a, Vec<Result<TxKey, Fault>>>;

    /// Returns its status.
    fn status(&self) -> Boxed<'_, Result<ChainStatus, Fault>>;

    /// Returns how many transactions it knows that are in no block. A transaction leaves the pool for a block, so a reader of both reads
    /// the blocks first. It may take many calls.
    fn waiting(&self) -> Boxed<'_, Result<u64, Fault>>;

    /// Returns blocks of its main chain from a height on, ascending: at most `most`, fewer if they are large or the tip
    /// is near.
    fn blocks(
        &self,
        from: u64,
        most: u32,
        detail: Detail,
    ) -> Boxed<'_, Result<Vec<BlockSeen>, Fault>>;

    /// Returns the balances of a test account, in minor units, by chain.
    fn balances(&self, account: usize) -> Boxed<'_, Result<Vec<(ChainId, u64)>, Fault>>;

    /// Returns the name of a test account in [`Moved`].
    fn account_name(&self, account: usize) -> String;

    /// Returns the fate of a transaction.
    fn fate(&self, key: TxKey) -> Boxed<'_, Result<Fate, Fault>>;

    /// Starts or stops forging with its configured accounts.
    fn forge(&self, on: bool) -> Boxed<'_, Result<(), Fault>>;

    /// Returns a hash of all its balances and the height of that state. `None` if the node has no such hash.
    fn state_hash(&self) -> Boxed<'_, Result<Option<(u64, String)>, Fault>>;
}
