//! The thread that reads the oldest rows of the flow history, so that no round waits for the disk.

use std::sync::mpsc::Receiver;

use kernel::port::Reads;
use kernel::{Event, HistoryLookUp, look_up_history};

use super::messages::KernelHandle;

/// Answers questions from the store until the queue is closed or the kernel has stopped.
pub(super) fn answer_all(
    questions: &Receiver<HistoryLookUp>,
    reads: &dyn Reads,
    kernel: &KernelHandle,
) {
    for look_up in questions {
        if kernel.is_stopping() {
            return;
        }
        let found = look_up_history(&look_up, reads);
        kernel.tell(Event::HistoryLookedUp { found });
    }
}
