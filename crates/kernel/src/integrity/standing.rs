//! The handshake of two connected nodes: how far their link has come, and which marks they hold of each other.
//!
//! ```text
//!   peer up ──► Standing ──►  own mark justified? ──no, and the signature is ours──► rolled back: the whole node stops
//!                             numbers agree? ──no──► this link is renumbered, and a warning is shown
//!                             ──► Mark, now and at most once a second while the data grows
//! ```
//!
//! # Invariants
//! - Numbers are a peer's word: they renumber the link with that peer, and concern no other.
//! - While a peer's standing is awaited after a start, nothing numbered is sent to it.

use ledger::{PartyId, TxId};
use primitives::Monotonic;

use super::link_finding::LinkFinding;
use crate::errors;
use crate::event::Priority;
use crate::kernel::Kernel;
use crate::message::{PeerMessage, Standing};
use crate::port::{Reads, StoreFailure};

/// Numbers of session messages above this one are nonsense.
const SEQ_MAX: u64 = 1 << 62;
/// Peers that get a mark at once; with more of them each gets every so many.
pub const MARKED_AT_ONCE_MAX: usize = 128;

impl Kernel {
    /// Tells a peer that has just connected where its link stands.
    pub(crate) fn send_standing(
        &mut self,
        peer: PartyId,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let mut notarised = Vec::new();
        if self.context.identity.network.is_notary(&peer) {
            for id in self.integrity.notarised_by(&peer) {
                notarised.extend(self.shown_to_notary(&id, reads)?);
            }
        }
        let numbers = self.links.numbers(&peer);
        let standing = Standing {
            sent: numbers.sent,
            acked: numbers.acked,
            taken: numbers.taken,
            mark: self.integrity.marks.get(&peer).cloned(),
            notarised,
        };
        self.context
            .send(peer, Priority::Normal, PeerMessage::Standing(standing));
        Ok(())
    }

    fn shown_to_notary(
        &self,
        id: &TxId,
        reads: &dyn Reads,
    ) -> Result<Option<(TxId, Vec<ledger::TransactionSignature>)>, StoreFailure> {
        let Some(recorded) = self.book.read(id, reads)? else {
            return Ok(None);
        };
        let signatures = recorded.transaction.signatures().iter();
        let batches = signatures.filter(|signature| signature.batch.is_some());
        let batches = batches.take(crate::message::SHOWN_SIGNATURES_MAX);
        Ok(Some((*id, batches.cloned().collect())))
    }

    /// A peer tells where its side of the link stands. A repetition within a connection is ignored.
    pub(crate) fn on_standing(
        &mut self,
        peer: PartyId,
        standing: Standing,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if !self.links.standing_arrived(&peer) {
            return Ok(());
        }
        if standing.taken > SEQ_MAX || standing.acked > SEQ_MAX {
            self.context
                .bad_message(peer, "its standing has numbers beyond every possible one");
            return self.release_link(peer, reads);
        }
        let own_mark = standing.mark.clone();
        let shows_mark = own_mark.is_some();
        let marks_good = own_mark.is_none_or(|mark| self.check_own_mark(peer, mark));
        let verdicts_good = self.check_own_verdicts(peer, &standing.notarised, reads)?;
        if !marks_good || !verdicts_good {
            self.context.bad_message(
                peer,
                "its standing shows signatures that are not this node's",
            );
        }
        self.compare_numbers(peer, &standing);
        self.release_link(peer, reads)?;
        self.integrity.met.insert(peer);
        if !self.is_rolled_back() {
            self.flows.met(peer, shows_mark && marks_good);
        }
        self.send_mark(peer);
        Ok(())
    }

    /// Compares the numbers of session messages on both sides of a link, and mends the link where they contradict each other.
    fn compare_numbers(&mut self, peer: PartyId, standing: &Standing) {
        let links = &mut self.links;
        let taken = links.numbers(&peer).taken;
        if standing.acked > taken {
            links.skip_to(peer, standing.acked);
            let text = format!(
                "this node acknowledged its session messages up to {}, and has only those up to {taken}",
                standing.acked
            );
            self.found_on_link(peer, text);
        }
        let links = &mut self.links;
        let (sent, at_start) = (links.numbers(&peer).sent, links.sent_at_start(&peer));
        let untouched = links.is_untouched(&peer);
        if standing.taken > sent || (untouched && standing.taken > at_start) {
            let again = links.renumber(peer, standing.taken, self.context.now.monotonic);
            let text = format!(
                "it has taken session messages up to {}, of which this node has sent those up to {at_start}; {again} are sent under new numbers",
                standing.taken
            );
            self.found_on_link(peer, text);
        } else if standing.sent < taken {
            let text = format!(
                "it has sent session messages up to {}, of which this node has taken those up to {taken}: its data is older than this node's",
                standing.sent
            );
            self.context
                .complain(errors::PEER_ROLLED_BACK.code, peer, &text);
        }
        self.links.confirm(peer);
    }

    fn found_on_link(&mut self, peer: PartyId, text: String) {
        self.context.complain(errors::STALE_DATA.code, peer, &text);
        self.context.figures.links_renumbered += 1;
        let at = self.context.now.wall;
        self.integrity.links.insert(peer, LinkFinding { at, text });
    }

    /// Lets the numbered messages to a peer go.
    pub(crate) fn release_link(
        &mut self,
        peer: PartyId,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        self.links.release(peer, self.context.now.monotonic);
        self.pump_links(reads)
    }

    /// Gives this node's mark to a peer, unless its data is an older copy.
    pub(super) fn send_mark(&mut self, peer: PartyId) {
        if self.is_rolled_back() {
            return;
        }
        let Some(key) = self.keys.identity_key(&self.context.identity) else {
            return;
        };
        let (number, now) = (self.data_number(), self.context.now.monotonic);
        let mark = self
            .integrity
            .lives
            .mark(&self.context.my_id, number, key, now);
        if let Some(mark) = mark {
            self.context
                .send(peer, Priority::Normal, PeerMessage::Mark(mark));
        }
    }

    /// Gives marks to the peers when the data has grown, at most once a second.
    pub(crate) fn send_marks(&mut self) {
        let due = self.next_mark();
        if due.is_none_or(|due| due > self.context.now.monotonic) {
            return;
        }
        let met = &self.integrity.met;
        let last = self.integrity.marked_last;
        let after = met
            .iter()
            .filter(|peer| last.is_some_and(|last| **peer > last));
        let before = met
            .iter()
            .filter(|peer| last.is_none_or(|last| **peer <= last));
        let next: Vec<PartyId> = after
            .chain(before)
            .take(MARKED_AT_ONCE_MAX)
            .copied()
            .collect();
        for peer in &next {
            self.send_mark(*peer);
        }
        self.integrity.marked_last = next.last().copied();
    }

    /// The time at which a mark is due.
    pub(crate) fn next_mark(&self) -> Option<Monotonic> {
        if self.is_rolled_back() || self.integrity.met.is_empty() {
            return None;
        }
        self.integrity.lives.due(self.data_number())
    }
}
