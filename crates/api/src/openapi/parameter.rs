//! Parameters of an operation in the description.

use serde_json::{Value, json};

use crate::operations::{Kind, Parameter};

/// Returns the description of a parameter at its place: path, query or header.
pub(super) fn parameter(parameter: &Parameter, place: &str) -> Value {
    let schema = match parameter.kind {
        Kind::Number | Kind::Header => {
            json!({ "type": "integer", "format": "uint64", "minimum": 0 })
        }
        Kind::Count => json!({ "type": "integer", "format": "uint32", "minimum": 0 }),
        Kind::Hex(digits) => {
            json!({ "type": "string", "pattern": format!("^[0-9a-f]{{{digits}}}$") })
        }
        Kind::Text(most) => json!({ "type": "string", "minLength": 1, "maxLength": most }),
        Kind::Form(form) | Kind::HeaderText(form) => json!({ "type": "string", "pattern": form }),
        Kind::Words(words) => json!({ "type": "string", "enum": words }),
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::WordsOr(words, default) => {
            json!({ "type": "string", "enum": words, "default": default })
        }
    };
    json!({
        "name": parameter.name,
        "in": place,
        "required": place == "path",
        "description": parameter.help,
        "schema": schema,
    })
}
