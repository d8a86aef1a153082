//! The state of the synchronisation with the network.

use primitives::Hash;

use super::body_download::BodyDownload;
use super::header_sync::HeaderSync;

/// The state of the synchronisation with the network.
#[derive(Debug)]
pub(in crate::core) struct ChainSync {
    pub(in crate::core) state: SyncStage,
    /// The number of the current attempt. Answers to questions of another attempt are ignored.
    pub(super) number: u64,
    /// Number of peers asked for headers so far. It gives the order of the questions.
    pub(in crate::core) asked: u64,
    /// Our tip when headers of a branch last delayed forging.
    pub(super) forging_paused_on: Option<Hash>,
}

#[derive(Debug)]
pub(in crate::core) enum SyncStage {
    /// No peer that may be asked claims a better branch.
    Idle,
    /// The headers of peers' branches are fetched and judged.
    Headers(Box<HeaderSync>),
    /// The bodies of a branch are fetched whose headers show it to be better.
    Bodies(Box<BodyDownload>),
}

impl ChainSync {
    pub(in crate::core) fn new() -> Self {
        Self {
            state: SyncStage::Idle,
            number: 0,
            asked: 0,
            forging_paused_on: None,
        }
    }
}
