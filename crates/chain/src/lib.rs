//! The chain: accounts, transactions, blocks, proof of stake, pool, bundling and fork choice.
//!
//! Pure code: it reads no clock, draws no randomness, and accesses neither disk nor network. A node's deciding core takes events
//! and returns actions. Its data goes through the storage port ([`port`]).
//!
//! - There is one chain of blocks. The *parent chain* ([`ChainId::PARENT`]) holds the forging token. *Child chains* have tokens
//!   of their own. Their transactions enter a block inside a *child block*, a parent transaction that carries them by hash.
//! - Within a block debits come before credits, so the order of its transactions does not matter. Any part of a pool whose debits
//!   are covered is a valid block.

mod account;
pub mod block;
mod block_timestamp;
pub mod bundle;
mod chain_id;
mod chain_time;
pub mod core;
pub mod errors;
pub mod forge;
pub mod genesis;
mod height;
pub mod history;
pub mod message;
mod minor_units;
mod minutes;
pub mod params;
mod percent;
pub mod pool;
pub mod port;
pub mod pos;
mod seconds;
pub mod state;
pub mod transaction;
mod whole_tokens;

pub use account::{AccountId, AccountIdError, key_of_passphrase};
pub use block::{Block, Header};
pub use block_timestamp::BlockTimestamp;
pub use chain_id::ChainId;
pub use chain_time::ChainTime;
pub use errors::{ERRORS, Rejection};
pub use genesis::Genesis;
pub use height::Height;
pub use minor_units::MinorUnits;
pub use minutes::Minutes;
pub use params::Params;
pub use percent::Percent;
pub use seconds::Seconds;
pub use transaction::{Anchor, Body, Carried, Transaction, TxId};
pub use whole_tokens::WholeTokens;
