//! The bodies of answers: JSON of a type, or a problem.

use api::Problem;
use hyper::StatusCode;
use serde::de::DeserializeOwned;

use crate::error::ClientError;

/// Decodes the JSON of a successful answer.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ClientError> {
    serde_json::from_slice(bytes).map_err(|error| ClientError::BadAnswer(error.to_string()))
}

/// Converts an unsuccessful answer: a problem document, or the answer of another HTTP server at this address.
pub(crate) fn problem(status: StatusCode, bytes: &[u8]) -> ClientError {
    match serde_json::from_slice::<Problem>(bytes) {
        Ok(problem) => ClientError::Problem(Box::new(problem)),
        Err(_) => {
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
            ClientError::BadAnswer(format!("{status}: {text}"))
        }
    }
}
