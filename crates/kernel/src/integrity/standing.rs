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

use ledger::{PartyId, TransactionSignature, TxId};
use primitives::Monotonic;

use super::link_finding::LinkFinding;
use super::state::Integrity;
use super::views::IntegrityViews;
use crate::command::{FlowsCommand, IntegrityCommand, PeersCommand};
use crate::context::Context;
use crate::errors;
use crate::event::Priority;
use crate::ledger_book::Book;
use crate::message::{PeerMessage, SHOWN_SIGNATURES_MAX, Standing};
use crate::port::StoreFailure;

/// Maximum number of peers that are sent one mark. If more are connected, they take turns.
pub const MARKED_AT_ONCE_MAX: usize = 128;

impl Integrity {
    /// Sends a peer that has just connected this node's standing.
    pub(super) fn send_standing(
        &self,
        peer: PartyId,
        views: IntegrityViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        let mut notarised = Vec::new();
        if context.identity.network.is_notary(&peer) {
            for id in self.notarised_by(&peer) {
                notarised.extend(shown_to_notary(&id, views)?);
            }
        }
        let numbers = views.links.numbers(&peer);
        let standing = Standing {
            sent: numbers.sent,
            acked: numbers.acked,
            taken: numbers.taken,
            mark: self.marks.get(&peer).cloned(),
            notarised,
        };
        context.send(peer, Priority::Normal, PeerMessage::Standing(standing));
        Ok(())
    }

    /// Forgets a peer whose connection has ended. It gets no marks.
    pub(crate) fn peer_down(&mut self, peer: &PartyId) {
        self.met.remove(peer);
    }

    /// Checks what a peer shows of this node, then has its numbers compared.
    pub(super) fn check_standing(
        &mut self,
        peer: PartyId,
        mut standing: Standing,
        views: IntegrityViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        let own_mark = standing.mark.take();
        let shows_mark = own_mark.is_some();
        let marks_good =
            own_mark.is_none_or(|mark| self.check_own_mark(peer, mark, views.book, context));
        let notarised = std::mem::take(&mut standing.notarised);
        let verdicts_good = self.check_own_verdicts(peer, &notarised, views, context)?;
        if !marks_good || !verdicts_good {
            context.bad_message(
                peer,
                "its standing shows signatures that are not this node's",
            );
        }
        context.command(PeersCommand::CompareNumbers { peer, standing });
        context.command(IntegrityCommand::Meet {
            peer,
            shows_mark: shows_mark && marks_good,
        });
        Ok(())
    }

    /// Begins to send marks to a peer whose link is in order.
    pub(super) fn meet(
        &mut self,
        peer: PartyId,
        shows_mark: bool,
        views: IntegrityViews<'_>,
        context: &mut Context,
    ) {
        self.met.insert(peer);
        if !self.is_rolled_back() {
            context.command(FlowsCommand::Met { peer, shows_mark });
        }
        self.send_mark(peer, views, context);
    }

    /// Notes a contradiction that rests on a peer's word.
    pub(super) fn found_on_link(&mut self, peer: PartyId, text: String, context: &mut Context) {
        context.complain(errors::STALE_DATA.code, peer, &text);
        context.figures.links_renumbered += 1;
        let at = context.now.wall;
        self.links.insert(peer, LinkFinding { at, text });
    }

    /// Gives this node's mark to a peer, unless its data is an older copy.
    pub(super) fn send_mark(
        &mut self,
        peer: PartyId,
        views: IntegrityViews<'_>,
        context: &mut Context,
    ) {
        if self.is_rolled_back() {
            return;
        }
        let Some(key) = views.keys.identity_key(&context.identity) else {
            return;
        };
        let (number, now) = (self.data_number(views.book), context.now.monotonic);
        if let Some(mark) = self.lives.mark(&context.my_id, number, key, now) {
            context.send(peer, Priority::Normal, PeerMessage::Mark(mark));
        }
    }

    /// Gives marks to the peers when the data has grown, at most once a second.
    pub(super) fn send_marks(&mut self, views: IntegrityViews<'_>, context: &mut Context) {
        let due = self.next_mark(views.book);
        if due.is_none_or(|due| due > context.now.monotonic) {
            return;
        }
        let (met, last) = (&self.met, self.marked_last);
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
            self.send_mark(*peer, views, context);
        }
        self.marked_last = next.last().copied();
    }

    /// Returns the time at which a mark is due.
    pub(crate) fn next_mark(&self, book: &Book) -> Option<Monotonic> {
        if self.is_rolled_back() || self.met.is_empty() {
            return None;
        }
        self.lives.due(self.data_number(book))
    }
}

/// Returns the signatures of a notary's batches on a recorded transaction.
fn shown_to_notary(
    id: &TxId,
    views: IntegrityViews<'_>,
) -> Result<Option<(TxId, Vec<TransactionSignature>)>, StoreFailure> {
    let Some(recorded) = views.book.read(id, views.reads)? else {
        return Ok(None);
    };
    let signatures = recorded.transaction.signatures().iter();
    let batches = signatures.filter(|signature| signature.batch.is_some());
    let batches = batches.take(SHOWN_SIGNATURES_MAX);
    Ok(Some((*id, batches.cloned().collect())))
}
