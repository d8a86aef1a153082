//! Proof that this node's data is an older copy: the node goes on answering peers, and starts and signs nothing until an
//! operator has dealt with it.
//!
//! The proof is always something that this node itself has signed: a data mark, or a notary's verdict. A peer's word alone
//! affects the link with that peer and nothing else (`crate::integrity::standing`).

use ledger::{DataMark, PartyId, TransactionSignature, TxId};
use primitives::{Encode, SignedMessage, Timestamp};

use super::evidence::{Evidence, RollbackRow};
use super::state::Integrity;
use super::views::IntegrityViews;
use crate::command::FlowsCommand;
use crate::context::Context;
use crate::ledger_book::Book;
use crate::port::{StoreFailure, Table};
use crate::rows::META_ROLLBACK;

impl Integrity {
    /// Returns whether this node's data is known to be an older copy.
    pub(crate) fn is_rolled_back(&self) -> bool {
        self.rollback.is_some()
    }

    /// Returns the end of this node's data, if it is known to be an older copy.
    pub(crate) fn older_copy(&self) -> Option<Timestamp> {
        self.rollback.as_ref().map(|row| row.data_until)
    }

    /// Returns the number that this node's data has reached.
    pub(super) fn data_number(&self, book: &Book) -> u64 {
        // Both are counts of rows, so the sum is far below the limit.
        book.last_seq().saturating_add(self.lives.accepted())
    }

    /// Checks a mark that a peer says is this node's. Returns false if it is a forgery.
    pub(super) fn check_own_mark(
        &mut self,
        peer: PartyId,
        mark: DataMark,
        book: &Book,
        context: &mut Context,
    ) -> bool {
        if self.lives.justifies(&mark, self.data_number(book)) {
            return true;
        }
        let message = mark.signed_message(&context.my_id, &context.identity.me.key);
        if !context.signatures.are_good(&[message]) {
            return false;
        }
        self.on_rolled_back(peer, Evidence::Mark(mark), book, context);
        true
    }

    /// Checks transactions that a peer says this notary has signed. Returns false if one is a forgery.
    pub(super) fn check_own_verdicts(
        &mut self,
        peer: PartyId,
        shown: &[(TxId, Vec<TransactionSignature>)],
        views: IntegrityViews<'_>,
        context: &mut Context,
    ) -> Result<bool, StoreFailure> {
        let Some(notarisation) = views.notarisation else {
            return Ok(true);
        };
        for (id, signatures) in shown {
            if notarisation.has_accepted(id, views.reads)? {
                continue;
            }
            let mine = signatures.iter().filter(|signature| {
                signature.batch.is_some() && signature.by == context.identity.me.key
            });
            let messages: Vec<SignedMessage> =
                mine.filter_map(|s| s.signed_message(id).ok()).collect();
            if messages.is_empty() || !context.signatures.are_good(&messages) {
                return Ok(false);
            }
            self.on_rolled_back(peer, Evidence::Notarised(*id), views.book, context);
        }
        Ok(true)
    }

    fn on_rolled_back(
        &mut self,
        shown_by: PartyId,
        evidence: Evidence,
        book: &Book,
        context: &mut Context,
    ) {
        let shown = match &evidence {
            Evidence::Mark(mark) => mark.ordinal,
            Evidence::Notarised(_) => 0,
        };
        if let Some(known) = &mut self.rollback {
            if shown > known.highest {
                known.highest = shown;
                let row = known.to_bytes();
                let mut rows = context.rows::<Integrity>();
                rows.put(Table::Meta, META_ROLLBACK, row);
            }
            return;
        }
        let number = self.data_number(book);
        let data_until = self.data_until;
        let row = RollbackRow {
            evidence,
            shown_by,
            at: context.now.wall,
            ordinal: self.lives.ordinal(),
            number,
            data_until,
            highest: shown,
        };
        let reason = format!("{} holds {}", context.name_of(&shown_by), row.describe());
        let mut rows = context.rows::<Integrity>();
        rows.put(Table::Meta, META_ROLLBACK, row.to_bytes());
        self.rollback = Some(row);
        context.command(FlowsCommand::StopCopied { data_until, reason });
    }
}
