//! The row of an operation: everything that the router, the permission check, the description and the clients need to know.

use std::marker::PhantomData;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::kind::Kind;
use crate::codes::{self, ErrorInfo};

/// An HTTP method at a path.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The method.
    pub method: Method,
    /// The path. A `{name}` stands for one path segment.
    pub path: &'static str,
    /// The unique id; generated clients name their functions after it.
    pub id: &'static str,
    /// The tag that groups it.
    pub tag: &'static str,
    /// A summary of its effect.
    pub summary: &'static str,
    /// The permission that it requires of its caller.
    pub permission: Permission,
    /// Whether a call that needs no token may carry one, which has an effect.
    pub token_optional: bool,
    /// Whether each call gets a line in the audit log. A refused call always gets one. Starts of flows write their own lines.
    pub audited: bool,
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
    /// The schema of the answer's type for callers. The constructor of [`Call`] sets it.
    pub returns: fn(&mut SchemaGenerator) -> Schema,
    /// Whether flows, contracts and other parts of the node may refuse it with their own codes.
    pub others: bool,
}

impl Operation {
    /// Returns all codes of the API with which it can refuse: its own, the common ones, and those that follow from its body.
    pub fn refusals(&self) -> impl Iterator<Item = &'static ErrorInfo> {
        let common = COMMON.iter();
        let common = common.filter(|_| self.permission != Permission::Anyone);
        let takes_json = self
            .body
            .is_some_and(|body| body.media == "application/json");
        let by_body = takes_json.then_some(&codes::NOT_JSON);
        let all = self.codes.iter().chain(common).copied();
        all.chain(by_body)
    }

    /// Returns the path with its `{name}`s replaced by these segments, percent-encoded.
    ///
    /// # Panics
    /// The number of segments is not that of [`Operation::segments`].
    pub fn at(&self, segments: &[&str]) -> String {
        let (given, expected) = (segments.len(), self.segments.len());
        assert_eq!(given, expected, "path segments given for {}", self.id);
        let mut filled = String::with_capacity(self.path.len() + 64);
        let mut rest = self.path;
        for segment in segments {
            let (before, after) = rest
                .split_once('{')
                .expect("as many segments as placeholders");
            filled.push_str(before);
            encode_to(&mut filled, segment);
            (_, rest) = after
                .split_once('}')
                .expect("a closing brace for each placeholder");
        }
        filled.push_str(rest);
        filled
    }
}

/// Returns a path segment or a query value, percent-encoded.
pub fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    encode_to(&mut encoded, text);
    encoded
}

fn encode_to(target: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            target.push(char::from(byte));
        } else {
            target.push_str(&format!("%{byte:02X}"));
        }
    }
}

/// An operation whose answer is an `A` in JSON. `A` is `()` if the answer has no JSON body.
///
/// It dereferences to its row.
#[derive(Debug)]
pub struct Call<A> {
    /// The operation.
    pub row: Operation,
    answer: PhantomData<fn() -> A>,
}

impl<A: JsonSchema> Call<A> {
    /// Returns the call of an operation. A test compares `A` with the row's answers.
    pub(crate) const fn new(row: Operation) -> Self {
        let row = Operation {
            returns: schema_of::<A>,
            ..row
        };
        let answer = PhantomData;
        Self { row, answer }
    }
}

/// Returns the schema of a type.
pub(super) fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

impl<A> Deref for Call<A> {
    type Target = Operation;

    fn deref(&self) -> &Operation {
        &self.row
    }
}

/// The method of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// Reads.
    Get,
    /// Starts, adds or orders.
    Post,
    /// Changes.
    Patch,
    /// Removes.
    Delete,
}

impl Method {
    /// Returns the method as requests carry it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Returns the name of the method in an OpenAPI document.
    pub(crate) const fn member(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}

/// The permission that an operation requires of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Nothing, not even a token.
    Anyone,
    /// A valid token. On a chain node it is an operator's.
    Token,
    /// This permission without a restriction.
    Whole(&'static str),
    /// This permission for one subject at least. The handler checks the subject of the request.
    Some(&'static str),
    /// Queries of the vault without a restriction, or the balances of one token at least.
    Balances,
    /// This permission. Without `flow.read.all` it covers the caller's own flows only.
    Own(&'static str),
}

impl Permission {
    /// Returns the name of the permission, if one is needed.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::Anyone | Self::Token => None,
            Self::Balances => Some("vault.balances"),
            Self::Whole(name) | Self::Some(name) | Self::Own(name) => Some(name),
        }
    }
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

#[cfg(test)]
mod tests {
    use schemars::SchemaGenerator;

    use crate::chain;
    use crate::operations::{
        CANCEL_FLOW, FORGET_CLIENT_ID, GET_FLOW, NODE, WITHDRAW_UPGRADE, operations,
    };

    #[test]
    fn segments_are_filled_in_and_encoded() {
        for (path, expected) in [
            (GET_FLOW.at(&["00ff"]), "/v1/flows/00ff"),
            (CANCEL_FLOW.at(&["00ff"]), "/v1/flows/00ff/cancel"),
            (
                FORGET_CLIENT_ID.at(&["a/b ?é"]),
                "/v1/clients/a%2Fb%20%3F%C3%A9",
            ),
            (
                WITHDRAW_UPGRADE.at(&["1f", "2f"]),
                "/v1/consents/upgrades/1f/2f",
            ),
            (NODE.at(&[]), "/v1/node"),
        ] {
            assert_eq!(path, expected);
        }
    }

    #[test]
    fn paths_have_a_place_for_each_segment() {
        for operation in operations().chain(chain::operations::operations()) {
            let segments = vec!["x"; operation.segments.len()];
            let path = operation.at(&segments);
            assert!(!path.contains(['{', '}']), "{path}");
        }
    }

    #[test]
    #[should_panic(expected = "path segments given for")]
    fn paths_refuse_missing_segments() {
        WITHDRAW_UPGRADE.at(&["1f"]);
    }

    #[test]
    fn calls_return_the_type_of_their_first_json_answer() {
        let mut generator = SchemaGenerator::default();
        for operation in operations().chain(chain::operations::operations()) {
            let bodies = operation.answers.iter().filter_map(|answer| answer.content);
            let json = bodies.filter(|body| body.media == "application/json");
            let described = json.map(|body| (body.schema)(&mut generator)).next();
            let returned = (operation.returns)(&mut generator);
            let nothing = generator.subschema_for::<()>();
            let is_document = operation.id == "openapi";
            match described.filter(|_| !is_document) {
                Some(described) => assert_eq!(returned, described, "{}", operation.id),
                None => assert_eq!(returned, nothing, "{}", operation.id),
            }
        }
    }
}
