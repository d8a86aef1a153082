//! Synchronisation: headers of better branches are fetched and judged, and the bodies of the best branch are downloaded.

mod advance;
mod apply_bodies;
mod back_off;
mod body_download;
mod fetch_bodies;
mod header_sync;
mod judge_headers;
mod select_branch;
mod stage;

pub(super) use header_sync::PeerBranch;
pub(super) use stage::{ChainSync, SyncStage};
