//! Blocks that wait for their time or for their predecessor, in bounded space.
//!
//! An announcement with an unchecked header never displaces a complete block, and each peer may have only a few of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use primitives::Hash;

use crate::block::CarriedBlock;
use crate::core::limits::{HELD_MAX, HELD_PER_PEER_MAX};
use crate::core::part::Part;
use crate::core::{PeerId, Ticket};
use crate::message::Announcement;

/// A held block.
#[derive(Debug)]
pub(in crate::core) struct Held {
    pub(super) hash: Hash,
    pub(super) due_ms: u64,
    pub(in crate::core) what: Waiting,
}

/// The stage of a held block.
#[derive(Debug)]
pub(in crate::core) enum Waiting {
    /// An announced block whose predecessor is being assembled.
    Announced {
        peer: PeerId,
        message: Ticket,
        announcement: Box<Announcement>,
    },
    /// A complete block that is ahead of this node's clock.
    Whole(Box<CarriedBlock>),
}

impl Held {
    fn announced_by(&self) -> Option<PeerId> {
        match &self.what {
            Waiting::Announced { peer, .. } => Some(*peer),
            Waiting::Whole(_) => None,
        }
    }
}

/// All held blocks, oldest first.
#[derive(Debug, Default)]
pub(in crate::core) struct HeldBlocks {
    all: Vec<Held>,
}

impl HeldBlocks {
    /// Adds a block. Returns the one that is dropped for it, which may be the block itself.
    pub(in crate::core) fn add(&mut self, held: Held) -> Option<Held> {
        let from = held.announced_by();
        self.all.push(held);
        let is_over = |peer: PeerId| {
            let of_peer = self
                .all
                .iter()
                .filter(|one| one.announced_by() == Some(peer));
            of_peer.count() > HELD_PER_PEER_MAX
        };
        let at = match from.filter(|peer| is_over(*peer)) {
            Some(peer) => self.oldest_of(peer),
            None if self.all.len() > HELD_MAX => self.least_valued(),
            None => None,
        };
        let gone = at.map(|at| self.all.remove(at));
        assert!(self.all.len() <= HELD_MAX, "{}", self.all.len());
        gone
    }

    fn oldest_of(&self, peer: PeerId) -> Option<usize> {
        let is_of_peer = |held: &Held| held.announced_by() == Some(peer);
        self.all.iter().position(is_of_peer)
    }

    /// Returns the oldest announcement of the peer with the most, or the complete block with the least work.
    fn least_valued(&self) -> Option<usize> {
        let mut counts: BTreeMap<PeerId, usize> = BTreeMap::new();
        for peer in self.all.iter().filter_map(Held::announced_by) {
            *counts.entry(peer).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        if let Some((peer, _)) = most {
            return self.oldest_of(peer);
        }
        let merit = |held: &Held| match &held.what {
            Waiting::Whole(block) => (block.header.difficulty, Reverse(block.hash)),
            Waiting::Announced { .. } => (0, Reverse(held.hash)),
        };
        (0..self.all.len()).min_by_key(|at| merit(&self.all[*at]))
    }

    pub(in crate::core) fn iter(&self) -> impl Iterator<Item = &Held> {
        self.all.iter()
    }

    pub(in crate::core) fn len(&self) -> usize {
        self.all.len()
    }

    pub(in crate::core) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(in crate::core) fn get(&self, at: usize) -> Option<&Held> {
        self.all.get(at)
    }

    pub(in crate::core) fn take(&mut self, at: usize) -> Held {
        self.all.remove(at)
    }
}

/// Selects the held blocks to process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::core) enum Release {
    /// Blocks whose time has come, if they are earlier than the second of this node's own turn. If two blocks have the same
    /// second, the hash decides, and a block that was announced early would win every draw.
    BeforeOwn,
    /// All blocks whose time has come.
    All,
}

impl Part for HeldBlocks {
    fn next_time_ms(&self) -> Option<u64> {
        self.all.iter().map(|held| held.due_ms).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Header;

    fn header(difficulty: u128) -> Header {
        Header {
            height: 1,
            time: 1,
            previous: Hash::ZERO,
            forger: [1; 32],
            generation: Hash::ZERO,
            base_target: 1,
            difficulty,
            parent_count: 0,
            child_count: 0,
            body_bytes: 0,
            root: Hash::ZERO,
            signature: [0; 64],
        }
    }

    fn whole(difficulty: u128) -> Held {
        let block = CarriedBlock::new(&Hash::ZERO, header(difficulty), Vec::new());
        Held {
            hash: block.hash,
            due_ms: 0,
            what: Waiting::Whole(Box::new(block)),
        }
    }

    fn announced(peer: u8, message: Ticket) -> Held {
        Held {
            hash: Hash::plain(&message.to_be_bytes()),
            due_ms: 0,
            what: Waiting::Announced {
                peer: PeerId([peer; 32]),
                message,
                announcement: Box::new(Announcement {
                    header: header(u128::MAX),
                    ids: Vec::new(),
                }),
            },
        }
    }

    fn message_of(held: Option<Held>) -> Option<Ticket> {
        match held?.what {
            Waiting::Announced { message, .. } => Some(message),
            Waiting::Whole(_) => None,
        }
    }

    #[test]
    fn unchecked_announcements_displace_no_whole_block() {
        let mut held = HeldBlocks::default();
        let honest = whole(5).hash;
        assert!(held.add(whole(5)).is_none());
        for message in 1..=HELD_PER_PEER_MAX as u64 {
            assert!(held.add(announced(1, message)).is_none());
        }
        assert_eq!(message_of(held.add(announced(1, 90))), Some(1));
        for peer in 2..100 {
            for message in 0..10 {
                held.add(announced(peer, 100 + message));
            }
        }
        assert_eq!(held.len(), HELD_MAX);
        assert!(held.iter().any(|one| one.hash == honest));
    }

    #[test]
    fn the_whole_block_with_the_least_work_goes() {
        let mut held = HeldBlocks::default();
        for difficulty in 1..=HELD_MAX as u128 {
            assert!(held.add(whole(difficulty + 10)).is_none());
        }
        let worse = held.add(whole(5)).map(|gone| gone.hash);
        assert_eq!(worse, Some(whole(5).hash));
        let least = held.add(whole(100)).map(|gone| gone.hash);
        assert_eq!(least, Some(whole(11).hash));
    }
}
