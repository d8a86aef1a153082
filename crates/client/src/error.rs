//! The errors of a call; every error has a stable code and a hint.

use api::{ErrorInfo, FlowFailure, Problem};
use thiserror::Error;

/// Why a call failed.
#[derive(Clone, Debug, Error)]
pub enum ClientError {
    /// The endpoint cannot be used as given.
    #[error("the endpoint is not usable: {0}")]
    BadEndpoint(String),
    /// The arguments have no JSON form.
    #[error("the arguments have no JSON form: {0}")]
    BadArguments(String),
    /// TCP, TLS or HTTP/2 did not come up.
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
    /// No answer in time.
    #[error("no answer within {seconds} s")]
    Timeout {
        /// How long we waited.
        seconds: u64,
    },
    /// An answer that the API does not have.
    #[error("an answer that is not understood: {0}")]
    BadAnswer(String),
    /// A file that came down has another hash.
    #[error("the bytes that came have the hash {found}, not {expected}")]
    Mismatch {
        /// The hash that was asked for.
        expected: String,
        /// The hash of the received bytes.
        found: String,
    },
    /// The node refused.
    #[error("{}", .0.detail)]
    Problem(Box<Problem>),
    /// The node refused a start of a stream.
    #[error("{}", .0.message)]
    Refused(Box<FlowFailure>),
}

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
        "The arguments of a flow have no JSON form."
        "Check the arguments' types: maps need text keys, numbers must be finite.";
    NOT_CONNECTED = "client.not_connected"
        "The node cannot be reached."
        "Check that the node runs, the address, and the network in between.";
    NOT_TRUSTED = "client.not_trusted"
        "The node's certificate does not chain to the given root, or is not for the given name."
        "Check that the root certificate and the server name belong to the node's network.";
    CONNECTION_LOST = "client.connection_lost"
        "The connection broke before the answer came; whether the request took effect is not known."
        "Repeat it; a start only with the same client id, which makes it exactly once.";
    TIMEOUT = "client.timeout"
        "The node did not answer in time; whether the request took effect is not known."
        "Repeat it; a start only with the same client id, which makes it exactly once.";
    BAD_ANSWER = "client.bad_answer"
        "The node answered something that the API does not have."
        "Check that the address is a node's API and that node and client are of the same release.";
    MISMATCH = "client.mismatch"
        "A file that came from the node has another hash than the one that was asked for."
        "Throw away what came and ask again; if it stays so, have the node's operator check its disk.";
}

impl ClientError {
    /// For [`api::StartFlow::new`] and its like.
    pub fn arguments(error: serde_json::Error) -> Self {
        ClientError::BadArguments(error.to_string())
    }

    /// The stable code; the node's own if the node refused.
    pub fn code(&self) -> &str {
        match self {
            ClientError::Problem(problem) => &problem.code,
            ClientError::Refused(failure) => &failure.code,
            other => other.info().code,
        }
    }

    /// What to do.
    pub fn hint(&self) -> &str {
        match self {
            ClientError::Problem(problem) => &problem.hint,
            ClientError::Refused(failure) => &failure.hint,
            other => other.info().action,
        }
    }

    /// When to try again, if the node said so.
    pub fn retry_after_ms(&self) -> Option<u64> {
        match self {
            ClientError::Problem(problem) => problem.retry_after_ms,
            ClientError::Refused(failure) => failure.retry_after_ms,
            _ => None,
        }
    }

    /// Returns whether the request may have taken effect despite the error.
    pub fn is_outcome_unknown(&self) -> bool {
        matches!(
            self,
            ClientError::ConnectionLost { .. }
                | ClientError::Timeout { .. }
                | ClientError::BadAnswer(_)
        ) || self.code() == api::codes::NODE_STOPPING.code
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
            ClientError::BadAnswer(_) | ClientError::Problem(_) | ClientError::Refused(_) => {
                &BAD_ANSWER
            }
        }
    }
}

/// The innermost cause says most.
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
