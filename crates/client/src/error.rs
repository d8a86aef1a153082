//! The errors of a call; every error has a stable code and a hint.

use api::{ErrorInfo, Outcome, Problem};
use thiserror::Error;

/// Why a call failed.
#[derive(Clone, Debug, Error)]
pub enum ClientError {
    /// The endpoint cannot be used as given.
    #[error("the endpoint is not usable: {0}")]
    BadEndpoint(String),
    /// The arguments cannot be written as JSON.
    #[error("the arguments cannot be written as JSON: {0}")]
    BadArguments(String),
    /// TCP, TLS or HTTP/2 could not be established.
    #[error("no connection to {address}: {reason}")]
    NotConnected {
        /// The address of the node.
        address: String,
        /// The reason, as reported.
        reason: String,
    },
    /// The node's certificate is not trusted, or not for this name.
    #[error("{address} is not trusted: {reason}")]
    NotTrusted {
        /// The address of the node.
        address: String,
        /// The reason, as reported.
        reason: String,
    },
    /// The connection broke after the request was sent.
    #[error("the connection to {address} was lost: {reason}")]
    ConnectionLost {
        /// The address of the node.
        address: String,
        /// The reason, as reported.
        reason: String,
    },
    /// The time limit has passed without an answer.
    #[error("no answer within {seconds} s")]
    Timeout {
        /// The time limit that has passed.
        seconds: u64,
    },
    /// An answer that the API does not describe.
    #[error("the node sent an unexpected answer: {0}")]
    BadAnswer(String),
    /// The hash of a downloaded file differs from the requested one.
    #[error("the downloaded file has the hash {found}, expected {expected}")]
    Mismatch {
        /// The hash that was asked for.
        expected: String,
        /// The hash of the received bytes.
        found: String,
    },
    /// The node refused, or the flow that was waited for has failed.
    #[error("{}", .0.detail)]
    Problem(Box<Problem>),
}

/// Codes after which a start may have taken effect.
const UNKNOWN_AFTER: [&ErrorInfo; 4] = [
    &api::codes::NODE_STOPPING,
    &api::codes::OUTCOME_UNKNOWN,
    &api::codes::STORE_FAILED,
    &api::codes::INTERNAL,
];

macro_rules! errors {
    ($($name:ident = $code:literal $cause:literal $action:literal;)*) => {
        $(const $name: ErrorInfo = ErrorInfo { code: $code, status: 0, cause: $cause, action: $action };)*
        /// Every code of this crate; their status is 0, since no server sent them.
        pub const ERRORS: &[ErrorInfo] = &[$($name),*];
    };
}

errors! {
    BAD_ENDPOINT = "client.bad_endpoint"
        "The root certificate, the server name or the token given to the client does not parse."
        "Check the PEM file, the name and the token.";
    BAD_ARGUMENTS = "client.bad_arguments"
        "The arguments of a flow cannot be written as JSON."
        "Check the types of the arguments: keys of maps must be texts, and numbers must be finite.";
    NOT_CONNECTED = "client.not_connected"
        "The node cannot be reached."
        "Check that the node runs, that the address is that of its API and not the port for other nodes, and that the network lets connections through.";
    NOT_TRUSTED = "client.not_trusted"
        "The node's certificate was not issued under the given root certificate, or not for the given server name."
        "Check that the root certificate and the server name belong to the node's network. If the certificate has expired, renew it on the node and restart it, or correct this machine's clock.";
    CONNECTION_LOST = "client.connection_lost"
        "The connection broke before the answer came. The request may have taken effect or not."
        "Repeat the request. Repeat a start of a flow only if it has a client id, and with the same one.";
    TIMEOUT = "client.timeout"
        "The node did not answer in time. The request may have taken effect or not."
        "Repeat the request. Repeat a start of a flow only if it has a client id, and with the same one.";
    BAD_ANSWER = "client.bad_answer"
        "The node sent an answer that the API does not describe."
        "Check that the address is that of a node's API, and that node and client have the same release.";
    MISMATCH = "client.mismatch"
        "The hash of a downloaded file differs from the requested one."
        "Discard the downloaded bytes and download the file again. If the error comes back, have the node's operator check its disk.";
}

impl ClientError {
    /// Converts the error of [`api::StartFlow::new`] and similar constructors.
    pub fn arguments(error: serde_json::Error) -> Self {
        ClientError::BadArguments(error.to_string())
    }

    /// Returns the stable code. If the node refused, it is the node's code.
    pub fn code(&self) -> &str {
        match self {
            ClientError::Problem(problem) => &problem.code,
            other => other.info().code,
        }
    }

    /// Returns the recommended action.
    pub fn hint(&self) -> &str {
        match self {
            ClientError::Problem(problem) => &problem.hint,
            other => other.info().action,
        }
    }

    /// Returns the delay before a retry, if the node gave one.
    pub fn retry_after_ms(&self) -> Option<u64> {
        match self {
            ClientError::Problem(problem) => problem.retry_after_ms,
            _ => None,
        }
    }

    /// Returns the id of the flow whose failure this is.
    pub fn failed_flow(&self) -> Option<&str> {
        match self {
            ClientError::Problem(problem)
                if !problem.flow_status.is_some_and(|s| s.is_success()) =>
            {
                problem.flow_id.as_deref()
            }
            _ => None,
        }
    }

    /// Returns the id of the flow that the error is about: one that has failed, or one that has succeeded with a result that cannot
    /// be shown. Without one, [`ClientError::is_outcome_unknown`] says whether a flow may have been started.
    pub fn flow_id(&self) -> Option<&str> {
        match self {
            ClientError::Problem(problem) => problem.flow_id.as_deref(),
            _ => None,
        }
    }

    /// Returns the state of the flow that the error is about; itself if it is about none.
    pub fn into_outcome(self) -> Result<Outcome, Self> {
        match self {
            ClientError::Problem(problem) => match problem.into_outcome() {
                Ok(outcome) => Ok(outcome),
                Err(problem) => Err(ClientError::Problem(problem)),
            },
            other => Err(other),
        }
    }

    /// Returns whether the request may have taken effect despite the error.
    pub fn is_outcome_unknown(&self) -> bool {
        matches!(
            self,
            ClientError::ConnectionLost { .. }
                | ClientError::Timeout { .. }
                | ClientError::BadAnswer(_)
        ) || UNKNOWN_AFTER.iter().any(|info| info.code == self.code())
    }

    fn info(&self) -> &'static ErrorInfo {
        match self {
            ClientError::BadEndpoint(_) => &BAD_ENDPOINT,
            ClientError::BadArguments(_) => &BAD_ARGUMENTS,
            ClientError::NotConnected { .. } => &NOT_CONNECTED,
            ClientError::NotTrusted { .. } => &NOT_TRUSTED,
            ClientError::ConnectionLost { .. } => &CONNECTION_LOST,
            ClientError::Timeout { .. } => &TIMEOUT,
            ClientError::Mismatch { .. } => &MISMATCH,
            ClientError::BadAnswer(_) | ClientError::Problem(_) => &BAD_ANSWER,
        }
    }
}

/// Returns the text of the innermost cause, which names the actual fault.
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
