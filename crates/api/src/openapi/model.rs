//! The model of an operation, for the API's description.

use schemars::{Schema, SchemaGenerator};

use crate::codes::{self, ErrorInfo};

/// A method at a path.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The method, in lower case.
    pub method: &'static str,
    /// The path, one of [`crate::paths`].
    pub path: &'static str,
    /// The unique id; generated clients name their functions after it.
    pub id: &'static str,
    /// The tag that groups it.
    pub tag: &'static str,
    /// A summary of its effect.
    pub summary: &'static str,
    /// Whether it needs a token.
    pub token: bool,
    /// Parameters in the path.
    pub segments: &'static [Parameter],
    /// Parameters of the query, and headers.
    pub query: &'static [Parameter],
    /// The request's body.
    pub body: Option<Content>,
    /// Answers that are not problems.
    pub answers: &'static [Answer],
    /// Its refusal codes, in addition to [`COMMON`].
    pub codes: &'static [&'static ErrorInfo],
    /// Whether flows, contracts and other parts of the node may refuse it with their own codes.
    pub others: bool,
}

/// A parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: Kind,
    /// A description.
    pub help: &'static str,
}

/// The kind of a parameter's values.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A number that is not negative.
    Number,
    /// A number that fits 32 bits.
    Count,
    /// This many hexadecimal digits.
    Hex(usize),
    /// Text of at most this many bytes.
    Text(usize),
    /// Text that matches a regular expression.
    Form(&'static str),
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of the values of a type.
    Of(fn(&mut SchemaGenerator) -> Schema),
    /// A header with a number.
    Header,
    /// A header with text that matches a regular expression.
    HeaderText(&'static str),
}

impl Kind {
    /// Returns the place of a parameter outside the path.
    pub(super) fn place(self) -> &'static str {
        match self {
            Kind::Header | Kind::HeaderText(_) => "header",
            _ => "query",
        }
    }
}

/// A body.
#[derive(Clone, Copy, Debug)]
pub struct Content {
    /// Its media type.
    pub media: &'static str,
    /// Its schema; for a stream the schema of a line, for events the schema of their data.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// An example; JSON, or text if the media type is not JSON.
    pub example: &'static str,
}

/// An answer that is not a problem.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// A description.
    pub help: &'static str,
    /// Its body.
    pub content: Option<Content>,
}

/// Refusal codes of every operation with a token.
pub const COMMON: &[&ErrorInfo] = &[
    &codes::UNAUTHORISED,
    &codes::FORBIDDEN,
    &codes::INTERNAL,
    &codes::NODE_BUSY,
    &codes::NODE_STOPPING,
    &codes::STORE_FAILED,
];
