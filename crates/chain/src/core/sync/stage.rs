//! The state of the synchronisation with the network.

use primitives::Hash;

use super::body_download::Download;
use super::header_sync::Contest;

/// The state of following the network.
#[derive(Debug)]
pub(in crate::core) struct Following {
    pub(in crate::core) state: State,
    /// The number of the current attempt. Answers to questions of another attempt are ignored.
    pub(super) number: u64,
    /// Number of peers asked for headers so far. It gives the order of the questions.
    pub(super) asked: u64,
    /// Our tip when headers of a branch last delayed forging.
    pub(super) held_back_on: Option<Hash>,
}

#[derive(Debug)]
pub(in crate::core) enum State {
    /// No peer that may be asked claims a better branch.
    Idle,
    /// The headers of peers' branches are fetched and judged.
    Headers(Box<Contest>),
    /// The bodies of a branch are fetched whose headers show it to be better.
    Bodies(Box<Download>),
}

impl Following {
    pub(in crate::core) fn new() -> Self {
        Self {
            state: State::Idle,
            number: 0,
            asked: 0,
            held_back_on: None,
        }
    }
}
