//! Blocks, made of a body and a header that the forger signs.
//!
//! A body is a list of parent transactions in ascending order of their ids. Each child block is followed by the transactions that
//! it carries, also in ascending order of their ids. The header commits to the ids of the parent transactions, and a child block
//! commits to the ids of those it carries. Signatures of transactions are not committed to. A body with a bad signature therefore
//! discredits its sender and not the block.

mod body;
mod carried;
mod checked;
mod header;

pub use body::{Block, Entry, root_of};
pub use carried::{CarriedBlock, CarriedEntry, read_carried_body};
pub use checked::CheckedBlock;
pub use header::{HEADER_BYTES, Header, read_header};
