//! The journal: the inputs of a flow in order; a row holds the inputs of one round.
//!
//! A row is a sequence of CBOR items: the format's version, then entries. Data that the ledger holds is written by
//! reference. Decoding never trusts a row: even for arbitrary bytes, the worst outcome is a parked flow.

mod row;
mod view;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use row::{Entry, ORIGIN_SESSION, Outcome, decode_row, scope_of};
pub use row::{ROW_VERSION, describe_row};
pub use view::{JournalItem, journal_items};
pub(crate) use writer::RowWriter;
