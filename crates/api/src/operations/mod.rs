//! The operations of a node's API, one row each.
//!
//! A row holds the method, the path, the permission, the types and the refusals of an operation. The router, the permission
//! check, the audit log, the description ([`crate::openapi`]), the client and the command `tally api` all follow from it.

mod attachments;
mod consents;
mod flow_history;
mod flows;
mod hospital;
mod kind;
mod ledger;
pub(crate) mod parts;
mod reads;
mod recovery;
mod row;
mod users;

pub use attachments::*;
pub use consents::*;
pub use flow_history::*;
pub use flows::*;
pub use hospital::*;
pub use kind::Kind;
pub use ledger::*;
pub use reads::*;
pub use recovery::*;
pub use row::{Answer, COMMON, Call, Content, Method, Operation, Parameter, Permission, encode};
pub use users::*;

/// Returns every operation, in the order of the description.
pub fn operations() -> impl Iterator<Item = &'static Operation> {
    [
        flows::OPERATIONS,
        flow_history::OPERATIONS,
        hospital::OPERATIONS,
        reads::OPERATIONS,
        ledger::OPERATIONS,
        attachments::OPERATIONS,
        consents::OPERATIONS,
        recovery::OPERATIONS,
        users::OPERATIONS,
    ]
    .into_iter()
    .flatten()
    .copied()
}
