//! The node's folder as its store remembers it: the name of the store, the members of the network, the audit log, and states of
//! contracts that the program lacks. Each start compares them with the folder, so that a loss is noticed.
//!
//! A member whose file is lost would be a stranger: its states would have no owner, and its deliveries would be refused. So the
//! record cannot be made without it, and a kernel is opened with the record. The other losses change nothing that the node signs. They are reported, and the node starts.

mod audit_mark;
mod record;

pub use audit_mark::{AUDIT_NAME_BYTES, AuditMark};
pub use record::{FolderContents, FolderRecord, FolderReport, forget_member, members};
