//! The bounds of messages.

/// Maximum length of a gossiped message, in bytes.
pub const GOSSIP_BYTES_MAX: usize = 1 << 20;

/// Maximum length of a question, in bytes: [`QUESTION_IDS_MAX`] ids and 64 more.
pub const QUESTION_BYTES_MAX: usize = 64 + 32 * QUESTION_IDS_MAX;

/// Maximum number of ids that one message lists. Longer lists are fetched in another way.
pub const IDS_MAX: usize = 32_000;

/// Maximum number of transactions in one gossiped batch.
pub const GOSSIP_TRANSACTIONS_MAX: usize = 4_096;

/// Maximum number of bundlers' rates in one gossiped message.
pub const GOSSIP_RATES_MAX: usize = 64;

/// Maximum number of the asker's block hashes in a question for headers. Their distances double, so they cover all possible
/// heights.
pub const LOCATOR_MAX: usize = 40;

/// Maximum number of headers in one answer.
pub const HEADERS_MAX: usize = 1_024;

/// Maximum number of blocks whose bodies one question requests.
pub const BODIES_MAX: usize = 128;

/// Maximum number of transactions that one question requests by id.
pub const QUESTION_IDS_MAX: usize = 8_192;
