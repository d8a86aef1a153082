//! Proof that this node's data is an older copy: the node goes on answering peers, and starts and signs nothing until an
//! operator has dealt with it.
//!
//! The proof is always something that this node itself has signed: a data mark, or a notary's verdict. A peer's word alone
//! affects the link with that peer and nothing else (`crate::integrity::standing`).

use ledger::{DataMark, PartyId, TxId};
use primitives::{Encode, SignedMessage};

use super::evidence::{Evidence, RollbackRow};
use super::state::Integrity;
use crate::errors;
use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure, Table};
use crate::rows::META_ROLLBACK;

impl Kernel {
    /// Returns the number that this node's data has reached.
    pub(crate) fn data_number(&self) -> u64 {
        let accepted = self.integrity.lives.accepted();
        self.book.last_seq().saturating_add(accepted)
    }

    /// Whether this node's data is known to be an older copy.
    pub(crate) fn is_rolled_back(&self) -> bool {
        self.integrity.rollback.is_some()
    }

    /// Checks a mark that a peer says is this node's. Returns false if it is a forgery.
    pub(crate) fn check_own_mark(&mut self, peer: PartyId, mark: DataMark) -> bool {
        if self.integrity.lives.justifies(&mark, self.data_number()) {
            return true;
        }
        let message = mark.signed_message(&self.context.my_id, &self.context.identity.me.key);
        if !self.context.signatures.are_good(&[message]) {
            return false;
        }
        self.on_rolled_back(peer, Evidence::Mark(mark));
        true
    }

    /// Checks transactions that a peer says this notary has signed. Returns false if one is a forgery.
    pub(crate) fn check_own_verdicts(
        &mut self,
        peer: PartyId,
        shown: &[(TxId, Vec<ledger::TransactionSignature>)],
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        for (id, signatures) in shown {
            let Some(notarisation) = &self.notarisation else {
                return Ok(true);
            };
            if notarisation.has_accepted(id, reads)? {
                continue;
            }
            let mine = signatures.iter().filter(|signature| {
                signature.batch.is_some() && signature.by == self.context.identity.me.key
            });
            let messages: Vec<SignedMessage> =
                mine.filter_map(|s| s.signed_message(id).ok()).collect();
            if messages.is_empty() || !self.context.signatures.are_good(&messages) {
                return Ok(false);
            }
            self.on_rolled_back(peer, Evidence::Notarised(*id));
        }
        Ok(true)
    }

    fn on_rolled_back(&mut self, shown_by: PartyId, evidence: Evidence) {
        let shown = match &evidence {
            Evidence::Mark(mark) => mark.ordinal,
            Evidence::Notarised(_) => 0,
        };
        if let Some(known) = &mut self.integrity.rollback {
            if shown > known.highest {
                known.highest = shown;
                let row = known.to_bytes();
                self.context
                    .round
                    .batch
                    .of::<Integrity>()
                    .put(Table::Meta, META_ROLLBACK, row);
            }
            return;
        }
        let text = match &evidence {
            Evidence::Mark(mark) => format!(
                "peer {shown_by} holds this node's signed mark of life {} at {}, and the data is in life {} at {}",
                mark.ordinal,
                mark.number,
                self.integrity.lives.ordinal(),
                self.data_number()
            ),
            Evidence::Notarised(id) => format!(
                "peer {shown_by} holds this notary's signature on transaction {id}, which its data does not contain"
            ),
        };
        let row = RollbackRow {
            evidence,
            shown_by,
            at: self.context.now.wall,
            ordinal: self.integrity.lives.ordinal(),
            number: self.data_number(),
            data_until: self.integrity.data_until,
            highest: shown,
        };
        let bytes = row.to_bytes();
        self.context
            .round
            .batch
            .of::<Integrity>()
            .put(Table::Meta, META_ROLLBACK, bytes);
        self.integrity.rollback = Some(row);
        let paused = self.flows.pause_copied(&mut self.context);
        let data_until = self.integrity.data_until;
        self.flows.refuse_starts(data_until, &mut self.context);
        let text = format!("{text}; {paused} flows of the copy are paused");
        self.context.warn(errors::ROLLED_BACK.code, text);
    }
}
