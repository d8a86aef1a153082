//! Forgers that sign two blocks on one parent. The first block stays, and both headers are kept as evidence.
//!
//! A forger that may forge on a block could sign any number of blocks there. The one with the smallest hash would win long after
//! other forgers have built on the first. A branch that begins with another block by the forger of ours, on the same parent,
//! therefore replaces ours only with more work. An honest peer may relay such a branch and is not penalised for it.

use primitives::Hash;

use super::evidence::Equivocation;
use super::first_headers::{FirstBlock, FirstBlockState};
use crate::Header;
use crate::core::blocks::{PendingStage, lists};
use crate::core::limits::points;
use crate::core::{Action, Core, Notice, PeerId, Ticket, Verdict};
use crate::message::Announcement;
use crate::port::{Reads, StoreFailure, Table};
use crate::state::read;

impl<R: Reads<Table>> Core<R> {
    /// Returns the block by the same forger on the same parent that this node saw before the one with this header.
    pub(in crate::core) fn earlier_rival(
        &self,
        header: &Header,
    ) -> Result<Option<FirstBlock>, StoreFailure> {
        let is_rival = |first: &&Header| Equivocation::are_rivals(first, header);
        let here = |header: &Header| FirstBlock {
            header: header.clone(),
            state: FirstBlockState::Here,
        };
        let assembling = self.assemblies.headers();
        let pending = self
            .pending
            .iter()
            .filter_map(|pending| match &pending.stage {
                PendingStage::Early(block) => Some(&block.header),
                PendingStage::Orphan { .. } => None,
            });
        if let Some(first) = assembling.chain(pending).find(is_rival) {
            return Ok(Some(here(first)));
        }
        let above = self.rows.tip().height.blocks_since(header.height);
        if above.is_some_and(|above| above <= self.genesis.params.rollback_blocks_max) {
            let row = read::header(&self.rows, header.height)?;
            let ours = row.map(|row| row.header);
            if let Some(first) = ours.as_ref().filter(is_rival) {
                return Ok(Some(here(first)));
            }
        }
        let remembered = self.first_headers.of(header).cloned();
        Ok(remembered.map(|header| {
            let is_invalid = self.invalid.contains(&header.hash(&self.genesis.hash));
            let state = match is_invalid {
                true => FirstBlockState::Invalid,
                false => FirstBlockState::Absent,
            };
            FirstBlock { header, state }
        }))
    }

    /// Judges the second block of a forger on a parent. Its header is forwarded once as evidence, and its body is not fetched.
    pub(in crate::core) fn second_block_announced(
        &mut self,
        peer: PeerId,
        message: Ticket,
        announcement: &Announcement,
        first: FirstBlock,
        hash: Hash,
    ) -> Result<(), StoreFailure> {
        let Announcement { header, ids } = announcement;
        let Some(common) = header.height.previous() else {
            // Only genesis has height 0, and it has no header.
            self.verdict(message, Verdict::Ignore);
            return Ok(());
        };
        let can_be_judged = !self.evidence.has(header)
            && self.hash_at(common)? == Some(header.previous)
            && self.can_roll_back_to(common)?;
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
        // If there is no room for the evidence, the header is not forwarded. Otherwise each further one would be, too.
        let is_new = self.keep_evidence(first.into_header(), header.clone());
        self.forward_if(message, is_new);
        Ok(())
    }

    /// Keeps two headers with valid signatures. Returns false if there is already evidence against the forger on this parent, or
    /// no room for more.
    pub(in crate::core) fn keep_evidence(&mut self, first: Header, second: Header) -> bool {
        let found = Equivocation {
            noticed: self.timestamp_now(),
            first,
            second,
        };
        let is_new = self.evidence.keep(&mut self.rows, &found);
        if is_new {
            self.counters.equivocations += 1;
            self.actions
                .push(Action::Notice(Box::new(Notice::Equivocated(Box::new(
                    found,
                )))));
        }
        is_new
    }
}
