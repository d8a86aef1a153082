//! Windows of HTTP/2: bytes of bodies that a client may send before the server has read them.
//!
//! Such bytes lie in memory outside the budget of bodies. Each connection begins with the smallest window of HTTP/2. After a good
//! token it gets a larger one out of the budget of all users, as long as there is one.

use super::share::{Reserved, Resource, Share};

/// Bytes of memory for all larger windows.
pub(super) const WINDOWS_BYTES_MAX: usize = 256 << 20;

/// The window of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    bytes: u32,
    of_stream: u32,
}

/// The larger window of a user's connection, given back when dropped.
#[derive(Debug)]
pub(super) struct LargerWindow {
    pub(super) window: Window,
    _held: Reserved,
}

impl Window {
    /// The window before a good token, and the smallest one: HTTP/2 has it without any agreement.
    pub(super) const ANONYMOUS: Window = Window {
        bytes: 65_535,
        of_stream: 65_535,
    };
    /// The windows of users' connections, largest first.
    pub(super) const OF_USERS: [Window; 2] = [
        Window {
            bytes: 4 << 20,
            of_stream: 1 << 20,
        },
        Window {
            bytes: 1 << 20,
            of_stream: 256 << 10,
        },
    ];

    /// The window of the whole connection, in bytes.
    pub(super) fn of_connection(self) -> u32 {
        self.bytes
    }

    /// The window of each stream, in bytes.
    pub(super) fn of_stream(self) -> u32 {
        self.of_stream
    }

    /// Bytes read from the socket before they are passed on. See [`super::http2`].
    pub(super) fn turn_bytes(self) -> usize {
        self.bytes as usize / 64
    }

    /// Bytes of memory that the window can cost: twice itself, because the streams' buffers double when they grow.
    fn cost(self) -> usize {
        self.bytes as usize * 2
    }
}

impl LargerWindow {
    /// Takes the largest window that the share has room for.
    pub(super) fn take(share: &std::sync::Arc<Share>) -> Option<Self> {
        Window::OF_USERS.into_iter().find_map(|window| {
            let held = share.take(Resource::WindowBytes, window.cost())?;
            Some(Self {
                window,
                _held: held,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::options::AnonymousLimits;
    use crate::http::share::ShareLimits;

    /// Bytes of a frame, at least: nine of its head and one of data.
    const FRAME_BYTES_MIN: usize = 10;
    /// Bytes that `h2` counts for a frame of one byte of data.
    const FRAME_COST: usize = 255;

    #[test]
    fn no_turn_exceeds_the_budget_of_small_frames() {
        let windows = [Window::ANONYMOUS].into_iter().chain(Window::OF_USERS);
        for window in windows {
            let frames = window.turn_bytes() / FRAME_BYTES_MIN;
            assert!(
                frames * FRAME_COST <= window.of_connection() as usize / 2,
                "{window:?}"
            );
            assert!(window.of_stream() <= window.of_connection());
        }
    }

    #[test]
    fn larger_windows_share_a_budget_and_are_given_back() {
        let limits = ShareLimits::unbounded().with(Resource::WindowBytes, 10 << 20);
        let share = Share::new(limits);
        let windows = |count: usize| -> Vec<_> {
            let taken = (0..count).map_while(|_| LargerWindow::take(&share));
            taken.collect()
        };
        for _ in 0..2 {
            let held = windows(9);
            let sizes: Vec<u32> = held.iter().map(|held| held.window.bytes).collect();
            assert_eq!(sizes, [4 << 20, 1 << 20]);
        }
    }

    #[test]
    fn the_worst_case_is_the_documented_one() {
        let anonymous = AnonymousLimits::default();
        let of_one = Window::ANONYMOUS.cost();
        let mib = |bytes: usize| bytes.div_ceil(1 << 20);
        assert_eq!(mib(of_one * anonymous.connections_per_address_max), 16);
        assert_eq!(mib(of_one * anonymous.connections_max), 128);
        assert_eq!(mib(of_one * 2_048 + WINDOWS_BYTES_MAX), 512);
    }
}
