//! Forging with the keys of this node.

mod forge;
mod forgers;
mod own_blocks;

pub(super) use forgers::Forging;
pub(super) use own_blocks::OwnBlocks;
