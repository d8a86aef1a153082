//! Blocks that peers announce, from the arrival of the header on.
//!
//! A header that follows the tip, or beats it at its height, is checked completely and forwarded to other peers at once. Its body
//! is then assembled, for one block of each forger on each parent. Other headers only show a peer's position.

use std::cmp::Reverse;

use primitives::Hash;

use super::assembly::Assembly;
use super::evidence::Equivocation;
use super::held::{Held, Waiting};
use super::limits::{ASSEMBLIES_MAX, points};
use super::{Action, Core, PeerId, Ticket, Verdict};
use crate::block::root_of;
use crate::message::{Announcement, Gossip, Status};
use crate::port::{Reads, StoreFailure, Table};
use crate::state::{Branch, Fault};
use crate::{Header, TxId};

/// Maximum wait of an announced block for its predecessor, in milliseconds.
const PREDECESSOR_MS: u64 = 3_000;

/// Selects the held blocks to process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Release {
    /// Blocks whose time has come, if they are earlier than the second of this node's own turn. If two blocks have the same
    /// second, the hash decides, and a block that was announced early would win every draw.
    BeforeOwn,
    /// All blocks whose time has come.
    All,
}

/// The position of a header relative to the tip.
enum Stand {
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
    pub(super) fn gossiped(
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
                self.settle_intake()?;
                self.announced(peer, message, announcement)
            }
            Err(rejection) => {
                self.penalise(peer, points::GARBAGE, rejection.code);
                self.verdict(message, Verdict::Reject);
                Ok(())
            }
        }
    }

    pub(super) fn verdict(&mut self, message: Ticket, verdict: Verdict) {
        self.actions.push(Action::Verdict { message, verdict });
    }

    fn announced(
        &mut self,
        peer: PeerId,
        message: Ticket,
        announcement: Announcement,
    ) -> Result<(), StoreFailure> {
        let header = &announcement.header;
        let hash = header.hash(&self.genesis.hash);
        if self.bad.contains(&hash) || self.is_block(&hash)? {
            self.verdict(message, Verdict::Ignore);
            return Ok(());
        }
        if let Some(assembly) = self.assembly_of(&hash) {
            assembly.also_from(peer);
            self.verdict(message, Verdict::Ignore);
            return Ok(());
        }
        if self.is_held(&hash) {
            self.verdict(message, Verdict::Ignore);
            return Ok(());
        }
        if self.is_beyond_drift(header.time) {
            self.penalise(peer, points::SILENCE, "chain_block.from_future");
            self.verdict(message, Verdict::Ignore);
            return Ok(());
        }
        let first = self.first_block(header)?;
        if let Some(first) = first.filter(|first| first.stays_before(header)) {
            return self.second_announced(peer, message, &announcement, first, hash);
        }
        match self.stand_of(header, &hash)? {
            Stand::Next => self.begin(peer, message, announcement, hash, self.rows.tip().height),
            Stand::Beside => {
                let common = self.rows.tip().height.saturating_sub(1);
                self.begin(peer, message, announcement, hash, common)
            }
            Stand::Worse => {
                self.verdict(message, Verdict::Ignore);
                Ok(())
            }
            Stand::Elsewhere => {
                self.elsewhere(peer, message, announcement, hash);
                Ok(())
            }
        }
    }

    fn stand_of(&self, header: &Header, hash: &Hash) -> Result<Stand, StoreFailure> {
        let tip = self.rows.tip();
        if self.switch.is_some() {
            return Ok(Stand::Elsewhere);
        }
        if header.previous == tip.hash {
            return Ok(Stand::Next);
        }
        if tip.height == 0 || header.height != tip.height {
            return Ok(Stand::Elsewhere);
        }
        if Some(header.previous) != self.hash_at(tip.height - 1)? {
            return Ok(Stand::Elsewhere);
        }
        Ok(if self.is_better(header.difficulty, hash) {
            Stand::Beside
        } else {
            Stand::Worse
        })
    }

    /// Returns whether a chain with this difficulty and tip beats ours.
    pub(super) fn is_better(&self, difficulty: u128, hash: &Hash) -> bool {
        let tip = self.rows.tip();
        difficulty > tip.difficulty || (difficulty == tip.difficulty && *hash < tip.hash)
    }

    /// Returns whether a block's time is further ahead of this node's clock than the drift allows.
    pub(super) fn is_beyond_drift(&self, time: u32) -> bool {
        let drift = self.genesis.params.block_drift_seconds();
        time > self.now_seconds().saturating_add(drift)
    }

    /// Returns whether a block contradicts a trusted block.
    pub(super) fn is_distrusted(&self, height: u32, hash: &Hash) -> bool {
        self.trusted
            .get(&height)
            .is_some_and(|trusted| trusted != hash)
    }

    /// Checks a header that follows the block at `common`, and begins to assemble the block.
    fn begin(
        &mut self,
        peer: PeerId,
        message: Ticket,
        announcement: Announcement,
        hash: Hash,
        common: u32,
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
        if let Some(first) = self.first_block(&header)? {
            self.keep_evidence(first.into_header(), header.clone());
        }
        self.firsts.add(&header);
        self.verdict(message, Verdict::Accept);
        if !self.make_room_for(&header, &hash) {
            return Ok(());
        }
        self.assemblies.push(Assembly::new(header, hash, ids, peer));
        self.assemble(&hash)
    }

    /// Makes room for one more assembly by dropping the one with the least work, regardless of its waiting time. Returns false if
    /// the new one has the least work, or if a block of the same forger on the same parent is already being assembled.
    fn make_room_for(&mut self, header: &Header, hash: &Hash) -> bool {
        let is_rival = |one: &Assembly| Equivocation::are_rivals(&one.header, header);
        if self.assemblies.iter().any(is_rival) {
            return false;
        }
        if self.assemblies.len() < ASSEMBLIES_MAX {
            return true;
        }
        let merit = |difficulty: u128, hash: Hash| (difficulty, Reverse(hash));
        let of = |at: &usize| {
            let one = &self.assemblies[*at];
            merit(one.header.difficulty, one.hash)
        };
        match (0..self.assemblies.len()).min_by_key(of) {
            Some(worst) if of(&worst) < merit(header.difficulty, *hash) => {
                self.assemblies.remove(worst);
                true
            }
            _ => false,
        }
    }

    /// Returns the fault of a header with a valid signature after the block at `common`. Remembers the hash of a header with a
    /// fault, unless the header does not follow that block.
    pub(super) fn fault_of(
        &mut self,
        header: &Header,
        hash: &Hash,
        common: u32,
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
        self.bad.insert(*hash);
        Ok(Some(code))
    }

    /// Handles a header away from the tip. It may show that the peer has a better branch than ours.
    fn elsewhere(&mut self, peer: PeerId, message: Ticket, announcement: Announcement, hash: Hash) {
        let header = &announcement.header;
        let follows = self
            .assemblies
            .iter()
            .any(|assembly| assembly.hash == header.previous)
            || self.is_held(&header.previous);
        if follows || self.switch.is_some() {
            let due_ms = self.now_ms + PREDECESSOR_MS;
            self.hold(Held {
                hash,
                due_ms,
                what: Waiting::Announced {
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

    pub(super) fn is_held(&self, hash: &Hash) -> bool {
        self.held.iter().any(|held| held.hash == *hash)
    }

    pub(super) fn hold(&mut self, held: Held) {
        if let Some(gone) = self.held.add(held) {
            self.let_go(&gone);
        }
    }

    /// Gives up a held block. If it matters, a status question finds it again.
    fn let_go(&mut self, held: &Held) {
        if let Waiting::Announced { message, .. } = held.what {
            self.verdict(message, Verdict::Ignore);
        }
    }

    /// Processes held blocks that have waited long enough or now follow the tip.
    pub(super) fn release_held(&mut self, release: Release) -> Result<(), StoreFailure> {
        if self.held.is_empty() || self.switch.is_some() {
            return Ok(());
        }
        let own_ms = match release {
            Release::BeforeOwn => self.own_turn_ms()?,
            Release::All => None,
        };
        let mut at = 0;
        // A block may begin a reorg that continues in the next round. Until the reorg ends, all held blocks wait.
        while at < self.held.len() && self.switch.is_none() {
            let Some(held) = self.held.get(at) else {
                return Ok(());
            };
            let ready = match &held.what {
                Waiting::Announced { announcement, .. } => {
                    announcement.header.previous == self.rows.tip().hash
                }
                Waiting::Whole(_) => held.due_ms <= self.now_ms,
            };
            let is_after_own = own_ms.is_some_and(|own| held.due_ms >= own)
                && matches!(held.what, Waiting::Whole(_));
            let late = held.due_ms <= self.now_ms;
            if is_after_own {
                at += 1;
                continue;
            }
            if !ready && !late {
                at += 1;
                continue;
            }
            let held = self.held.take(at);
            match held.what {
                Waiting::Announced {
                    peer,
                    message,
                    announcement,
                } if ready => {
                    self.announced(peer, message, *announcement)?;
                    // The tip may have moved, so blocks that were skipped may follow it now.
                    at = 0;
                }
                Waiting::Announced { message, .. } => self.verdict(message, Verdict::Ignore),
                Waiting::Whole(block) => {
                    self.accept(*block)?;
                    at = 0;
                }
            }
        }
        Ok(())
    }
}

/// Returns whether the ids match the header's commitment or were left out.
pub(super) fn lists(header: &Header, ids: &[TxId]) -> bool {
    (ids.is_empty() && header.parent_count > 0)
        || (ids.len() == header.parent_count as usize && root_of(ids) == header.root)
}
