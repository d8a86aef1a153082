//! The blocks of a branch that is being downloaded.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use primitives::Hash;

use crate::block::{CarriedBlock, CheckedBlock};
use crate::core::PeerId;
use crate::core::limits::{ANSWER_BYTES, DOWNLOAD_BYTES_MAX};
use crate::message::BODIES_MAX;
use crate::{ChainTime, Header, Height};

/// Questions without all requested bodies after which a peer is not asked again for this branch.
const FAILURES_MAX: u32 = 2;

/// The blocks of a branch that is being downloaded.
#[derive(Debug)]
pub(in crate::core) struct BodyDownload {
    pub(super) number: u64,
    /// The peer that delivered the headers first.
    pub(super) peer: PeerId,
    /// All peers that delivered these headers. They are asked for bodies before other peers with an equal claim.
    pub(super) sources: BTreeSet<PeerId>,
    pub(super) blocks: Vec<DownloadBlock>,
    /// Number of blocks at the beginning that are on the chain.
    pub(super) joined: usize,
    /// Bytes of bodies in memory or requested.
    pub(super) bytes: usize,
    /// Peers that do not have the branch.
    pub(super) without_branch: BTreeSet<PeerId>,
    pub(super) failures: BTreeMap<PeerId, u32>,
    /// Time of the last body.
    pub(super) progress: ChainTime,
    /// Time until which forging on our own tip waits for the branch.
    pub(super) pause_until: ChainTime,
}

#[derive(Debug)]
pub(super) struct DownloadBlock {
    pub(super) header: Header,
    pub(super) hash: Hash,
    pub(super) stage: DownloadStage,
}

#[derive(Debug)]
pub(super) enum DownloadStage {
    Missing,
    Asked,
    Here(Box<CheckedBlock>),
    /// In the table `Side`.
    Stored,
    Joined,
}

impl DownloadStage {
    /// Returns whether the body is in memory, or space is reserved for it.
    fn takes_memory(&self) -> bool {
        matches!(self, Self::Asked | Self::Here(_))
    }
}

impl BodyDownload {
    pub(in crate::core) fn new(
        number: u64,
        peer: PeerId,
        sources: BTreeSet<PeerId>,
        headers: Vec<(Header, Hash)>,
        stored: impl Fn(&Hash) -> bool,
        now: ChainTime,
        forging_pause: Duration,
    ) -> Self {
        let blocks = headers
            .into_iter()
            .map(|(header, hash)| DownloadBlock {
                stage: if stored(&hash) {
                    DownloadStage::Stored
                } else if header.body_bytes == 0 {
                    // The header was checked before, and there are no transactions.
                    DownloadStage::Here(Box::new(CheckedBlock::from_checked_parts(CarriedBlock {
                        header: header.clone(),
                        hash,
                        body: Vec::new(),
                    })))
                } else {
                    DownloadStage::Missing
                },
                header,
                hash,
            })
            .collect();
        Self {
            number,
            peer,
            sources,
            blocks,
            joined: 0,
            bytes: 0,
            without_branch: BTreeSet::new(),
            failures: BTreeMap::new(),
            progress: now,
            pause_until: now.plus_or_last(forging_pause),
        }
    }

    /// Changes the stage of a block and returns the former one. Counts the bytes of bodies that are in memory or requested.
    pub(super) fn set_stage(&mut self, at: usize, stage: DownloadStage) -> DownloadStage {
        let block = &mut self.blocks[at];
        let bytes = block.header.body_bytes as usize;
        let change = (block.stage.takes_memory(), stage.takes_memory());
        let former = std::mem::replace(&mut block.stage, stage);
        match change {
            (false, true) => self.bytes += bytes,
            (true, false) => self.bytes -= bytes,
            _ => {}
        }
        debug_assert_eq!(self.bytes, self.counted_bytes());
        former
    }

    /// Returns the bytes of bodies that are in memory or requested, by looking at each block.
    fn counted_bytes(&self) -> usize {
        let counted = self.blocks.iter().filter(|one| one.stage.takes_memory());
        counted.map(|one| one.header.body_bytes as usize).sum()
    }

    /// Counts a question that a peer did not answer, or not with all requested bodies.
    pub(super) fn count_failure(&mut self, peer: PeerId) {
        let failures = self.failures.entry(peer).or_default();
        *failures += 1;
        if *failures >= FAILURES_MAX {
            self.without_branch.insert(peer);
        }
    }

    /// Marks requested bodies that did not come as missing again.
    pub(super) fn mark_missing(&mut self, first: usize, count: usize) {
        for at in first..first + count {
            if matches!(self.blocks[at].stage, DownloadStage::Asked) {
                self.set_stage(at, DownloadStage::Missing);
            }
        }
    }

    /// Returns the blocks whose bodies are in the table `Side`.
    pub(super) fn stored(&self) -> HashSet<Hash> {
        let stored = self.blocks.iter();
        let stored = stored.filter(|one| matches!(one.stage, DownloadStage::Stored));
        stored.map(|one| one.hash).collect()
    }

    /// Marks stored bodies as missing that are not among `held`, so that they are requested again.
    pub(super) fn mark_lost_missing(&mut self, held: &HashSet<Hash>) {
        for at in self.joined..self.blocks.len() {
            let block = &self.blocks[at];
            if matches!(block.stage, DownloadStage::Stored) && !held.contains(&block.hash) {
                self.set_stage(at, DownloadStage::Missing);
            }
        }
    }

    /// Returns the height of the last block.
    pub(in crate::core) fn target(&self) -> Height {
        self.blocks
            .last()
            .map_or(Height::GENESIS, |block| block.header.height)
    }

    /// Returns the index and the number of the next blocks to request: from the first missing one, up to the size of one answer.
    pub(super) fn next_part(&self) -> Option<(usize, usize)> {
        let first = self
            .blocks
            .iter()
            .position(|block| matches!(block.stage, DownloadStage::Missing))?;
        let (mut count, mut bytes) = (0, 0);
        for block in &self.blocks[first..] {
            let more = block.header.body_bytes as usize;
            let fits = count == 0 || bytes + more <= ANSWER_BYTES;
            if !matches!(block.stage, DownloadStage::Missing) || count == BODIES_MAX || !fits {
                break;
            }
            bytes += more;
            count += 1;
        }
        // The first missing block may always be requested. Otherwise the download could stall.
        let blocked = self.blocks[self.joined..first]
            .iter()
            .any(|block| matches!(block.stage, DownloadStage::Asked | DownloadStage::Here(_)));
        (!blocked || self.bytes + bytes <= DOWNLOAD_BYTES_MAX).then_some((first, count))
    }
}
