//! Blocks that wait for their time or for their predecessor, in bounded space.
//!
//! An announcement with an unchecked header never displaces a complete block, and each peer may have only a few of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use primitives::Hash;

use crate::ChainTime;
use crate::block::CheckedBlock;
use crate::core::limits::{ORPHANS_PER_PEER_MAX, PENDING_BLOCKS_MAX};
use crate::core::part::Part;
use crate::core::{PeerId, Ticket};
use crate::message::Announcement;

/// A pending block.
#[derive(Debug)]
pub(in crate::core) struct PendingBlock {
    pub(super) hash: Hash,
    /// The time at which it is processed, or given up if its predecessor has not come.
    pub(super) due: ChainTime,
    pub(in crate::core) stage: PendingStage,
}

/// The stage of a pending block.
#[derive(Debug)]
pub(in crate::core) enum PendingStage {
    /// An announced block whose predecessor is being assembled.
    Orphan {
        peer: PeerId,
        message: Ticket,
        announcement: Box<Announcement>,
    },
    /// A complete block that is ahead of this node's clock.
    Early(Box<CheckedBlock>),
}

impl PendingBlock {
    fn orphan_from(&self) -> Option<PeerId> {
        match &self.stage {
            PendingStage::Orphan { peer, .. } => Some(*peer),
            PendingStage::Early(_) => None,
        }
    }
}

/// All pending blocks, oldest first.
#[derive(Debug, Default)]
pub(in crate::core) struct PendingBlocks {
    all: Vec<PendingBlock>,
}

impl PendingBlocks {
    /// Adds a block. Returns the one that is dropped for it, which may be the block itself.
    pub(in crate::core) fn add(&mut self, pending: PendingBlock) -> Option<PendingBlock> {
        let from = pending.orphan_from();
        self.all.push(pending);
        let is_over = |peer: PeerId| {
            let of_peer = self
                .all
                .iter()
                .filter(|one| one.orphan_from() == Some(peer));
            of_peer.count() > ORPHANS_PER_PEER_MAX
        };
        let at = match from.filter(|peer| is_over(*peer)) {
            Some(peer) => self.oldest_of(peer),
            None if self.all.len() > PENDING_BLOCKS_MAX => self.least_valued(),
            None => None,
        };
        let dropped = at.map(|at| self.all.remove(at));
        assert!(self.all.len() <= PENDING_BLOCKS_MAX, "{}", self.all.len());
        dropped
    }

    fn oldest_of(&self, peer: PeerId) -> Option<usize> {
        let is_of_peer = |pending: &PendingBlock| pending.orphan_from() == Some(peer);
        self.all.iter().position(is_of_peer)
    }

    /// Returns the index of the oldest announcement of the peer with the most announcements or, if there are no announcements, of the
    /// complete block with the least work.
    fn least_valued(&self) -> Option<usize> {
        let mut counts: BTreeMap<PeerId, usize> = BTreeMap::new();
        for peer in self.all.iter().filter_map(PendingBlock::orphan_from) {
            *counts.entry(peer).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        if let Some((peer, _)) = most {
            return self.oldest_of(peer);
        }
        let merit = |pending: &PendingBlock| match &pending.stage {
            PendingStage::Early(block) => (block.header.difficulty, Reverse(block.hash)),
            PendingStage::Orphan { .. } => (0, Reverse(pending.hash)),
        };
        (0..self.all.len()).min_by_key(|at| merit(&self.all[*at]))
    }

    pub(in crate::core) fn iter(&self) -> impl Iterator<Item = &PendingBlock> {
        self.all.iter()
    }

    pub(in crate::core) fn len(&self) -> usize {
        self.all.len()
    }

    pub(in crate::core) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(in crate::core) fn get(&self, at: usize) -> Option<&PendingBlock> {
        self.all.get(at)
    }

    pub(in crate::core) fn take(&mut self, at: usize) -> PendingBlock {
        self.all.remove(at)
    }
}

/// Selects the pending blocks to process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::core) enum Release {
    /// Blocks whose time has come, if they are earlier than the second of this node's own turn. Of two blocks of the same second the
    /// smaller hash must win, so this node forges its own block first.
    BeforeOwn,
    /// All blocks whose time has come.
    All,
}

impl Part for PendingBlocks {
    fn next_time(&self) -> Option<ChainTime> {
        self.all.iter().map(|pending| pending.due).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::CarriedBlock;
    use crate::{BlockTimestamp, Header, Height};

    fn header(difficulty: u128) -> Header {
        Header {
            height: Height::FIRST,
            time: BlockTimestamp::new(1),
            previous: Hash::ZERO,
            forger: [1; 32],
            generation: Hash::ZERO,
            base_target: crate::pos::BaseTarget::new(1),
            difficulty,
            parent_count: 0,
            child_count: 0,
            body_bytes: 0,
            root: Hash::ZERO,
            signature: [0; 64],
        }
    }

    fn whole(difficulty: u128) -> PendingBlock {
        let block = CarriedBlock::new(&Hash::ZERO, header(difficulty), Vec::new());
        let block = CheckedBlock::from_checked_parts(block);
        PendingBlock {
            hash: block.hash,
            due: ChainTime::GENESIS,
            stage: PendingStage::Early(Box::new(block)),
        }
    }

    fn announced(peer: u8, message: Ticket) -> PendingBlock {
        PendingBlock {
            hash: Hash::plain(&message.to_be_bytes()),
            due: ChainTime::GENESIS,
            stage: PendingStage::Orphan {
                peer: PeerId([peer; 32]),
                message,
                announcement: Box::new(Announcement {
                    header: header(u128::MAX),
                    ids: Vec::new(),
                }),
            },
        }
    }

    fn message_of(pending: Option<PendingBlock>) -> Option<Ticket> {
        match pending?.stage {
            PendingStage::Orphan { message, .. } => Some(message),
            PendingStage::Early(_) => None,
        }
    }

    #[test]
    fn unchecked_announcements_displace_no_whole_block() {
        let mut pending = PendingBlocks::default();
        let honest = whole(5).hash;
        assert!(pending.add(whole(5)).is_none());
        for message in 1..=ORPHANS_PER_PEER_MAX as u64 {
            assert!(pending.add(announced(1, message)).is_none());
        }
        assert_eq!(message_of(pending.add(announced(1, 90))), Some(1));
        for peer in 2..100 {
            for message in 0..10 {
                pending.add(announced(peer, 100 + message));
            }
        }
        assert_eq!(pending.len(), PENDING_BLOCKS_MAX);
        assert!(pending.iter().any(|one| one.hash == honest));
    }

    #[test]
    fn the_whole_block_with_the_least_work_goes() {
        let mut pending = PendingBlocks::default();
        for difficulty in 1..=PENDING_BLOCKS_MAX as u128 {
            assert!(pending.add(whole(difficulty + 10)).is_none());
        }
        let worse = pending.add(whole(5)).map(|dropped| dropped.hash);
        assert_eq!(worse, Some(whole(5).hash));
        let least = pending.add(whole(100)).map(|dropped| dropped.hash);
        assert_eq!(least, Some(whole(11).hash));
    }
}
