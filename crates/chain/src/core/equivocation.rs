//! Forgers that sign two blocks on one parent. The first block stays, and both headers are kept as evidence.
//!
//! A forger that may forge on a block could sign any number of blocks there. The one with the smallest hash would win long after
//! other forgers have built on the first. A branch that begins with another block by the forger of ours, on the same parent,
//! therefore replaces ours only with more work. An honest peer may relay such a branch and is not penalised for it.

use primitives::Hash;

use super::announced::lists;
use super::contest::Candidate;
use super::evidence::Equivocation;
use super::held::Waiting;
use super::limits::{FIRSTS_MAX, points};
use super::{Action, Core, Notice, PeerId, Ticket, Verdict};
use crate::Header;
use crate::message::Announcement;
use crate::port::{Reads, StoreFailure, Table};
use crate::state::read;

/// Checked headers of announced blocks, the first of each forger on each parent. A header stays even if its body never arrives.
#[derive(Debug, Default)]
pub(super) struct Firsts {
    headers: Vec<Header>,
}

impl Firsts {
    fn of(&self, header: &Header) -> Option<&Header> {
        let is_first = |first: &&Header| Equivocation::are_rivals(first, header);
        self.headers.iter().find(is_first)
    }

    /// Remembers a header. Beyond the limit, the one with the lowest height and then the least work is dropped.
    pub(super) fn add(&mut self, header: &Header) {
        let known =
            |first: &Header| first.forger == header.forger && first.previous == header.previous;
        if self.headers.iter().any(known) {
            return;
        }
        self.headers.push(header.clone());
        if self.headers.len() > FIRSTS_MAX {
            let rank = |at: &usize| (self.headers[*at].height, self.headers[*at].difficulty);
            if let Some(at) = (0..self.headers.len()).min_by_key(rank) {
                self.headers.remove(at);
            }
        }
    }
}

/// The first block of a forger on a parent.
#[derive(Debug)]
pub(super) struct First {
    header: Header,
    /// Whether the block is on the chain, being assembled, or held until its time.
    is_here: bool,
}

impl First {
    /// Returns whether this block stays, so that another block with this header is not a candidate for the chain.
    pub(super) fn stays_before(&self, other: &Header) -> bool {
        self.is_here && other.difficulty <= self.header.difficulty
    }

    pub(super) fn into_header(self) -> Header {
        self.header
    }
}

impl<R: Reads<Table>> Core<R> {
    /// Returns the block by the same forger on the same parent that this node saw before the one with this header.
    pub(super) fn first_block(&self, header: &Header) -> Result<Option<First>, StoreFailure> {
        let is_rival = |first: &&Header| Equivocation::are_rivals(first, header);
        let here = |header: &Header| First {
            header: header.clone(),
            is_here: true,
        };
        let assembling = self.assemblies.iter().map(|assembly| &assembly.header);
        let held = self.held.iter().filter_map(|held| match &held.what {
            Waiting::Whole(block) => Some(&block.header),
            Waiting::Announced { .. } => None,
        });
        if let Some(first) = assembling.chain(held).find(is_rival) {
            return Ok(Some(here(first)));
        }
        let above = self.rows.tip().height.checked_sub(header.height);
        if above.is_some_and(|above| above <= self.genesis.params.rollback_blocks_max) {
            let row = read::header(&self.rows, header.height)?;
            let ours = row.map(|row| row.header);
            if let Some(first) = ours.as_ref().filter(is_rival) {
                return Ok(Some(here(first)));
            }
        }
        let remembered = self.firsts.of(header).cloned();
        Ok(remembered.map(|header| First {
            header,
            is_here: false,
        }))
    }

    /// Judges the second block of a forger on a parent. Its header is forwarded once as evidence, and its body is not fetched.
    pub(super) fn second_announced(
        &mut self,
        peer: PeerId,
        message: Ticket,
        announcement: &Announcement,
        first: First,
        hash: Hash,
    ) -> Result<(), StoreFailure> {
        let Announcement { header, ids } = announcement;
        let common = header.height.saturating_sub(1);
        let can_be_judged = !self.evidence.has(header)
            && self.hash_at(common)? == Some(header.previous)
            && self.may_be_taken_back(common)?;
        if !can_be_judged {
            self.verdict(message, Verdict::Ignore);
            return Ok(());
        }
        let fault = if !self.checker.check(&header.signed_message(hash)) {
            Some((points::BAD_SIGNATURE, "chain_block.signature"))
        } else if !lists(header, ids) {
            Some((points::GARBAGE, "chain_message.malformed"))
        } else {
            self.fault_of(header, &hash, common)?
                .map(|code| (points::BAD_BLOCK, code))
        };
        if let Some((points, code)) = fault {
            self.penalise(peer, points, code);
            self.verdict(message, Verdict::Reject);
            return Ok(());
        }
        self.keep_evidence(first.into_header(), header.clone());
        self.verdict(message, Verdict::Accept);
        Ok(())
    }

    /// Keeps two headers with valid signatures, unless there is already evidence against the forger on this parent.
    pub(super) fn keep_evidence(&mut self, first: Header, second: Header) {
        let found = Equivocation {
            noticed: self.now_seconds(),
            first,
            second,
        };
        if self.evidence.keep(&mut self.rows, &found) {
            self.counters.equivocations += 1;
            self.actions
                .push(Action::Notice(Box::new(Notice::Equivocated(Box::new(
                    found,
                )))));
        }
    }

    /// Returns our block after the common one, if its forger also forged the first block of a branch that leaves our chain there.
    pub(super) fn rival_of(&self, begin: &Header) -> Result<Option<Header>, StoreFailure> {
        if begin.height > self.rows.tip().height {
            return Ok(None);
        }
        let ours = read::header(&self.rows, begin.height)?.map(|row| row.header);
        Ok(ours.filter(|ours| Equivocation::are_rivals(ours, begin)))
    }

    /// Returns whether a branch that begins with this header beats ours. At equal work the smaller hash wins, but a forger's
    /// second block on a parent never beats its first.
    pub(super) fn beats_ours(
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
    pub(super) fn weigh_branch(&mut self, candidate: &Candidate) -> Result<bool, StoreFailure> {
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
                self.tied.insert(hash);
            }
        }
        Ok(beats)
    }
}
