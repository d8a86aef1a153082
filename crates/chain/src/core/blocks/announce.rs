//! Blocks that peers announce, from the arrival of the header on.
//!
//! A header that follows the tip, or beats it at its height, is checked completely and forwarded to other peers at once. Its body
//! is then assembled, for one block of each forger on each parent. Other headers only show a peer's position.

use std::time::Duration;

use primitives::Hash;

use super::assembly::{Assembly, lists};
use super::pending::{PendingBlock, PendingStage};
use crate::core::limits::points;
use crate::core::{Action, Core, PeerId, Ticket, Verdict};
use crate::message::{Announcement, Gossip, Status};
use crate::port::{Reads, StoreFailure, Table};
use crate::state::{Branch, Fault};
use crate::{Header, Height};

/// Maximum wait of an announced block for its predecessor.
const PREDECESSOR_WAIT: Duration = Duration::from_secs(3);

/// The position of a header relative to the tip.
enum TipRelation {
    /// Directly after the tip.
    Next,
    /// At the height of the tip, and better.
    Beside,
    /// At the height of the tip, and not better.
    Worse,
    /// At any other position.
    Elsewhere,
}

impl<R: Reads<Table>> Core<R> {
    pub(in crate::core) fn gossiped(
        &mut self,
        peer: PeerId,
        message: Ticket,
        bytes: &[u8],
    ) -> Result<(), StoreFailure> {
        match Gossip::read(bytes) {
            Ok(Gossip::Transactions(transactions)) => {
                self.gossiped_transactions(peer, message, transactions)
            }
            Ok(Gossip::ChildBlock { transaction, ids }) => {
                self.gossiped_child_block(peer, message, transaction, ids)
            }
            Ok(Gossip::Rates(rates)) => self.gossiped_rates(peer, message, rates),
            Ok(Gossip::Block(announcement)) => {
                // The block may contain transactions that arrived earlier in this round.
                self.check_intake()?;
                self.announced(peer, message, announcement)
            }
            Err(rejection) => {
                self.penalise(peer, points::GARBAGE, rejection.code);
                self.verdict(message, Verdict::Reject);
                Ok(())
            }
        }
    }

    pub(in crate::core) fn verdict(&mut self, message: Ticket, verdict: Verdict) {
        self.actions.push(Action::Verdict { message, verdict });
    }

    /// Accepts a message without a fault if it is news for other peers, and ignores it otherwise.
    pub(in crate::core) fn forward_if(&mut self, message: Ticket, is_news: bool) {
        let verdict = match is_news {
            true => Verdict::Accept,
            false => Verdict::Ignore,
        };
        self.verdict(message, verdict);
    }

    /// Checks an announced header, and begins to assemble its block if it may be the next one or a better one at the tip.
    pub(super) fn announced(
        &mut self,
        peer: PeerId,
        message: Ticket,
        announcement: Announcement,
    ) -> Result<(), StoreFailure> {
        let header = &announcement.header;
        let hash = header.hash(&self.genesis.hash);
        if self.invalid.contains(&hash) || self.is_block(&hash)? {
            self.verdict(message, Verdict::Ignore);
            return Ok(());
        }
        if let Some(assembly) = self.assemblies.get_mut(&hash) {
            assembly.add_source(peer);
            self.verdict(message, Verdict::Ignore);
            return Ok(());
        }
        if self.is_pending(&hash) {
            self.verdict(message, Verdict::Ignore);
            return Ok(());
        }
        if self.is_beyond_drift(header.time) {
            self.penalise(peer, points::TIMEOUT, "chain_block.from_future");
            self.verdict(message, Verdict::Ignore);
            return Ok(());
        }
        let first = self.earlier_rival(header)?;
        if let Some(first) = first.filter(|first| first.excludes(header)) {
            return self.second_block_announced(peer, message, &announcement, first, hash);
        }
        match self.relation_to_tip(header, &hash)? {
            TipRelation::Next => {
                self.begin_assembly(peer, message, announcement, hash, self.rows.tip().height)
            }
            TipRelation::Beside => {
                let common = self.rows.tip().height.previous();
                let common = common.expect("no header is beside genesis");
                self.begin_assembly(peer, message, announcement, hash, common)
            }
            TipRelation::Worse => {
                self.verdict(message, Verdict::Ignore);
                Ok(())
            }
            TipRelation::Elsewhere => {
                self.announced_elsewhere(peer, message, announcement, hash);
                Ok(())
            }
        }
    }

    fn relation_to_tip(&self, header: &Header, hash: &Hash) -> Result<TipRelation, StoreFailure> {
        let tip = self.rows.tip();
        if self.reorg.is_some() {
            return Ok(TipRelation::Elsewhere);
        }
        if header.previous == tip.hash {
            return Ok(TipRelation::Next);
        }
        let Some(below) = tip.height.previous() else {
            return Ok(TipRelation::Elsewhere);
        };
        if header.height != tip.height || Some(header.previous) != self.hash_at(below)? {
            return Ok(TipRelation::Elsewhere);
        }
        Ok(if self.is_better(header.difficulty, hash) {
            TipRelation::Beside
        } else {
            TipRelation::Worse
        })
    }

    /// Checks a header that follows the block at `common`, and begins to assemble the block.
    fn begin_assembly(
        &mut self,
        peer: PeerId,
        message: Ticket,
        announcement: Announcement,
        hash: Hash,
        common: Height,
    ) -> Result<(), StoreFailure> {
        let Announcement { header, ids } = announcement;
        let fault = if !self.checker.check(&header.signed_message(hash)) {
            Some((points::BAD_SIGNATURE, "chain_block.signature"))
        } else if !lists(&header, &ids) {
            Some((points::GARBAGE, "chain_message.malformed"))
        } else {
            self.fault_of(&header, &hash, common)?
                .map(|code| (points::BAD_BLOCK, code))
        };
        if let Some((points, code)) = fault {
            self.penalise(peer, points, code);
            self.verdict(message, Verdict::Reject);
            return Ok(());
        }
        // For each forger and parent, one block and the evidence of a second one are forwarded. More would flood the network.
        let is_news = match self.earlier_rival(&header)? {
            Some(first) => self.keep_evidence(first.into_header(), header.clone()),
            None => true,
        };
        self.first_headers.add(&header);
        self.forward_if(message, is_news);
        if !self.assemblies.add(Assembly::new(header, hash, ids, peer)) {
            return Ok(());
        }
        self.assemble(&hash)
    }

    /// Returns the fault of a header with a valid signature after the block at `common`. Remembers the hash of a header with a
    /// fault, unless the header does not follow that block.
    pub(in crate::core) fn fault_of(
        &mut self,
        header: &Header,
        hash: &Hash,
        common: Height,
    ) -> Result<Option<&'static str>, StoreFailure> {
        let checked = match Branch::at(&self.rows, &self.genesis, common) {
            Ok(mut branch) => branch.push(&self.rows, &self.genesis, header, *hash),
            Err(fault) => Err(fault),
        };
        let code = match checked {
            Ok(_) if self.is_distrusted(header.height, hash) => "chain_block.distrusted",
            // The stake of the block after a common one is known exactly.
            Ok(_) => return Ok(None),
            Err(Fault::NotNext(rejection)) => return Ok(Some(rejection.code)),
            Err(fault) => fault.rejection()?.code,
        };
        self.invalid.insert(*hash);
        Ok(Some(code))
    }

    /// Handles a header away from the tip. It may show that the peer has a better branch than ours.
    fn announced_elsewhere(
        &mut self,
        peer: PeerId,
        message: Ticket,
        announcement: Announcement,
        hash: Hash,
    ) {
        let header = &announcement.header;
        let follows =
            self.assemblies.contains(&header.previous) || self.is_pending(&header.previous);
        if follows || self.reorg.is_some() {
            let due = self.now.plus_or_last(PREDECESSOR_WAIT);
            self.add_pending(PendingBlock {
                hash,
                due,
                stage: PendingStage::Orphan {
                    peer,
                    message,
                    announcement: Box::new(announcement),
                },
            });
            return;
        }
        if self.is_better(header.difficulty, &hash)
            && let Some(peer) = self.peers.get_mut(&peer)
        {
            peer.status = Some(Status {
                height: header.height,
                tip: hash,
                difficulty: header.difficulty,
            });
        }
        self.verdict(message, Verdict::Ignore);
    }
}
