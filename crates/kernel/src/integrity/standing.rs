//! The handshake of two connected nodes: how far their link has come, and which marks they hold of each other.
//!
//! ```text
//!   peer up ──► Standing ──►  does our data reach the mark that the peer holds? ──no, and the signature is ours──► rolled back: the whole node stops
//!                             numbers agree? ──no──► this link is renumbered, a warning is shown, the peer vouches for nothing
//!                             ──► Mark, now and at most once a second while the data grows
//! ```
//!
//! # Invariants
//! - A peer's numbers prove nothing: they renumber only the link with that peer.
//! - While a peer's standing is awaited after a start, nothing numbered is sent to it.

use ledger::{PartyId, TransactionSignature, TxId};
use primitives::{Encode, Monotonic};

use super::link_finding::LinkFinding;
use super::state::Integrity;
use super::views::IntegrityViews;
use crate::command::{FlowsCommand, IntegrityCommand, PeersCommand};
use crate::context::Context;
use crate::errors;
use crate::event::Priority;
use crate::ledger_book::Book;
use crate::message::{PeerMessage, SHOWN_SIGNATURES_MAX, Standing};
use crate::port::{StoreFailure, Table};
use crate::rows::{META_LINK, meta_key};

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
        self.turns.remove(peer);
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

    /// Begins to send marks to a peer whose numbers have been compared. The flows that wait for it go on, unless it has seen numbers
    /// that this node's data lacks.
    pub(super) fn meet(
        &mut self,
        peer: PartyId,
        shows_mark: bool,
        views: IntegrityViews<'_>,
        context: &mut Context,
    ) {
        self.turns.add(peer);
        if !self.is_rolled_back() && !self.links.contains_key(&peer) {
            context.command(FlowsCommand::Met { peer, shows_mark });
        }
        self.send_mark(peer, views, context);
    }

    /// Notes a contradiction that rests on a peer's word.
    pub(super) fn found_on_link(&mut self, peer: PartyId, text: String, context: &mut Context) {
        context.complain(errors::STALE_DATA.code, peer, &text);
        context.figures.links_renumbered += 1;
        let at = context.now.wall;
        let finding = LinkFinding { at, text };
        let key = meta_key(META_LINK, peer.as_bytes());
        let mut rows = context.rows::<Integrity>();
        rows.put(Table::Meta, key, finding.to_bytes());
        self.links.insert(peer, finding);
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
        let number = self.data_number(views.book);
        if let Some(mark) = self.lives.mark(&context.my_id, number, key) {
            context.send(peer, Priority::Normal, PeerMessage::Mark(mark));
        }
    }

    /// Gives marks to the peers whose turn it is.
    pub(super) fn send_marks(&mut self, views: IntegrityViews<'_>, context: &mut Context) {
        if self.is_rolled_back() {
            return;
        }
        let number = self.data_number(views.book);
        for peer in self.turns.take(number, context.now.monotonic) {
            self.send_mark(peer, views, context);
        }
    }

    /// Returns the time at which a mark is due.
    pub(crate) fn next_mark(&self, book: &Book) -> Option<Monotonic> {
        let next = self.turns.next(self.data_number(book));
        next.filter(|_| !self.is_rolled_back())
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
