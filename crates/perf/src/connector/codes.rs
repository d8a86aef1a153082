//! The error codes of connectors.

use primitives::ErrorInfo;

/// The codes of this module.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: BAD_LINE,
        cause: "A connector wrote a line that is not part of the protocol: no JSON, too long, an answer to no request, or another version.",
        action: "Correct the connector; docs/reference/connectors.md describes the lines. Text for people belongs on its standard error.",
    },
    ErrorInfo {
        code: ENDED,
        cause: "A connector ended, or closed its standard output, while it was needed.",
        action: "Read the end of its standard error in the message.",
    },
    ErrorInfo {
        code: NO_CONNECTOR,
        cause: "Work of the kind `command` came to a network that is not reached through a connector.",
        action: "Set network.target.command, or network.target.connector.",
    },
    ErrorInfo {
        code: NOT_STARTED,
        cause: "The program of a connector could not be started, or did not introduce itself in time.",
        action: "Check network.target.command: the program must be in PATH or given by its path, and its first line must be its hello.",
    },
    ErrorInfo {
        code: SILENT,
        cause: "A connector still runs, but did not answer a request within its time limit, or left too many requests without an answer.",
        action: "Look for the cause in the connector and its system. Every request has to be answered, with `error` if it fails.",
    },
];

pub(super) const BAD_LINE: &str = "lab.connector_bad_line";
pub(super) const ENDED: &str = "lab.connector_ended";
pub(crate) const NO_CONNECTOR: &str = "lab.connector_missing";
pub(super) const NOT_STARTED: &str = "lab.connector_not_started";
pub(super) const SILENT: &str = "lab.connector_silent";
