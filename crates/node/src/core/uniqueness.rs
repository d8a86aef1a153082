//! The thread that answers a notary's questions, from the node's own store or from the record that several notaries share, so that no round
//! waits for a disk or a server.

use std::sync::mpsc::Receiver;

use kernel::{Event, check_uniqueness};
use notary::{UniquenessCheck, UniquenessOutcome, UniquenessRecord};
use primitives::storage::StoreFailure;

use super::messages::KernelHandle;
use crate::ledger_store::LedgerStore;

/// The record of a notary of its own: the rows of the node's store. The kernel writes them.
pub(super) struct OwnRecord(pub(super) LedgerStore);

impl UniquenessRecord for OwnRecord {
    fn settle(&mut self, check: &UniquenessCheck) -> Result<UniquenessOutcome, StoreFailure> {
        assert!(check.entries.is_empty(), "the kernel writes the rows");
        check_uniqueness(check, &self.0).map(UniquenessOutcome::Found)
    }
}

/// Answers questions until the queue is closed or the kernel has stopped.
pub(super) fn answer_all(
    questions: &Receiver<UniquenessCheck>,
    record: &mut dyn UniquenessRecord,
    kernel: &KernelHandle,
) {
    for check in questions {
        if kernel.is_stopping() {
            return;
        }
        let outcome = record.settle(&check);
        kernel.tell(Event::UniquenessChecked {
            number: check.number,
            outcome,
        });
    }
}
