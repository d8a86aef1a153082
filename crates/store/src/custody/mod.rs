//! Custody of a store: a record of the files that must be there when the store is opened, kept outside the folders that it describes.
//!
//! ```text
//! NODE/ledger.anchor            beside the identity key: which store belongs to the identity, or that none was made yet
//! NODE/data/ledger.inventory    tables with their lists and files, log slots with their lengths, the store's id; authenticated
//! NODE/data/ledger.mark         the last acknowledged record, written after each commit, never synced
//! NODE/data/ledger/             the store: log/ and tables/
//! ```
//! A store whose options name no [`Custody`] keeps the inventory and the mark in its own directory, and has no anchor.
//!
//! # Correctness
//! - The inventory and the mark are lower bounds: both are written after the change that they describe is durable. After a crash
//!   the store may be ahead of them, by a newer list of a table, a newer segment or a longer slot. It is never behind.
//! - A segment is retired only after the inventory names the lists of files that replaced it.
//! - No record is acknowledged before the inventory knows its slot at its present length.
//! - While the inventory says "begun", no row was ever acknowledged under it, or the store was made before there were inventories.

mod admission;
mod anchor;
mod authentication;
mod check;
mod keeper;
mod key;
mod listing;
mod mark;
mod options;
mod store_id;

pub(crate) use admission::{Admitted, admit, readopt, vouched_tables, would_admit};
pub(crate) use keeper::Keeper;
pub use key::CustodyKey;
pub(crate) use listing::{SlotListing, TableListing};
pub use options::Custody;
pub use store_id::StoreId;
