//! What an operation of the API is, for its description.

use schemars::{Schema, SchemaGenerator};

use crate::codes::{self, ErrorInfo};

/// A method at a path.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// In lower case.
    pub method: &'static str,
    /// One of [`crate::paths`].
    pub path: &'static str,
    /// Unique; generated clients name their functions after it.
    pub id: &'static str,
    /// What it belongs to.
    pub tag: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Whether it needs a token.
    pub token: bool,
    /// Parameters in the path.
    pub segments: &'static [Parameter],
    /// Parameters of the query, and headers.
    pub query: &'static [Parameter],
    /// The request's body.
    pub body: Option<Content>,
    /// Answers that are no problem.
    pub answers: &'static [Answer],
    /// Codes that it may refuse with, besides [`COMMON`].
    pub codes: &'static [&'static ErrorInfo],
    /// Whether flows, contracts and other parts of the node may refuse it with codes of their own.
    pub others: bool,
}

/// A parameter.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// What it means.
    pub help: &'static str,
}

/// What a parameter may be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A number that is not negative.
    Number,
    /// A number that fits 32 bits.
    Count,
    /// So many hexadecimal digits.
    Hex(usize),
    /// Text of at most so many bytes.
    Text(usize),
    /// Text of a form: a regular expression.
    Form(&'static str),
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of a type's values.
    Of(fn(&mut SchemaGenerator) -> Schema),
    /// A header with a number.
    Header,
    /// A header with text of a form: a regular expression.
    HeaderText(&'static str),
}

impl Kind {
    /// Where such a parameter stands, unless in the path.
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
    /// Its schema; for a stream that of a line, for events that of their data.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// An example; JSON, or text when the media type is not JSON.
    pub example: &'static str,
}

/// An answer that is no problem.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// What it says.
    pub help: &'static str,
    /// Its body.
    pub content: Option<Content>,
}

/// Codes that every operation with a token may refuse with.
pub const COMMON: &[&ErrorInfo] = &[
    &codes::UNAUTHORISED,
    &codes::FORBIDDEN,
    &codes::INTERNAL,
    &codes::NODE_BUSY,
    &codes::NODE_STOPPING,
    &codes::STORE_FAILED,
];
