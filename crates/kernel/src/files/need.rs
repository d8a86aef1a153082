//! The files that a transaction needs before it is settled, and the peers that are asked for missing ones.

use std::collections::BTreeSet;

use flow::FlowId;
use ledger::{ContractExecutor, SignedTransaction, WireTransaction};
use primitives::Hash;

use super::proposals::Proposals;
use super::requests::{FILES_AT_ONCE, Waiter};
use crate::errors;
use crate::event::Action;
use crate::intake::fault::Fault;
use crate::intake::item_id::ItemId;
use crate::intake::items::Goal;
use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure};
use crate::round::Work;

impl Kernel {
    /// Returns the files of a transaction: its attachments without the descriptors of contracts.
    pub(crate) fn files_of(&self, wire: &WireTransaction) -> Vec<Hash> {
        let contracts = &self.context.identity.contracts;
        let files = wire.attachments().iter();
        let files = files.filter(|hash| contracts.descriptor(hash).is_none());
        files.copied().collect()
    }

    /// Whether a file that a transaction lists is not here.
    pub(crate) fn lacks_files(
        &mut self,
        wire: &WireTransaction,
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        for hash in self.files_of(wire) {
            if self.files.size(&hash, reads)?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether an item, valid but for that, is not to be settled now: it waits for its files, or is refused for them.
    pub(crate) fn await_files(
        &mut self,
        item: ItemId,
        transaction: &SignedTransaction,
        goal: &Goal,
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        if !goal.needs_files() {
            return Ok(false);
        }
        let files = self.files_of(transaction.wire());
        if files.is_empty() {
            return Ok(false);
        }
        let mut missing = BTreeSet::new();
        let mut here_bytes = 0u64;
        for hash in &files {
            match self.files.size(hash, reads)? {
                Some(size) => {
                    here_bytes = here_bytes.saturating_add(size);
                    if let Err(rejection) = self.check_file_size(hash, size) {
                        self.refuse(item, Fault::Local(rejection));
                        return Ok(true);
                    }
                }
                None if missing.len() < FILES_AT_ONCE => drop(missing.insert(*hash)),
                None => {}
            }
        }
        if let Err(rejection) = self.check_files_size(here_bytes) {
            self.refuse_for_files(item, rejection, reads)?;
            return Ok(true);
        }
        let Some(first) = missing.first().copied() else {
            return Ok(false);
        };
        let from = self.intake.get(item).and_then(|waiting| waiting.from);
        let Some(peer) = from.filter(|peer| *peer != self.context.my_id) else {
            let text = format!("file {first} is not here");
            let rejection = errors::rejection(&errors::FILE_MISSING, text);
            self.refuse(item, Fault::Local(rejection));
            return Ok(true);
        };
        let barred = |hash: &&Hash| {
            self.intake
                .files
                .is_barred(&peer, hash, self.context.now.monotonic)
        };
        if let Some(hash) = missing.iter().find(barred) {
            let text = format!("the peer did not give file {hash} of late");
            let rejection = errors::rejection(&errors::FILE_UNAVAILABLE, text);
            self.leave_unanswered(item, errors::FILE_UNAVAILABLE.code, rejection);
            return Ok(true);
        }
        let waiter = Waiter {
            peer,
            transaction: transaction.id(),
            missing,
            here_bytes,
        };
        // Items that wait for this transaction need not wait for its files.
        for waiting in self.intake.wait_for_files(item, waiter) {
            self.context.work.push_back(Work::Signed(waiting));
        }
        Ok(true)
    }

    /// Requests the files that items wait for, and withdraws the requests for those that no item needs any more.
    pub(crate) fn tend_files(&mut self) {
        if !self.intake.files.is_touched(self.context.now.monotonic) {
            return;
        }
        let (asks, abandoned) = self.intake.files.tend(self.context.now.monotonic);
        let parameters = self.context.identity.network.parameters();
        let max = parameters.max_attachment_bytes;
        let together_max = parameters.max_transaction_attachment_bytes;
        for ask in asks {
            let others = self.intake.files.known_bytes(&ask.item, Some(&ask.hash));
            self.context.round.then.push(Action::FetchFile {
                hash: ask.hash,
                peer: ask.peer,
                transaction: ask.transaction,
                size_max: max.min(together_max.saturating_sub(others)),
            });
        }
        for hash in abandoned {
            self.context.round.then.push(Action::AbandonFile { hash });
        }
    }

    /// A flow of this node has verified a transaction: it may propose it to others, who need its files then.
    pub(crate) fn note_proposal(&mut self, flow: FlowId, transaction: &SignedTransaction) {
        let files = self.files_of(transaction.wire());
        if !files.is_empty() {
            let batch = &mut self.context.round.batch;
            self.proposals.add(flow, transaction.id(), files, batch);
        }
    }

    /// Restores the transactions that live flows had verified before the node stopped.
    pub(crate) fn restore_proposals(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let engine = self.runner.engine();
        let is_live = |flow: &FlowId| engine.is_live(flow);
        self.proposals = Proposals::open(reads, is_live, &mut self.context.round.batch)?;
        Ok(())
    }

    /// A transaction is being recorded: its files are referred to, in the same batch.
    pub(crate) fn refer_files(
        &mut self,
        transaction: &SignedTransaction,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let number = self.context.commits.next();
        for hash in self.files_of(transaction.wire()) {
            let batch = &mut self.context.round.batch;
            self.files
                .refer(hash, transaction.id(), number, batch, reads)?;
        }
        Ok(())
    }
}
