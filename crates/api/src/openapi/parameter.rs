//! Parameters of an operation in the description.

use serde_json::{Value, json};

use crate::operations::Parameter;

/// Returns the description of a parameter at its place: path, query or header.
pub(super) fn parameter(parameter: &Parameter, place: &str) -> Value {
    json!({
        "name": parameter.name,
        "in": place,
        "required": place == "path",
        "description": parameter.help,
        "schema": parameter.kind.schema(),
    })
}
