//! Building blocks of the tables of operations.

use schemars::JsonSchema;

use super::row::{Answer, Content, Kind, Method, Operation, Parameter, Permission, schema_of};
use crate::Wait;

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
    "What `next` of the page before said.",
);
pub(crate) const LIMIT: Parameter = parameter(
    "limit",
    Kind::Count,
    "How many entries at most, one at least; the node has a limit of its own.",
);
pub(crate) const TIMEOUT: Parameter = parameter(
    "timeout_ms",
    Kind::Number,
    "How long to wait at most, in milliseconds; the node has a limit of its own.",
);
pub(crate) const WAIT: Parameter =
    parameter("wait", Kind::Of(schema_of::<Wait>), "What to wait for.");
pub(crate) const LAST_EVENT_ID: Parameter = parameter(
    "Last-Event-ID",
    Kind::Header,
    "The id of the last event read: the events go on after it.",
);
