//! The queue of questions from the kernel to another thread of the node.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

/// Questions of the kernel to one thread. The kernel has one question of a kind out at a time, which bounds the queue.
pub(super) struct Questions<Q>(Mutex<Option<Sender<Q>>>);

impl<Q> Questions<Q> {
    /// Returns the queue, and the end of it that the thread takes.
    pub(super) fn new() -> (Self, Receiver<Q>) {
        let (sender, receiver) = channel();
        (Self(Mutex::new(Some(sender))), receiver)
    }

    /// Hands a question over.
    pub(super) fn ask(&self, question: Q) {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = &*sender {
            // The thread ends before the queue is closed only if it panics, and then the node stops.
            let _ = sender.send(question);
        }
    }

    /// Ends the thread once it has answered the questions in the queue.
    pub(super) fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
