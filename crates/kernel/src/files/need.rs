//! The files that a transaction needs before it is settled.

use std::collections::BTreeSet;

use flow::FlowId;
use ledger::{SignedTransaction, WireTransaction};
use primitives::Hash;

use super::events::Files;
use super::limits::files_of;
use super::requests::FILES_AT_ONCE;
use crate::context::Context;
use crate::port::{Reads, StoreFailure};

/// The files of a transaction: those stored here, and those missing.
#[derive(Debug, Default)]
pub(crate) struct FilesFound {
    /// The files that are here, with their sizes.
    pub(crate) here: Vec<(Hash, u64)>,
    /// The first files that are missing, at most [`FILES_AT_ONCE`].
    pub(crate) missing: BTreeSet<Hash>,
}

impl FilesFound {
    /// Returns the bytes of the files that are here. A sum that is too large for the type is over every limit, so it is clipped.
    pub(crate) fn bytes(&self) -> u64 {
        let sizes = self.here.iter().map(|(_, size)| *size);
        sizes.fold(0, u64::saturating_add)
    }
}

impl Files {
    /// Returns whether a file that a transaction lists is missing.
    pub(crate) fn lacks(
        &self,
        wire: &WireTransaction,
        context: &Context,
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        for hash in files_of(wire, context) {
            if self.book.size(&hash, reads)?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Looks for the files of a transaction.
    pub(crate) fn find(
        &self,
        wire: &WireTransaction,
        context: &Context,
        reads: &dyn Reads,
    ) -> Result<FilesFound, StoreFailure> {
        let mut found = FilesFound::default();
        for hash in files_of(wire, context) {
            match self.book.size(&hash, reads)? {
                Some(size) => found.here.push((hash, size)),
                None if found.missing.len() < FILES_AT_ONCE => drop(found.missing.insert(hash)),
                None => {}
            }
        }
        assert!(
            found.missing.len() <= FILES_AT_ONCE,
            "{} files are missing, at most {FILES_AT_ONCE} are asked for",
            found.missing.len()
        );
        Ok(found)
    }

    /// Notes that a flow of this node has verified a transaction. The flow may propose it to others, who need its files then.
    pub(super) fn note_proposal(
        &mut self,
        flow: FlowId,
        transaction: &SignedTransaction,
        context: &mut Context,
    ) {
        let files = files_of(transaction.wire(), context);
        if !files.is_empty() {
            let batch = &mut context.round.batch;
            self.proposals.add(flow, transaction.id(), files, batch);
        }
    }

    /// Forgets the proposals of a flow that has ended.
    pub(crate) fn flow_ended(&mut self, flow: FlowId, context: &mut Context) {
        self.proposals.end(flow, &mut context.round.batch);
    }

    /// Counts the references of a transaction that is being recorded, in the same batch.
    pub(crate) fn recorded(
        &mut self,
        transaction: &SignedTransaction,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let number = context.commits.next();
        for hash in files_of(transaction.wire(), context) {
            let batch = &mut context.round.batch;
            self.book
                .refer(hash, transaction.id(), number, batch, reads)?;
        }
        Ok(())
    }
}
