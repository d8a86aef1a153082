//! The queue in front of a core: many senders, and one thread that takes many messages at once.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A bounded queue of messages. The receiver takes many of them under one lock.
pub struct Mailbox<M> {
    queue: Mutex<Queue<M>>,
    arrived: Condvar,
    bytes_max: usize,
}

struct Queue<M> {
    messages: VecDeque<M>,
    /// Messages that are taken before all others.
    first: VecDeque<M>,
    /// The sum of the weights of the messages.
    bytes: usize,
    /// The receiver waits for a message.
    waiting: bool,
    closed: bool,
}

/// The weight of a message in a mailbox.
pub trait Weigh {
    /// Returns the number of bytes that a peer has sent for this message.
    fn peer_bytes(&self) -> usize;
}

/// The weight of a message that carries no bytes from a peer.
const MESSAGE_BYTES: usize = 64;

impl<M: Weigh> Mailbox<M> {
    /// Returns a mailbox that is full once it holds more than `bytes_max` bytes.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self {
            queue: Mutex::new(Queue {
                messages: VecDeque::new(),
                first: VecDeque::new(),
                bytes: 0,
                waiting: false,
                closed: false,
            }),
            arrived: Condvar::new(),
            bytes_max,
        }
    }

    /// Adds a message, even if the mailbox is full. Connections check [`Mailbox::is_full`] before they read on. Clients, commits
    /// and timers have bounds of their own.
    pub fn push(&self, message: M) {
        let mut queue = self.lock();
        queue.bytes += weight(&message);
        queue.messages.push_back(message);
        let wake = std::mem::take(&mut queue.waiting);
        drop(queue);
        if wake {
            self.arrived.notify_one();
        }
    }

    /// Adds a message that carries no bytes from a peer. It is taken before those of [`Mailbox::push`], in the order of such messages.
    pub fn push_first(&self, message: M) {
        let mut queue = self.lock();
        queue.first.push_back(message);
        let wake = std::mem::take(&mut queue.waiting);
        drop(queue);
        if wake {
            self.arrived.notify_one();
        }
    }

    /// Adds messages under one lock, like [`Mailbox::push`].
    pub fn push_all(&self, messages: impl IntoIterator<Item = M>) {
        let mut queue = self.lock();
        for message in messages {
            queue.bytes += weight(&message);
            queue.messages.push_back(message);
        }
        let wake = std::mem::take(&mut queue.waiting);
        drop(queue);
        if wake {
            self.arrived.notify_one();
        }
    }

    /// Returns true if messages of peers have to wait.
    pub fn is_full(&self) -> bool {
        self.lock().bytes > self.bytes_max
    }

    /// Takes messages until `into` holds `max`, and those of [`Mailbox::push_first`] in any case, which come to the front. Waits for a
    /// message until the deadline, unless `into` holds some. Takes nothing if the deadline has passed or the mailbox is closed.
    pub fn take(&self, max: usize, deadline: Option<Instant>, into: &mut VecDeque<M>) {
        let mut queue = self.lock();
        while into.is_empty()
            && queue.messages.is_empty()
            && queue.first.is_empty()
            && !queue.closed
        {
            queue.waiting = true;
            match deadline {
                None => {
                    queue = self
                        .arrived
                        .wait(queue)
                        .unwrap_or_else(PoisonError::into_inner);
                }
                Some(deadline) => {
                    // A deadline in the past leaves no time.
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left == Duration::ZERO {
                        break;
                    }
                    let (guard, _) = self
                        .arrived
                        .wait_timeout(queue, left)
                        .unwrap_or_else(PoisonError::into_inner);
                    queue = guard;
                }
            }
        }
        queue.waiting = false;
        let room = max.saturating_sub(into.len());
        let count = queue.messages.len().min(room);
        let taken: usize = queue.messages.iter().take(count).map(weight).sum();
        into.extend(queue.messages.drain(..count));
        assert!(
            taken <= queue.bytes,
            "taken messages are part of the queue's weight"
        );
        queue.bytes -= taken;
        while let Some(message) = queue.first.pop_back() {
            into.push_front(message);
        }
    }

    /// Closes the mailbox and wakes the receiver. The node stops.
    pub fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_all();
    }

    /// Returns true once the mailbox is closed.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn lock(&self) -> MutexGuard<'_, Queue<M>> {
        // A poisoned lock is harmless: every change of the queue under the lock is complete before anything can panic.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn weight(message: &impl Weigh) -> usize {
    MESSAGE_BYTES + message.peer_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message that carries this number of bytes from a peer.
    #[derive(Debug, PartialEq)]
    struct Bytes(usize);

    impl Weigh for Bytes {
        fn peer_bytes(&self) -> usize {
            self.0
        }
    }

    #[test]
    fn messages_come_in_order_and_in_bounded_numbers() {
        let mailbox = Mailbox::new(1_000);
        mailbox.push(Bytes(0));
        mailbox.push_all((1..5).map(Bytes));
        let mut taken = VecDeque::new();
        mailbox.take(3, None, &mut taken);
        assert_eq!(taken.len(), 3);
        mailbox.take(5, None, &mut taken);
        assert_eq!(taken, [0, 1, 2, 3, 4].map(Bytes));
    }

    #[test]
    fn first_messages_come_at_once_and_before_those_that_are_left() {
        let mailbox = Mailbox::new(1_000);
        mailbox.push_all((1..6).map(Bytes));
        let mut taken = VecDeque::new();
        mailbox.take(3, None, &mut taken);
        mailbox.push_first(Bytes(10));
        mailbox.push_first(Bytes(11));
        mailbox.take(3, None, &mut taken);
        assert_eq!(
            taken,
            [10, 11, 1, 2, 3].map(Bytes),
            "there was no room for others"
        );
        taken.clear();
        mailbox.push_first(Bytes(12));
        mailbox.take(3, None, &mut taken);
        assert_eq!(taken, [12, 4, 5].map(Bytes));
    }

    #[test]
    fn nothing_comes_after_the_deadline_or_the_close() {
        let mailbox = Mailbox::<Bytes>::new(1_000);
        let mut taken = VecDeque::new();
        mailbox.take(3, Some(Instant::now()), &mut taken);
        assert!(taken.is_empty());
        mailbox.close();
        mailbox.take(3, None, &mut taken);
        assert!(taken.is_empty());
    }

    #[test]
    fn is_full_above_its_bytes_until_they_are_taken() {
        let mailbox = Mailbox::new(2 * MESSAGE_BYTES + 100);
        mailbox.push(Bytes(100));
        mailbox.push(Bytes(0));
        assert!(!mailbox.is_full());
        mailbox.push(Bytes(0));
        assert!(mailbox.is_full());
        mailbox.take(1, None, &mut VecDeque::new());
        assert!(!mailbox.is_full());
    }
}
