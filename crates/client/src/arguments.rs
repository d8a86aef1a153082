//! The arguments of an operation: path segments, query, body, and the time to wait.

use std::fmt::{Display, Write};

use api::operations::{Operation, encode};
use serde::Serialize;

use crate::error::ClientError;

/// The arguments of an operation.
#[derive(Debug, Default)]
pub struct Arguments {
    segments: Vec<String>,
    query: String,
    pub(crate) body: Vec<u8>,
    pub(crate) wait_ms: Option<u64>,
}

impl Arguments {
    /// Returns no arguments.
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the values of the path's `{name}`s, in their order.
    pub fn at(segments: &[&str]) -> Self {
        let segments = segments.iter().map(|&segment| segment.to_owned()).collect();
        Self {
            segments,
            ..Self::default()
        }
    }

    /// Adds a parameter of the query, if it has a value.
    #[must_use]
    pub fn with(mut self, name: &str, value: Option<impl Display>) -> Self {
        if let Some(value) = value {
            let mark = if self.query.is_empty() { '?' } else { '&' };
            let value = encode(&value.to_string());
            // Writing to a string cannot fail.
            let _ = write!(self.query, "{mark}{name}={value}");
        }
        self
    }

    /// Adds the parameters of a page.
    #[must_use]
    pub fn page(self, after: Option<impl Display>, limit: u32) -> Self {
        self.with("limit", Some(limit)).with("after", after)
    }

    /// Sets the body to a value in JSON.
    ///
    /// # Errors
    /// The value cannot be written as JSON.
    pub fn json(mut self, body: &impl Serialize) -> Result<Self, ClientError> {
        self.body = serde_json::to_vec(body).map_err(ClientError::arguments)?;
        Ok(self)
    }

    /// Sets the body to these bytes.
    #[must_use]
    pub fn bytes(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    /// Sets the time in milliseconds for which the node may hold back its answer. The client waits that much longer.
    #[must_use]
    pub fn waiting(mut self, wait_ms: Option<u64>) -> Self {
        self.wait_ms = wait_ms;
        self
    }

    /// Returns the path and the query of a call.
    pub(crate) fn target(&self, operation: &Operation) -> String {
        let segments: Vec<&str> = self.segments.iter().map(String::as_str).collect();
        let mut target = operation.at(&segments);
        target.push_str(&self.query);
        target
    }
}

#[cfg(test)]
mod tests {
    use api::operations::{LEDGER, REMOVE_NOTE, USERS};

    use super::*;

    #[test]
    fn targets_have_encoded_segments_and_queries() {
        let table = [
            (
                Arguments::at(&["9a41", "n/1"]).target(&REMOVE_NOTE),
                "/v1/transactions/9a41/notes/n%2F1",
            ),
            (
                Arguments::none().page(Some(7), 2).target(&LEDGER),
                "/v1/ledger?limit=2&after=7",
            ),
            (
                Arguments::none().page(None::<u64>, 2).target(&LEDGER),
                "/v1/ledger?limit=2",
            ),
            (
                Arguments::none().with("after", Some("a&b")).target(&USERS),
                "/v1/users?after=a%26b",
            ),
        ];
        for (target, expected) in table {
            assert_eq!(target, expected);
        }
    }
}
