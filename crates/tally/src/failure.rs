//! The failure of a command: a code, a hint, and the exit code of the process.

use std::io::Write;
use std::process::ExitCode;

use api::{DeliveryRefusal, FlowFailure};
use client::ClientError;
use primitives::Coded;

use crate::hints;
use crate::ink::{Ink, stderr_ink};
use crate::printable::printable;

/// The exit codes, shown at the end of `tally --help`.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  refused, or the flow failed: the code on standard error gives the reason
  2  the command line is invalid
  3  the node was not reached, or did not answer: the request may have been carried out
  4  the node is busy, draining or starting, or the flow is still running: try again later
  5  a local failure: a file, the configuration, the start of a node; or the doctor found a problem
  6  the disk of a node failed, at its start or later, and the node ended so that a supervisor can start it again
  130  interrupted by a signal; the hint says how to continue

Errors go to standard error as 'error: CODE: message' and 'hint: ACTION'; with --json as one JSON object.
Output has no colours if NO_COLOR is set or the output is not a terminal.";

/// The failure of a command.
#[derive(Debug)]
pub struct Failure {
    code: String,
    message: String,
    hint: String,
    exit: u8,
    /// The delay before a retry, if the node gave one.
    retry_after_ms: Option<u64>,
}

const REFUSED: u8 = 1;
const USAGE: u8 = 2;
const NOT_REACHED: u8 = 3;
const LATER: u8 = 4;
const LOCAL: u8 = 5;
const STORE_FAILED: u8 = 6;
/// The exit code of a program that SIGINT ended, as shells report it.
const INTERRUPTED: u8 = 130;

impl Failure {
    /// Creates a local failure: the node has no part in it.
    pub fn local(code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
            hint: hint.into(),
            exit: LOCAL,
            retry_after_ms: None,
        }
    }

    /// Creates the failure of a node that did not start. `may_pass`: another attempt may succeed without an operator.
    pub fn not_started(error: &(impl Coded + ?Sized), may_pass: bool) -> Self {
        Self {
            exit: if may_pass { STORE_FAILED } else { LOCAL },
            ..Self::coded(error)
        }
    }

    /// Creates the failure of a running node's store.
    pub fn store_failed(code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            exit: STORE_FAILED,
            ..Self::local(code, message, hint)
        }
    }

    /// Creates the failure of a command that a signal interrupted.
    pub fn interrupted(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            exit: INTERRUPTED,
            ..Self::local("tally.interrupted", message, hint)
        }
    }

    /// Creates the failure of work that goes on: the caller asks again later.
    pub fn later(code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            exit: LATER,
            ..Self::local(code, message, hint)
        }
    }

    /// Creates a refusal by a node that came as an answer.
    pub fn refused(code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            exit: REFUSED,
            ..Self::local(code, message, hint)
        }
    }

    /// Creates the failure of a command line whose values do not fit.
    pub fn usage(code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            exit: USAGE,
            ..Self::local(code, message, hint)
        }
    }

    /// Creates the failure of a wait for a flow that timed out.
    pub fn not_yet(flow_id: &str, status: &str, wanted: &str) -> Self {
        Self::later(
            "tally.not_yet",
            format!("the flow is {status}, not {wanted} yet"),
            format!("It goes on; ask with 'tally flow get {flow_id} --wait {wanted}'."),
        )
    }

    /// Creates the failure of a wait for delivery: the flow succeeded, but a participant refuses to record its transaction.
    pub fn not_delivered(refused: &DeliveryRefusal) -> Self {
        let (id, party) = (&refused.transaction, &refused.party);
        let why = format!("{}: {}", refused.code, refused.message);
        Self::refused(
            "tally.not_delivered",
            format!(
                "transaction {id} of the flow is final, but {party} refuses to record it: {why}"
            ),
            format!(
                "Settle it with the operator of {party}; docs/errors describes {}.",
                refused.code
            ),
        )
    }

    /// Rewrites the message.
    #[must_use]
    pub fn with_message(mut self, rewrite: impl FnOnce(&str) -> String) -> Self {
        self.message = rewrite(&self.message);
        self
    }

    /// Adds a sentence to the message.
    #[must_use]
    pub fn with_remark(mut self, remark: &str) -> Self {
        self.message.push_str(". ");
        self.message.push_str(remark);
        self
    }

    /// Puts the name of a flow into a hint that recommends its description.
    #[must_use]
    pub fn about_flow(mut self, flow: &str) -> Self {
        let (general, own) = ("flow describe NAME", format!("flow describe {flow}"));
        self.hint = self.hint.replace(general, &own);
        self
    }

    /// Lets the commands in the hint name the node that this process's command line names. `line` describes all commands.
    #[must_use]
    pub fn at_the_same_node(mut self, line: &clap::Command) -> Self {
        let selection = hints::selection(std::env::args_os());
        self.hint = hints::completed(&self.hint, line, &selection);
        self
    }

    /// Converts an error with a code into a local failure.
    pub fn coded(error: &(impl Coded + ?Sized)) -> Self {
        Self::local(error.code(), error.to_string(), error.hint())
    }

    /// Returns the stable code.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Returns whether a signal interrupted the command.
    pub fn is_interrupted(&self) -> bool {
        self.exit == INTERRUPTED
    }

    /// Writes the failure to standard error and returns the exit code, also if standard error can't be written (such as to a full
    /// disk).
    pub fn report(&self, json: bool) -> ExitCode {
        let text = if json {
            let mut error = serde_json::json!({ "code": self.code, "message": self.message, "hint": self.hint });
            if let Some(ms) = self.retry_after_ms {
                error["retry_after_ms"] = ms.into();
            }
            format!("{}\n", serde_json::json!({ "error": error }))
        } else {
            printable(&self.for_people(), stderr_ink()).into_owned()
        };
        let _ = std::io::stderr().write_all(text.as_bytes());
        ExitCode::from(self.exit)
    }

    fn for_people(&self) -> String {
        let ink = stderr_ink();
        let error = ink.paint(Ink::RED, "error:");
        let mut text = format!("{error} {}: {}\n", self.code, self.message);
        if !self.hint.is_empty() {
            let hint = ink.paint(Ink::CYAN, "hint:");
            text.push_str(&format!("{hint} {}\n", self.hint));
        }
        if let Some(ms) = self.retry_after_ms {
            let retry = ink.paint(Ink::CYAN, "retry_after_ms:");
            text.push_str(&format!("{retry} {ms}\n"));
        }
        text
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let exit = match &error {
            ClientError::BadEndpoint(_) | ClientError::BadArguments(_) => LOCAL,
            ClientError::NotConnected { .. } | ClientError::NotTrusted { .. } => NOT_REACHED,
            _ if error.is_outcome_unknown() => NOT_REACHED,
            ClientError::Problem(problem) if matches!(problem.status, 429 | 503) => LATER,
            _ => REFUSED,
        };
        Self {
            code: error.code().to_owned(),
            message: error.to_string(),
            hint: hint_here(error.code()).unwrap_or(error.hint()).to_owned(),
            exit,
            retry_after_ms: error.retry_after_ms(),
        }
    }
}

/// Returns the hint of the command line for a code whose own hint is about HTTP requests.
fn hint_here(code: &str) -> Option<&'static str> {
    let hints = [
        (
            &api::codes::BAD_PARAMETER,
            "Correct the value that the message names; '--help' after the command says what is expected.",
        ),
        (
            &api::codes::UNAUTHORISED,
            "Give the token of a user of this node with --token-file. The node's folder has an administrator's in api-token.",
        ),
    ];
    let here = hints.into_iter().find(|(info, _)| info.code == code);
    here.map(|(_, hint)| hint)
}

impl From<FlowFailure> for Failure {
    fn from(failure: FlowFailure) -> Self {
        Self {
            code: failure.code,
            message: failure.message,
            hint: failure.hint,
            exit: REFUSED,
            retry_after_ms: failure.retry_after_ms,
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::local("tally.failed", format!("{error:#}"), "")
    }
}

/// Creates a local failure about a file, with its path.
pub fn about_file(path: &std::path::Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::local(
        "tally.file",
        format!("{}: {error}", path.display()),
        "Check the path and its permissions.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_before_a_retry_is_shown() {
        let failure = FlowFailure {
            code: "node.busy".to_owned(),
            message: "full".to_owned(),
            hint: "Try again after the time given in retry_after_ms.".to_owned(),
            retry_after_ms: Some(250),
        };
        let text = Failure::from(failure).for_people();
        assert!(text.ends_with("retry_after_ms: 250\n"), "{text}");
        let text = Failure::local("tally.file", "gone", "").for_people();
        assert!(!text.contains("retry_after_ms"), "{text}");
    }
}
