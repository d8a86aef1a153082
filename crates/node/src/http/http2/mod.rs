//! The server's side of a connection of HTTP/2, over the `h2` crate.
//!
//! ```text
//! socket ─► TLS ─► Turns ─► h2 ─► Intake ─► Buffer ─► RequestBody ─► handler
//!                                                        └─ credit ─► h2 ─► client
//! ```
//! `h2` keeps about 256 bytes of its own for each unread frame of data, and closes the connection with `ENHANCE_YOUR_CALM` when these
//! bytes exceed half of the connection's window. A client that sends one start in each frame exceeds that while the server is
//! busy, although it keeps to its window. The types here prevent it for every client and every window.
//!
//! # Invariants
//! - A turn reads at most 1/64 of the connection's window from the socket ([`Turns`]). A frame of data has
//!   at least 10 bytes, so a turn reads at most window/640 frames. `h2` spends at most 256 × window/640 = 2/5 of the window on them.
//! - After each turn the same task moves all data from `h2` into the streams' buffers ([`Intake`]), where small frames are joined. So
//!   the spent bytes are back before the next turn, however busy the handlers are.
//! - A client gets credit for bytes when the handler takes them out of the buffer, not before. So the unread bytes of a connection
//!   never exceed its window.

mod answer;
mod body;
mod buffer;
mod connection;
mod keep_alive;
mod turns;

pub(super) use connection::{Http2, StreamLimits};
