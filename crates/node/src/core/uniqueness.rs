//! The thread that answers a notary's questions to the store, so that no round waits for the disk.

use std::sync::mpsc::Receiver;

use kernel::port::Reads;
use kernel::{Event, check_uniqueness};
use notary::UniquenessCheck;

use super::messages::KernelHandle;

/// Answers questions from the store until the queue is closed or the kernel has stopped.
pub(super) fn answer_all(
    questions: &Receiver<UniquenessCheck>,
    reads: &dyn Reads,
    kernel: &KernelHandle,
) {
    for check in questions {
        if kernel.is_stopping() {
            return;
        }
        let answer = check_uniqueness(&check, reads);
        kernel.tell(Event::UniquenessChecked {
            number: check.number,
            answer,
        });
    }
}
