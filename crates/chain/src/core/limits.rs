//! Limits of a core's memory, work and waiting times.

use std::time::Duration;

use crate::Seconds;

/// Connected peers that are tracked. Others get no answers.
pub const PEERS_MAX: usize = 256;
/// Open questions to all peers together.
pub const QUESTIONS_MAX: usize = 512;
/// Open questions to one peer.
pub const QUESTIONS_PER_PEER_MAX: usize = 8;
/// Timeout of a question whose answer takes little work.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Timeout of a question for bodies.
pub const PATIENCE_BODIES: Duration = Duration::from_secs(15);
/// Time after the timeout at which a question is given up even if the transport reports nothing.
pub const GRACE: Duration = Duration::from_secs(1);
/// Size in bytes at which an answer stops growing. A single body may be longer.
pub const ANSWER_BYTES: usize = 1 << 20;
/// Long-term rate of answers to one peer, in bytes per second.
pub const SERVED_BYTES_PER_SECOND: u64 = 32 << 20;
/// Maximum saved budget of answers to one peer, in bytes.
pub const SERVED_BYTES_BURST: u64 = 64 << 20;
/// Long-term rate of answers to all peers together, in bytes per second.
pub const SERVED_TOTAL_PER_SECOND: u64 = 64 << 20;
/// Maximum saved budget of answers to all peers together, in bytes. A peer is served while its recent use is at most the
/// remaining budget.
pub const SERVED_TOTAL_BURST: u64 = 256 << 20;
/// Minimum cost of an answer, in bytes.
pub const SERVED_BYTES_LEAST: u64 = 4 << 10;
/// Minimum cost of an id that is looked up in the store, in bytes, whether it is found or not.
pub const SERVED_BYTES_PER_LOOK: usize = 2 << 10;
/// Factor on the bytes of a body that is decoded and hashed for an answer.
pub const SERVED_DECODED_FACTOR: usize = 4;
/// Work, counted in bytes, at which an answer stops growing.
pub const SERVED_WORK_MAX: usize = 16 << 20;
/// Rows that pruning examines after each block.
pub const PRUNE_ROWS: usize = 256;
/// Rows that pruning examines in each round of an operator's order to delete bodies.
pub const PRUNE_ROUND_ROWS: usize = 8_192;
/// Announced blocks that are assembled at the same time.
pub const ASSEMBLIES_MAX: usize = 8;
/// Maximum number of requests for the missing parts of a block. They are sent one after the other.
pub const ASSEMBLY_ATTEMPTS_MAX: u32 = 8;
/// Maximum number of times that a peer is asked again for parts of a block after it sent some of them.
pub const SECOND_CHANCES_MAX: u32 = 2;
/// Maximum number of missing transactions that are requested by their ids. Beyond this number, the whole body is requested.
pub const MISSING_MAX: usize = 4_000;
/// Blocks that are held because they are ahead of this node's clock or their predecessor is being assembled.
pub const PENDING_BLOCKS_MAX: usize = 32;
/// Held announcements of one peer with unchecked headers.
pub const ORPHANS_PER_PEER_MAX: usize = 4;
/// Checked headers that are remembered as the first of their forger on their parent.
pub const FIRST_HEADERS_MAX: usize = 64;
/// Pieces of evidence of equivocation that are kept, with two headers each.
pub const EQUIVOCATIONS_MAX: usize = 1_024;
/// Pieces of evidence of equivocation that are kept against one forger.
pub const EQUIVOCATIONS_PER_FORGER_MAX: usize = 16;
/// Remembered tips that are no better than ours because of a second block by the forger of ours.
pub const TIED_TIPS_MAX: usize = 256;
/// Own blocks that are remembered, so that no key signs a second one on their parents.
pub const OWN_BLOCKS_MAX: usize = 8_192;
/// Remembered hashes of bad blocks.
pub const INVALID_BLOCKS_MAX: usize = 4_096;
/// Headers of a branch that are held while it is judged, in addition to the rollback limit.
pub const BRANCH_HEADERS_MAX: usize = 4_096;
/// Bytes of bodies that a download holds in memory or has requested.
pub const DOWNLOAD_BYTES_MAX: usize = 32 << 20;
/// Open questions for bodies.
pub const DOWNLOADS_MAX: usize = 6;
/// Bytes of side blocks that are kept on disk when neither a reorg nor a download needs them.
pub const SIDE_BYTES_MAX: usize = 64 << 20;
/// Side blocks that are kept on disk when neither a reorg nor a download needs them.
pub const SIDE_BLOCKS_MAX: usize = 256;
/// Bytes of bodies that one round applies or undoes. The next round continues.
pub const ROUND_BYTES: usize = 16 << 20;
/// Transactions that wait for the check of their signatures. When this number is reached, they are checked at once.
pub const UNCHECKED_MAX: usize = 4_096;
/// Size in bytes at which a gossiped batch of transactions is sent.
pub const BATCH_BYTES: usize = 32 << 10;
/// Transactions that wait to be gossiped again after a reorg.
pub const REGOSSIP_MAX: usize = 200_000;
/// Transactions gossiped again in one linger time.
pub const REGOSSIP_STEP: usize = 512;
/// Ids of peers' pools that are unknown here and wait to be requested.
pub const MISSING_IDS_MAX: usize = 2 * crate::message::IDS_MAX;
/// Maximum number of child blocks that are fetched from the pool of one peer while the tip stays.
pub const CHILD_BLOCKS_FETCHED_MAX: usize = 64;
/// Interval between comparisons of pools.
pub const COMPARE_INTERVAL: Duration = Duration::from_secs(10);
/// Age at which a locally accepted transaction that is in no block is gossiped again. A peer that refused it may accept it now.
pub const REPEAT_AGE: Seconds = Seconds::new(20);
/// Number of the oldest such transactions that each comparison of pools gossips again.
pub const REPEAT_STEP: usize = 1_000;
/// Cool-down of a peer after its branch failed.
pub const BACK_OFF: Duration = Duration::from_secs(5);
/// Maximum number of times that the cool-down doubles, once for each consecutive failure.
pub const BACK_OFF_DOUBLINGS_MAX: u32 = 3;
/// Peers asked for the headers of their branch at the same time.
pub const HEADER_REQUESTS_MAX: usize = 8;
/// Number of these questions that are reserved for peers that have delivered blocks.
pub const HEADER_REQUESTS_OF_PROVEN: usize = 2;
/// Peers asked before one branch is followed, in several waves of questions.
pub const HEADER_PEERS_MAX: usize = 32;
/// Length or fork depth above which a branch is followed only after all peers that claim a better one were asked.
pub const LONG_BRANCH_BLOCKS: usize = 10;
/// Time after which a short delivered branch wins without the open answers.
pub const SHORT_BRANCH_WAIT: Duration = Duration::from_secs(1);
/// Time after its first peer during which a node follows no long branch, so that it can connect to more peers.
pub const PEER_GATHERING: Duration = Duration::from_secs(3);
/// Consecutive timeouts after which a peer is disconnected, counted at most once in each [`PATIENCE`].
pub const TIMEOUTS_MAX: u32 = 6;
/// Pause before the next request for bodies to a busy peer. The peer is not penalised.
pub const BUSY_PAUSE: Duration = Duration::from_millis(500);
/// Rows that are kept with the reasons why transactions left the pool.
pub const REMOVAL_ROWS_MAX: u64 = 1_000_000;
/// Refused transactions and rates that a peer may send between two comparisons of pools before it is penalised.
pub const REFUSED_TRANSACTIONS_MAX: u32 = 2_000;
/// Blocks that an operator or the settings trust.
pub const TRUSTED_MAX: usize = 1_024;
/// Divisor of the block time. The quotient is the maximum time that forging on our own tip waits for a better branch without
/// receiving a body, once for each tip of ours.
pub const FORGING_PAUSE_PARTS: u32 = 4;
/// Keys that forge on one node.
pub const FORGERS_MAX: usize = 64;
/// Bundlers on one node.
pub const BUNDLERS_MAX: usize = 64;

/// Penalty points. 100 points are a ban.
pub mod points {
    /// A message that does not decode.
    pub const GARBAGE: u32 = 50;
    /// An invalid signature.
    pub const BAD_SIGNATURE: u32 = 50;
    /// A block or header that breaks a rule.
    pub const BAD_BLOCK: u32 = 50;
    /// An answer that does not match the question.
    pub const WRONG_ANSWER: u32 = 25;
    /// A claim of more difficulty than the headers have.
    pub const EMPTY_CLAIM: u32 = 10;
    /// A request without an answer in time, or an announced block whose time is ahead of the clock by more than the allowed drift.
    pub const TIMEOUT: u32 = 2;
    /// Many refused transactions or rates.
    pub const REFUSED_TRANSACTIONS: u32 = 5;
}
