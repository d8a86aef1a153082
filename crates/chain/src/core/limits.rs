//! What a core holds at most, and how long it waits. All times are milliseconds.

/// Connected peers that are kept account of; others are served nothing.
pub const PEERS_MAX: usize = 256;
/// Questions under way at once, to all peers.
pub const QUESTIONS_MAX: usize = 512;
/// Questions under way at once to one peer.
pub const QUESTIONS_PER_PEER_MAX: usize = 8;
/// How long an answer of little work is waited for.
pub const PATIENCE_MS: u64 = 5_000;
/// How long an answer with bodies is waited for.
pub const PATIENCE_BODIES_MS: u64 = 15_000;
/// After its patience a question is given up even if the transport says nothing.
pub const GRACE_MS: u64 = 1_000;
/// Bytes that an answer stops growing at; a single body may be longer.
pub const ANSWER_BYTES: usize = 1 << 20;
/// Bytes of answers that a peer gets each second in the long run.
pub const SERVED_BYTES_PER_SECOND: u64 = 32 << 20;
/// Bytes of answers that a peer may have saved up.
pub const SERVED_BYTES_BURST: u64 = 64 << 20;
/// Bytes of answers that all peers together get each second in the long run.
pub const SERVED_TOTAL_PER_SECOND: u64 = 64 << 20;
/// Bytes of answers that all peers together may have saved up; the lower half is for peers that ask little.
pub const SERVED_TOTAL_BURST: u64 = 256 << 20;
/// What even the shortest answer counts, bytes.
pub const SERVED_BYTES_LEAST: u64 = 4 << 10;
/// What an id that is looked for in the store counts at least, found or not, bytes.
pub const SERVED_BYTES_PER_LOOK: usize = 2 << 10;
/// A body that is decoded and hashed for an answer counts so many times its bytes.
pub const SERVED_DECODED_FACTOR: usize = 4;
/// Work, counted as bytes, that an answer stops growing at.
pub const SERVED_WORK_MAX: usize = 16 << 20;
/// Rows that are looked at after each block for what is no longer asked for.
pub const PRUNE_ROWS: usize = 256;
/// The same in each round while an operator's order to let bodies go is carried out.
pub const PRUNE_ROUND_ROWS: usize = 8_192;
/// Announced blocks that are being put together.
pub const ASSEMBLIES_MAX: usize = 8;
/// Peers that a block's missing parts are asked of, one after the other.
pub const ASSEMBLY_ATTEMPTS_MAX: u32 = 4;
/// Of so many missing transactions at most each is asked for by its id; of more, the whole body.
pub const MISSING_MAX: usize = 4_000;
/// Blocks that are held because they are ahead of this node's clock, or their predecessor is being put together.
pub const HELD_MAX: usize = 32;
/// Held announcements of one peer whose headers have not been checked.
pub const HELD_PER_PEER_MAX: usize = 4;
/// Checked headers that are remembered as the first of their forger on their parent.
pub const FIRSTS_MAX: usize = 64;
/// Evidence of equivocation that is kept, two headers each.
pub const EQUIVOCATIONS_MAX: usize = 1_024;
/// Evidence of equivocation that is kept against one forger.
pub const EQUIVOCATIONS_PER_FORGER_MAX: usize = 16;
/// Tips that are remembered as no better than ours because of their forger's second block.
pub const TIED_MAX: usize = 256;
/// Own blocks that are remembered, so that no key signs a second one on their parents.
pub const FORGED_MAX: usize = 8_192;
/// Hashes of bad blocks that are remembered.
pub const BAD_MAX: usize = 4_096;
/// Headers of a branch that are held while it is judged, beyond those that the rollback limit already makes possible.
pub const BRANCH_HEADERS_MAX: usize = 4_096;
/// Bytes of bodies that a download holds in memory or has asked for.
pub const DOWNLOAD_BYTES_MAX: usize = 32 << 20;
/// Questions for bodies under way at once.
pub const DOWNLOADS_MAX: usize = 6;
/// Bytes of blocks beside the chain that are kept on disk when no change of branch needs them.
pub const SIDE_BYTES_MAX: usize = 64 << 20;
/// Blocks beside the chain that are kept on disk when no change of branch needs them.
pub const SIDE_BLOCKS_MAX: usize = 256;
/// Bytes of bodies that one round applies or takes back before it ends; then the next one goes on.
pub const ROUND_BYTES: usize = 16 << 20;
/// Transactions that wait for the check of their signatures; more are checked at once.
pub const UNCHECKED_MAX: usize = 4_096;
/// Bytes that a gossiped batch of transactions is sent at.
pub const BATCH_BYTES: usize = 32 << 10;
/// Ids of transactions that wait to be gossiped anew after a change of branch.
pub const ANEW_MAX: usize = 200_000;
/// Transactions gossiped anew in one linger time.
pub const ANEW_STEP: usize = 512;
/// Ids of a peer's pool that are not here and wait to be asked for.
pub const WANTED_MAX: usize = 2 * crate::message::IDS_MAX;
/// Pools are compared with one peer after the other at this distance.
pub const COMPARE_MS: u64 = 10_000;
/// What was accepted here and is in no block is gossiped again when it is so old, seconds: who refused it may take it now.
pub const REPEAT_SECONDS: u32 = 20;
/// The oldest of those, so many each time that pools are compared.
pub const REPEAT_STEP: usize = 1_000;
/// A peer whose branch led nowhere is not followed for so long.
pub const COOL_DOWN_MS: u64 = 5_000;
/// Each failure in a row doubles that time, so many times at most.
pub const COOL_DOUBLINGS_MAX: u32 = 3;
/// Peers asked for the headers of their branch at once.
pub const CANDIDATES_MAX: usize = 8;
/// Peers asked before one branch is followed, one wave of questions after the other.
pub const CONTESTANTS_MAX: usize = 32;
/// A branch that is longer, or forks off deeper, is followed only after all who claim a better one were asked.
pub const CONFIRM_BLOCKS: usize = 10;
/// A short branch that was delivered wins after so long without the answers that are still awaited.
pub const DECIDE_MS: u64 = 1_000;
/// A node follows no long branch before it has had so long since its first peer to meet more.
pub const GATHER_MS: u64 = 3_000;
/// Silences in a row after which a peer loses its connection, counted once each [`PATIENCE_MS`].
pub const SILENCES_MAX: u32 = 6;
/// A peer that has no room for more answers is asked for no bodies for so long: it is no fault of its.
pub const BUSY_MS: u64 = 500;
/// Rows of reasons why transactions left that are kept.
pub const LEFT_ROWS_MAX: u64 = 1_000_000;
/// Refused transactions that a peer may bring before it is held against it.
pub const USELESS_MAX: u32 = 2_000;
/// Blocks that an operator or the settings pin.
pub const TRUSTED_MAX: usize = 1_024;
/// Forging on our own end waits for a better branch so long as nothing of it comes: this part of the block time, once for each tip of ours.
pub const HOLD_PARTS: u64 = 4;
/// Keys that forge on one node.
pub const FORGERS_MAX: usize = 64;
/// Bundlers on one node.
pub const BUNDLERS_MAX: usize = 64;

/// What is held against a peer. 100 points are a ban.
pub mod points {
    /// A message that does not decode.
    pub const GARBAGE: u32 = 50;
    /// A signature that does not hold.
    pub const BAD_SIGNATURE: u32 = 50;
    /// A block or header that breaks a rule.
    pub const BAD_BLOCK: u32 = 50;
    /// An answer that is not one to the question.
    pub const WRONG_ANSWER: u32 = 25;
    /// More difficulty claimed than its headers have.
    pub const EMPTY_CLAIM: u32 = 10;
    /// No answer.
    pub const SILENCE: u32 = 2;
    /// Many transactions that are refused.
    pub const USELESS: u32 = 5;
}
