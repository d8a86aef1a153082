//! The node's clock: the watch for jumps, and the questions to peers about theirs.

pub(crate) mod questions;
pub(crate) mod watch;
