//! The API's description as OpenAPI 3.1, built from a table of operations and the types' own schemas.
//!
//! ```text
//! types (JsonSchema) ─────┐
//! operations (flows, reads, users) ─┼─► document() ─► docs/reference/openapi.json, GET /v1/openapi.json
//! codes ──────────────────┘
//! ```

mod answers;
mod attachments;
mod build;
mod consents;
mod endpoints;
mod flows;
mod hospital;
mod ledger;
mod model;
pub(crate) mod parts;
mod reads;
mod recovery;
mod users;

pub use build::{Facts, FlowsOf, document};
pub(crate) use build::{Parts, assemble};
pub use endpoints::FlowFacts;
pub use model::{Answer, COMMON, Content, Kind, Operation, Parameter};

/// Returns every operation, in the order of the description.
pub fn operations() -> impl Iterator<Item = &'static Operation> {
    [
        flows::OPERATIONS,
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
}
