//! Errors of agents.

use primitives::{Coded, ErrorInfo};
use thiserror::Error;

/// Codes of agents.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: BUSY,
        cause: "An agent works for another coordinator already.",
        action: "Wait until that run is over, or start another agent on another port.",
    },
    ErrorInfo {
        code: DENIED,
        cause: "Coordinator and agent have different tokens, or an attacker intercepts their connection.",
        action: "Give both the same token file; compare the fingerprint that the agent printed.",
    },
    ErrorInfo {
        code: LOST,
        cause: "An agent died or fell silent during a stretch.",
        action: "Its units until then count; look at that machine, and run again for clean figures.",
    },
    ErrorInfo {
        code: NO_HOST,
        cause: "An agent that is to run nodes was started without --host.",
        action: "Start it with --host; it then runs its own tally with the configuration that the coordinator sends.",
    },
    ErrorInfo {
        code: SHORT_TOKEN,
        cause: "The agents' token is so short that it could be guessed.",
        action: "Put at least 16 random characters into the token file.",
    },
    ErrorInfo {
        code: UNREACHABLE,
        cause: "An agent cannot be reached, or the server at its address is no agent.",
        action: "Check the address, that `tally lab agent` runs there, and that nothing between blocks the port.",
    },
    ErrorInfo {
        code: VERSION,
        cause: "An agent is of another version than the coordinator.",
        action: "Use the same tally on all machines: agents run the workloads' own code.",
    },
];

pub(super) const BUSY: &str = "lab.agent_busy";
pub(super) const DENIED: &str = "lab.agent_denied";
pub(super) const LOST: &str = "lab.agent_lost";
pub(super) const UNREACHABLE: &str = "lab.agent_unreachable";
pub(super) const VERSION: &str = "lab.agent_version";
pub(super) const NO_HOST: &str = "lab.agent_no_host";
pub(super) const SHORT_TOKEN: &str = "lab.agent_token";

/// Why an agent does not work for a coordinator.
#[derive(Debug, Error)]
pub enum AgentError {
    /// The agent cannot be reached.
    #[error("agent {address}: {reason}")]
    Unreachable {
        /// The agent's address.
        address: String,
        /// The reason.
        reason: String,
    },
    /// The agent refuses to serve this coordinator.
    #[error("agent {address} refuses: {message}")]
    Refused {
        /// The agent's address.
        address: String,
        /// The agent's error code.
        code: String,
        /// The agent's message.
        message: String,
    },
    /// The agent does not know the token.
    #[error("agent {0} does not know the token")]
    Denied(String),
    /// The token is too short.
    #[error("the token has fewer than {chars_min} characters")]
    ShortToken {
        /// Characters that it needs at least.
        chars_min: usize,
    },
    /// It cannot listen.
    #[error("cannot listen: {0}")]
    Listen(#[from] std::io::Error),
    /// No certificate can be made.
    #[error("TLS: {0}")]
    Tls(String),
}

impl From<rustls::Error> for AgentError {
    fn from(error: rustls::Error) -> Self {
        AgentError::Tls(error.to_string())
    }
}

impl Coded for AgentError {
    fn code(&self) -> &'static str {
        match self {
            AgentError::Refused { code, .. } => {
                let listed = ERRORS.iter().find(|info| info.code == code);
                listed.map_or(UNREACHABLE, |info| info.code)
            }
            AgentError::Denied(_) => DENIED,
            AgentError::ShortToken { .. } => SHORT_TOKEN,
            AgentError::Unreachable { .. } | AgentError::Listen(_) | AgentError::Tls(_) => {
                UNREACHABLE
            }
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}
