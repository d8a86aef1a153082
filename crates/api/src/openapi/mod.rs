//! The API's description as OpenAPI 3.1, built from the rows of [`crate::operations`] and the types' own schemas.
//!
//! ```text
//! types (JsonSchema) ─────┐
//! operations ─────────────┼─► document() ─► docs/reference/openapi.json, GET /v1/openapi.json
//! codes ──────────────────┘
//! ```

mod answers;
mod build;
mod endpoints;
mod parameter;

pub use build::{Facts, FlowsOf, document};
pub(crate) use build::{Parts, assemble};
pub use endpoints::FlowFacts;
