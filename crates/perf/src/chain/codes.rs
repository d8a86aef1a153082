//! Codes of chains under load.

use primitives::ErrorInfo;

pub(super) const ENDLESS: &str = "lab.target_endless";
pub(super) const MALFORMED: &str = "lab.target_malformed";
pub(super) const SLOW: &str = "lab.target_slow";
pub(super) const UNREACHABLE: &str = "lab.target_unreachable";

/// The error codes of this module, sorted.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: ENDLESS,
        cause: "A server that is driven gave page after page of blocks or transactions, more than any chain under load has.",
        action: "Check that the address is the server under test; the message shows how much was read. A chain as long as this has to be measured from a later block.",
    },
    ErrorInfo {
        code: MALFORMED,
        cause: "A server that is driven gave an answer that its family's API does not have: no JSON, a field that is missing or of another type, or too long.",
        action: "Check that the address is a server of the Ardor/Nxt family and not a proxy's error page; the message shows the answer.",
    },
    ErrorInfo {
        code: SLOW,
        cause: "A server under load gave no answer in time; it may still have performed the request.",
        action: "Lower the load, or look for the cause in the server's own log.",
    },
    ErrorInfo {
        code: UNREACHABLE,
        cause: "A server that is driven could not be connected to, or closed the connection.",
        action: "Check its address, that it runs, and that it takes requests from this machine.",
    },
];
