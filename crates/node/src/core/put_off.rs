//! The threads that check the signatures which peers caused beyond their rate. One checks them in time that no other thread needs, so that
//! a member that sends many valid signatures takes no time from others. On a busy machine the rounds of the kernel make some of the
//! checks.
//!
//! The system may interrupt that thread at any place and for long. So the kernel never shares a lock with it: another thread, of normal
//! priority, is between them.

use std::sync::mpsc::{Receiver, Sender};

use kernel::{Event, SignatureBatch};
use primitives::SignatureChecker;

use super::messages::KernelHandle;

/// Signatures that are checked before the thread looks whether the node stops.
const CHUNK: usize = 16;
/// Size of the thread's cache of decoded public keys, in bytes.
const KEYS_BYTES: usize = 512 << 10;

/// Hands batches to the checking thread, and its results to the kernel, until the queue is closed or the checking thread has ended.
pub(super) fn hand_over(
    batches: &Receiver<SignatureBatch>,
    waiting: &Sender<SignatureBatch>,
    checked: &Receiver<(SignatureBatch, Vec<bool>)>,
    kernel: &KernelHandle,
) {
    for batch in batches {
        if waiting.send(batch).is_err() {
            return;
        }
        let Ok((batch, good)) = checked.recv() else {
            return;
        };
        kernel.tell(Event::SignaturesChecked { batch, good });
    }
}

/// Checks batches in idle time until the other thread has ended or the kernel has stopped.
pub(super) fn check_when_idle(
    waiting: &Receiver<SignatureBatch>,
    checked: &Sender<(SignatureBatch, Vec<bool>)>,
    kernel: &KernelHandle,
) {
    store::run_when_idle();
    let mut checker = SignatureChecker::with_budget(KEYS_BYTES);
    for batch in waiting {
        let mut good = Vec::with_capacity(batch.messages.len());
        for chunk in batch.messages.chunks(CHUNK) {
            if kernel.is_stopping() {
                return;
            }
            good.extend(checker.check_batch(chunk));
        }
        if checked.send((batch, good)).is_err() {
            return;
        }
    }
}
