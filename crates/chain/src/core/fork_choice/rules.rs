//! The rule that chooses between two branches, and the limits within which a branch may be chosen.
//!
//! More cumulative work wins. At equal work the smaller hash wins, except that a forger's second block on a parent never beats its
//! first.

use primitives::Hash;

use super::evidence::Equivocation;
use crate::core::Core;
use crate::core::sync::PeerBranch;
use crate::port::{Reads, StoreFailure, Table};
use crate::state::read;
use crate::{BlockTimestamp, Header, Height};

impl<R: Reads<Table>> Core<R> {
    /// Returns whether a chain with this difficulty and tip beats ours.
    pub(in crate::core) fn is_better(&self, difficulty: u128, hash: &Hash) -> bool {
        let tip = self.rows.tip();
        difficulty > tip.difficulty || (difficulty == tip.difficulty && *hash < tip.hash)
    }

    /// Returns whether a block's time is further ahead of this node's clock than the drift allows.
    pub(in crate::core) fn is_beyond_drift(&self, time: BlockTimestamp) -> bool {
        let ahead = time.since(self.timestamp_now());
        ahead.is_some_and(|ahead| ahead > self.genesis.params.block_drift_seconds())
    }

    /// Returns whether a block contradicts a trusted block.
    pub(in crate::core) fn is_distrusted(&self, height: Height, hash: &Hash) -> bool {
        self.trusted.contradict(height, hash)
    }

    /// Returns our block after the common one, if its forger also forged the first block of a branch that leaves our chain there.
    pub(in crate::core) fn rival_of(&self, begin: &Header) -> Result<Option<Header>, StoreFailure> {
        if begin.height > self.rows.tip().height {
            return Ok(None);
        }
        let ours = read::header(&self.rows, begin.height)?.map(|row| row.header);
        Ok(ours.filter(|ours| Equivocation::are_rivals(ours, begin)))
    }

    /// Returns whether a branch that begins with this header beats ours. At equal work the smaller hash wins, but a forger's
    /// second block on a parent never beats its first.
    pub(in crate::core) fn beats_ours(
        &self,
        begin: &Header,
        difficulty: u128,
        hash: &Hash,
    ) -> Result<bool, StoreFailure> {
        let is_better = self.is_better(difficulty, hash);
        if !is_better || difficulty > self.rows.tip().difficulty {
            return Ok(is_better);
        }
        Ok(self.rival_of(begin)?.is_none())
    }

    /// Returns whether a candidate's branch beats ours. If it begins with a second block by the forger of ours, the evidence is
    /// kept. At equal work the peer is not asked for the branch again until our tip changes.
    pub(in crate::core) fn beats_ours_with_evidence(
        &mut self,
        candidate: &PeerBranch,
    ) -> Result<bool, StoreFailure> {
        let (Some((begin, _)), Some((end, hash))) =
            (candidate.headers.first(), candidate.headers.last())
        else {
            return Ok(false);
        };
        let (begin, difficulty, hash) = (begin.clone(), end.difficulty, *hash);
        let rival = self.rival_of(&begin)?;
        let beats = self.is_better(difficulty, &hash)
            && (rival.is_none() || difficulty > self.rows.tip().difficulty);
        if let Some(first) = rival {
            self.keep_evidence(first, begin);
            if !beats {
                self.tied_tips.insert(hash);
            }
        }
        Ok(beats)
    }

    /// Returns whether the chain can be rolled back to a height, because the undo rows of the blocks above it exist. A branch
    /// that forks off below cannot be judged and is not followed.
    pub(in crate::core) fn can_roll_back_to(&self, height: Height) -> Result<bool, StoreFailure> {
        let first = match height.next() {
            Some(first) if first <= self.rows.tip().height => first.to_be_bytes(),
            _ => return Ok(true),
        };
        Ok(self.rows.get(Table::Undo, &first)?.is_some())
    }
}
