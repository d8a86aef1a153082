//! Building blocks of the tables of operations.

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::model::{Answer, Content, Kind, Operation, Parameter};
use crate::Wait;

const JSON: &str = "application/json";

pub(crate) fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

pub(crate) const fn json<T: JsonSchema>(example: &'static str) -> Option<Content> {
    Some(Content {
        media: JSON,
        schema: of::<T>,
        example,
    })
}

pub(crate) const fn text(media: &'static str, example: &'static str) -> Option<Content> {
    Some(Content {
        media,
        schema: of::<String>,
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
    method: "get",
    path: "",
    id: "",
    tag: "",
    summary: "",
    token: true,
    segments: &[],
    query: &[],
    body: None,
    answers: &[],
    codes: &[],
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
pub(crate) const WAIT: Parameter = parameter("wait", Kind::Of(of::<Wait>), "What to wait for.");
pub(crate) const LAST_EVENT_ID: Parameter = parameter(
    "Last-Event-ID",
    Kind::Header,
    "The id of the last event read: the events go on after it.",
);
