//! Building blocks of the tables of operations.

use schemars::JsonSchema;

use super::kind::Kind;
use super::row::{Answer, Content, Method, Operation, Parameter, Permission, schema_of};

const JSON: &str = "application/json";

pub(crate) const fn json<T: JsonSchema>(example: &'static str) -> Option<Content> {
    Some(Content {
        media: JSON,
        schema: schema_of::<T>,
        example,
    })
}

pub(crate) const fn text(media: &'static str, example: &'static str) -> Option<Content> {
    Some(Content {
        media,
        schema: schema_of::<String>,
        example,
    })
}

pub(crate) const fn answer(status: u16, help: &'static str, content: Option<Content>) -> Answer {
    Answer {
        status,
        help,
        content,
    }
}

pub(crate) const fn parameter(name: &'static str, kind: Kind, help: &'static str) -> Parameter {
    Parameter { name, kind, help }
}

/// The defaults of an operation.
pub(crate) const READ: Operation = Operation {
    method: Method::Get,
    path: "",
    id: "",
    tag: "",
    summary: "",
    permission: Permission::Token,
    token_optional: false,
    audited: false,
    segments: &[],
    query: &[],
    body: None,
    answers: &[],
    codes: &[],
    returns: schema_of::<()>,
    others: false,
};

pub(crate) const AFTER: Parameter = parameter(
    "after",
    Kind::Number,
    "The value of `next` on the previous page.",
);
pub(crate) const LIMIT: Parameter = parameter(
    "limit",
    Kind::Positive,
    "Maximum number of entries, at least 1. The node caps it.",
);
pub(crate) const TIMEOUT: Parameter = parameter(
    "timeout_ms",
    Kind::Number,
    "Maximum wait in milliseconds. The node caps it.",
);
/// The event that a start waits for.
pub(crate) const WAIT: Parameter = parameter(
    "wait",
    Kind::WordsOr(&["none", "finalised", "delivered"], "finalised"),
    "The event to wait for; `finalised` if left out.",
);
/// The event that a question for a flow waits for.
pub(crate) const WAIT_IF_TOLD: Parameter = parameter(
    "wait",
    Kind::WordsOr(&["none", "finalised", "delivered"], "none"),
    "The event to wait for; `none` if left out.",
);
pub(crate) const LAST_EVENT_ID: Parameter = parameter(
    "Last-Event-ID",
    Kind::Header,
    "The id of the last event that the client has read. The stream continues after it.",
);
