//! What nodes of a chain say to each other: gossip to all, questions and answers between two.
//!
//! Every message is one kind byte and fields in a fixed order, big-endian (`docs/formats/chain-messages.md`). Decoders are total:
//! they panic at nothing, allocate no more than the bytes that are there justify, and what they read is written the same again.

mod answer;
mod gossip;
mod question;
mod wire;

pub use answer::{Answer, Listed};
pub use gossip::{Announcement, Gossip};
pub use question::{Question, Status};

use crate::params::BLOCK_BYTES_MAX;

/// Bytes of a gossiped message at most.
pub const GOSSIP_BYTES_MAX: usize = 1 << 20;

/// Bytes of a question at most: [`QUESTION_IDS_MAX`] ids and a little.
pub const QUESTION_BYTES_MAX: usize = 64 + 32 * QUESTION_IDS_MAX;

/// Bytes of an answer at most: the largest body that a network may allow, its length, and the kind. Other answers are shorter.
pub const ANSWER_BYTES_MAX: usize = 1 + 4 + BLOCK_BYTES_MAX;

/// Ids that one message lists at most; what is longer is fetched in another way.
pub const IDS_MAX: usize = 32_000;

/// Transactions in one gossiped batch at most.
pub const GOSSIP_TRANSACTIONS_MAX: usize = 4_096;

/// Rates of bundlers in one gossiped message at most.
pub const GOSSIP_RATES_MAX: usize = 64;

/// Hashes of own blocks in a question for headers at most: distances double, so that this reaches back as far as heights go.
pub const LOCATOR_MAX: usize = 40;

/// Headers in one answer at most.
pub const HEADERS_MAX: usize = 1_024;

/// Blocks that one question asks the bodies of at most.
pub const BODIES_MAX: usize = 128;

/// Transactions that one question asks for by id at most.
pub const QUESTION_IDS_MAX: usize = 8_192;
