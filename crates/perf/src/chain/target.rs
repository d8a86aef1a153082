//! A node of a chain as a load sees it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use serde::{Deserialize, Serialize};

use crate::load::Fault;

/// A future that can be kept, of a trait that is used as an object.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

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
    /// As people call it.
    pub name: String,
    /// Digits of its token behind the point.
    pub decimals: u8,
    /// The fee of a payment, in minor units of its token.
    pub fee: u64,
}

/// What names a transaction for good: its full hash or id.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TxKey(pub [u8; 32]);

impl TxKey {
    /// Of 64 hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        primitives::hex::decode_array(text).map(Self)
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
    /// On which chain.
    pub chain: ChainId,
    /// Who pays.
    pub from: usize,
    /// Who is paid.
    pub to: usize,
    /// How much, in minor units of the chain's token.
    pub amount: u64,
}

/// Where a node stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainStatus {
    /// Height of its tip.
    pub height: u64,
    /// The tip, as the node calls it.
    pub tip: String,
    /// Transactions that it knows and that stand in no block.
    pub unconfirmed: u64,
    /// Nodes that it is connected to.
    pub peers: u64,
}

/// How much of each block is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Headers and counts.
    Counts,
    /// Also the transactions' keys.
    Keys,
    /// Also who paid what to whom, where the node tells it.
    Moves,
}

/// A block as a node shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockSeen {
    /// Blocks before it.
    pub height: u64,
    /// As the node calls it.
    pub id: String,
    /// The block before it, as the node calls it.
    pub previous: String,
    /// When, seconds since the chain's beginning.
    pub time_s: u64,
    /// Bytes of its body; 0 if the node does not say.
    pub bytes: u64,
    /// Payments and the like on the parent chain, child blocks not counted.
    pub parent_count: u32,
    /// What its child blocks carry, by chain.
    pub children: Vec<ChildCount>,
    /// Keys of all these transactions; empty unless asked for.
    pub keys: Vec<TxKey>,
    /// What moved; empty unless asked for and told.
    pub moves: Vec<Moved>,
}

impl BlockSeen {
    /// Transactions of all chains, child blocks not counted.
    #[must_use]
    pub fn transactions(&self) -> u64 {
        let children = self.children.iter().map(|child| u64::from(child.count));
        children.fold(u64::from(self.parent_count), u64::saturating_add)
    }
}

/// Transactions of one child chain in a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildCount {
    /// Of which chain.
    pub chain: ChainId,
    /// How many.
    pub count: u32,
}

/// What one transaction moved, fees too: the changes of balances add up to nothing on each chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// On which chain.
    pub chain: ChainId,
    /// Whose balance changed, as the node calls the account, and by how much, in minor units.
    pub changes: Vec<(String, i128)>,
}

/// What became of a transaction that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stands in a block of this height.
    InBlock(u64),
    /// It waits.
    Waiting,
    /// It left the pool without a block, for this reason.
    Left(String),
    /// The node knows nothing of it.
    Unknown,
}

/// Blocks with their transactions come until there are so many of these, however many blocks are asked for: about 10 MB.
pub const ANSWER_TRANSACTIONS_MAX: u64 = 20_000;

/// A node of a chain. What it refuses, and what goes wrong on the way, is a [`Fault`] with a stable code.
pub trait ChainTarget: Send + Sync + 'static {
    /// What it is called in results.
    fn name(&self) -> &str;

    /// Submits payments together, at most as many as a batch may have; gives the key of each that was accepted, in order.
    fn submit<'a>(&'a self, payments: &'a [Payment]) -> Boxed<'a, Vec<Result<TxKey, Fault>>>;

    /// Where it stands.
    fn status(&self) -> Boxed<'_, Result<ChainStatus, Fault>>;

    /// Blocks of its main chain from a height on, ascending; at most `most`, fewer where they are large or the tip is near.
    fn blocks(
        &self,
        from: u64,
        most: u32,
        detail: Detail,
    ) -> Boxed<'_, Result<Vec<BlockSeen>, Fault>>;

    /// Balances of a test account, in minor units, by chain.
    fn balances(&self, account: usize) -> Boxed<'_, Result<Vec<(ChainId, u64)>, Fault>>;

    /// How a test account is called in [`Moved`].
    fn account_name(&self, account: usize) -> String;

    /// What became of a transaction.
    fn fate(&self, key: TxKey) -> Boxed<'_, Result<Fate, Fault>>;

    /// Starts or stops forging with whatever it forges with.
    fn forge(&self, on: bool) -> Boxed<'_, Result<(), Fault>>;

    /// A hash of all its balances, with the height that it is of; `None` where a node has none such.
    fn state_hash(&self) -> Boxed<'_, Result<Option<(u64, String)>, Fault>>;
}
