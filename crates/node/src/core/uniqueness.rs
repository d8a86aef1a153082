//! The thread that answers a notary's questions to the store, so that no round waits for the disk.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use kernel::port::Reads;
use kernel::{Event, check_uniqueness};
use notary::UniquenessCheck;

use super::messages::KernelHandle;

/// The way to the thread. The kernel has one question out at a time, which bounds the queue.
pub(super) struct UniquenessQueue(Mutex<Option<Sender<UniquenessCheck>>>);

impl UniquenessQueue {
    /// Returns the queue, and the end of it that the thread takes.
    pub(super) fn new() -> (Self, Receiver<UniquenessCheck>) {
        let (sender, receiver) = channel();
        (Self(Mutex::new(Some(sender))), receiver)
    }

    /// Hands a question over.
    pub(super) fn ask(&self, check: UniquenessCheck) {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = &*sender {
            // The thread ends before the queue is closed only if it panics, and then the node stops.
            let _ = sender.send(check);
        }
    }

    /// Ends the thread.
    pub(super) fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

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
