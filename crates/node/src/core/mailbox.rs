//! The queue in front of a core: many senders, one thread that takes everything at once.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kernel::Event;

/// A bounded queue of events. Taking all of them costs one lock, however many there are.
pub struct Mailbox<E: Weigh = Event> {
    state: Mutex<State<E>>,
    arrived: Condvar,
    bytes_max: usize,
}

struct State<E> {
    events: VecDeque<E>,
    bytes: usize,
    waiting: bool,
    closed: bool,
}

/// What an event takes in a mailbox.
pub trait Weigh {
    /// Bytes that a peer has sent.
    fn peer_bytes(&self) -> usize;
}

/// What an event is taken to weigh beside its bytes.
const EVENT_BYTES: usize = 64;

impl<E: Weigh> Mailbox<E> {
    /// A mailbox that holds about `bytes_max` bytes of peers' messages before it is full.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            state: Mutex::new(State {
                events: VecDeque::new(),
                bytes: 0,
                waiting: false,
                closed: false,
            }),
            arrived: Condvar::new(),
            bytes_max,
        }
    }

    /// Adds an event, whatever the bound: connections look at [`Mailbox::is_full`] before they read on, and the number of
    /// other events is bounded elsewhere (clients, commits, timers).
    pub fn push(&self, event: E) {
        let mut state = self.lock();
        state.bytes += weight(&event);
        state.events.push_back(event);
        let wake = std::mem::take(&mut state.waiting);
        drop(state);
        if wake {
            self.arrived.notify_one();
        }
    }

    /// Adds events under one lock, like [`Mailbox::push`].
    pub fn push_all(&self, events: impl IntoIterator<Item = E>) {
        let mut state = self.lock();
        for event in events {
            state.bytes += weight(&event);
            state.events.push_back(event);
        }
        let wake = std::mem::take(&mut state.waiting);
        drop(state);
        if wake {
            self.arrived.notify_one();
        }
    }

    /// Whether peers' messages have to wait.
    pub fn is_full(&self) -> bool {
        self.lock().bytes > self.bytes_max
    }

    /// Takes up to `max` events; waits for the first one until the deadline. Nothing means: the deadline has passed, or
    /// the mailbox is closed.
    pub fn take(&self, max: usize, deadline: Option<Instant>, into: &mut Vec<E>) {
        let mut state = self.lock();
        while state.events.is_empty() && !state.closed {
            state.waiting = true;
            match deadline {
                None => {
                    state = self
                        .arrived
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                }
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left == Duration::ZERO {
                        break;
                    }
                    let (guard, _) = self
                        .arrived
                        .wait_timeout(state, left)
                        .unwrap_or_else(PoisonError::into_inner);
                    state = guard;
                }
            }
        }
        state.waiting = false;
        let count = state.events.len().min(max);
        let before = into.len();
        into.extend(state.events.drain(..count));
        let taken: usize = into[before..].iter().map(weight).sum();
        state.bytes = state.bytes.saturating_sub(taken);
    }

    /// Lets everybody go who waits: the node stops.
    pub fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_all();
    }

    /// Whether the node stops.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn lock(&self) -> MutexGuard<'_, State<E>> {
        // Nothing that holds the lock can leave the queue half changed, so a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn weight(event: &impl Weigh) -> usize {
    EVENT_BYTES + event.peer_bytes()
}

impl Weigh for Event {
    fn peer_bytes(&self) -> usize {
        match self {
            Event::Message { bytes, .. } => bytes.len(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_events_in_order_and_at_most_so_many() {
        let mailbox = Mailbox::<Event>::new(1_000);
        for number in 0..5 {
            mailbox.push(Event::Committed { number });
        }
        let mut taken = Vec::new();
        mailbox.take(3, None, &mut taken);
        assert_eq!(taken.len(), 3);
        mailbox.take(3, None, &mut taken);
        let numbers: Vec<u64> = taken
            .iter()
            .filter_map(|event| match event {
                Event::Committed { number } => Some(*number),
                _ => None,
            })
            .collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn gives_nothing_once_the_deadline_has_passed_or_it_is_closed() {
        let mailbox = Mailbox::<Event>::new(1_000);
        let mut taken = Vec::new();
        mailbox.take(3, Some(Instant::now()), &mut taken);
        assert!(taken.is_empty());
        mailbox.close();
        mailbox.take(3, None, &mut taken);
        assert!(taken.is_empty());
    }
}
