//! Open files: the limit of the process, and how many connections of clients fit in it.
//!
//! Without free file descriptors any opening of a file fails, also in the store. The soft limit is therefore raised to the hard
//! one at start, and clients' connections get the rest after a reserve.

use primitives::ErrorInfo;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors reserved for the store, the view, files, uploads and connections in their handshake.
pub const RESERVED: u64 = 1_024;
/// Connections of clients that are replaced by others and still open. No connection is accepted above these.
pub(crate) const ENDING_MAX: usize = 64;
/// Descriptors reserved for each other node: a connection that stands and one that replaces it.
const PER_PEER: u64 = 2;

const FEW: &str = "node.few_open_files";

/// The codes of this module.
pub const ERRORS: &[ErrorInfo] = &[ErrorInfo {
    code: FEW,
    cause: "The limit of open files is too low for the connections that the configuration allows clients, so the node accepts fewer.",
    action: "Raise the hard limit (LimitNOFILE in the service, or ulimit -Hn) and restart, or lower api.connections_max.",
}];

/// Raises the soft limit of open files to the hard one, and returns it; `None` means no limit.
pub fn raise() -> Option<u64> {
    let found = getrlimit(Resource::Nofile);
    if found.current == found.maximum {
        return found.current;
    }
    let raised = Rlimit {
        current: found.maximum,
        maximum: found.maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => found.maximum,
        Err(error) => {
            tracing::debug!(%error, "cannot raise the limit of open files");
            found.current
        }
    }
}

/// Raises the limit. Returns how many connections of clients fit, at most `wanted`, with this many other nodes.
pub fn connections(wanted: usize, peers: usize) -> usize {
    let limit = raise();
    let fitting = fitting(limit, wanted, peers);
    if fitting < wanted {
        tracing::warn!(
            code = FEW,
            hint = ERRORS[0].action,
            limit,
            wanted,
            fitting,
            "the limit of open files allows fewer connections of clients than the configuration"
        );
    }
    fitting
}

/// Returns the connections that fit: the limit less the reserve, or half of a limit that is lower than twice the reserve. In
/// both cases there is room for connections that end.
fn fitting(limit: Option<u64>, wanted: usize, peers: usize) -> usize {
    let Some(limit) = limit else { return wanted };
    let reserve = reserve(peers);
    let left = limit - reserve.min(limit / 2);
    // Clipped at 0: a limit that is too low still leaves one connection.
    let left = left.saturating_sub(ENDING_MAX as u64).max(1);
    // Where the count does not fit a word, the limit binds nothing.
    wanted.min(usize::try_from(left).unwrap_or(usize::MAX))
}

/// The descriptors that a node wants: for clients, for other nodes, and for itself.
pub fn wanted_files(connections: usize, peers: usize) -> u64 {
    let of_clients = connections + ENDING_MAX;
    reserve(peers) + of_clients as u64
}

/// Returns the descriptors that a node wants for other nodes and for itself.
fn reserve(peers: usize) -> u64 {
    RESERVED + PER_PEER * peers as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_a_reserve_for_the_store() {
        for (limit, wanted, peers, expected) in [
            (None, 2_048, 10, 2_048),
            (Some(1 << 20), 2_048, 10, 2_048),
            (Some(3_136), 2_048, 0, 2_048),
            (Some(3_136), 2_048, 24, 2_000),
            (Some(1_500), 2_048, 0, 686),
            (Some(1_024), 2_048, 1_000, 448),
            (Some(1_024), 100, 0, 100),
            (Some(1), 2_048, 0, 1),
            (Some(0), 2_048, 0, 1),
        ] {
            assert_eq!(fitting(limit, wanted, peers), expected, "{limit:?} {peers}");
        }
    }

    #[test]
    fn raises_the_soft_limit_to_the_hard_one() {
        assert_eq!(raise(), getrlimit(Resource::Nofile).current);
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
