//! Bodies that wait for memory while their unread bytes take up the window of their connection.
//!
//! A body with a place in memory needs a part of the window to arrive. If waiting bodies took up all of it, they would wait for that
//! body and it for them. So one stream's window always stays free of them, and a body that would take it is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::windows::Window;

/// The part of a connection's window that waiting bodies may take up. Unbounded for HTTP/1, which has one body at a time.
#[derive(Debug)]
pub(super) struct WaitingBytes {
    of_stream: AtomicUsize,
    most: AtomicUsize,
    used: AtomicUsize,
}

/// The part of one body, given back when dropped.
#[derive(Debug)]
pub(super) struct WaitingPart {
    all: Arc<WaitingBytes>,
    bytes: usize,
}

impl WaitingBytes {
    /// Without a bound.
    pub(super) fn unbounded() -> Arc<Self> {
        Arc::new(Self {
            of_stream: AtomicUsize::new(0),
            most: AtomicUsize::new(usize::MAX),
            used: AtomicUsize::new(0),
        })
    }

    /// Sets the connection's window.
    pub(super) fn set(&self, window: Window) {
        let (all, of_stream) = (window.of_connection() as usize, window.of_stream() as usize);
        self.of_stream.store(of_stream, Ordering::Relaxed);
        // Clipped at 0: in a window no larger than a stream's, no body waits.
        self.most
            .store(all.saturating_sub(of_stream), Ordering::Relaxed);
    }

    /// Reserves a part of the budget for a body that may send this number of further bytes. `None` if too little is left.
    pub(super) fn take(self: &Arc<Self>, rest: usize) -> Option<WaitingPart> {
        let most = self.most.load(Ordering::Relaxed);
        let bytes = rest.min(self.of_stream.load(Ordering::Relaxed));
        let grown = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= most);
        self.used
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, grown)
            .ok()?;
        Some(WaitingPart {
            all: Arc::clone(self),
            bytes,
        })
    }
}

impl Drop for WaitingPart {
    fn drop(&mut self) {
        self.all.used.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of bodies of this length that may wait at the same time.
    fn waiting(bytes: &Arc<WaitingBytes>, rest: usize) -> usize {
        let parts: Vec<_> = (0..100).map_while(|_| bytes.take(rest)).collect();
        parts.len()
    }

    #[test]
    fn waiting_bodies_leave_the_window_of_one_stream() {
        let bytes = WaitingBytes::unbounded();
        assert_eq!(waiting(&bytes, usize::MAX), 100);
        for (window, rest, expected) in [
            (Window::ANONYMOUS, 0, 100),
            (Window::ANONYMOUS, 1, 0),
            (Window::OF_USERS[0], 900_000, 3),
            (Window::OF_USERS[0], usize::MAX, 3),
            (Window::OF_USERS[0], 100_000, 31),
            (Window::OF_USERS[1], usize::MAX, 3),
        ] {
            bytes.set(window);
            assert_eq!(waiting(&bytes, rest), expected, "{window:?} {rest}");
        }
    }
}
