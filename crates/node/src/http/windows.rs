//! Windows of HTTP/2: bytes of bodies that clients may send before the server has read them.
//!
//! Such bytes lie in memory outside the budget of bodies, so all connections together have a budget of their own. Each
//! connection gets an equal part of it.

/// Bytes in the windows of all connections.
const WINDOWS_BYTES_MAX: usize = 256 << 20;
/// The least window of a connection in HTTP/2, which no setting can lower.
const CONNECTION_WINDOW_BYTES_MIN: usize = 65_535;
/// The largest window of a connection.
const CONNECTION_WINDOW_BYTES_MAX: usize = 4 << 20;
/// The largest window of a stream.
const STREAM_WINDOW_BYTES_MAX: u32 = 1 << 20;

/// The windows of a server's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Windows {
    of_connection: u32,
}

impl Windows {
    /// The windows of a server that has at most `connections_max` connections.
    pub(super) fn of(connections_max: usize) -> Self {
        let part = WINDOWS_BYTES_MAX / connections_max.max(1);
        let bytes = part.clamp(CONNECTION_WINDOW_BYTES_MIN, CONNECTION_WINDOW_BYTES_MAX);
        Self {
            // The largest window fits.
            of_connection: u32::try_from(bytes).unwrap_or(u32::MAX >> 1),
        }
    }

    /// The window of a connection, in bytes.
    pub(super) fn of_connection(self) -> u32 {
        self.of_connection
    }

    /// The window of each stream of a connection, in bytes.
    pub(super) fn of_stream(self) -> u32 {
        self.of_connection.min(STREAM_WINDOW_BYTES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_connections_share_one_budget() {
        for (connections, window) in [
            (0, 4 << 20),
            (1, 4 << 20),
            (64, 4 << 20),
            (1_024, 256 << 10),
            (2_048, 128 << 10),
            (4_096, 65_536),
            (10_000_000, 65_535),
        ] {
            let windows = Windows::of(connections);
            assert_eq!(windows.of_connection(), window, "{connections}");
            assert!(windows.of_stream() <= window.min(1 << 20));
        }
    }
}
