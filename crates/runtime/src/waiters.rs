//! The callers that wait for answers of a core, by the number (ticket) of the request.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The waiting callers. Each has a ticket: the number that the core returns with the answer. The API's limits bound how many
/// callers there are.
pub struct Waiters<W> {
    open: Mutex<Open<W>>,
}

struct Open<W> {
    waiting: HashMap<u64, W>,
    closed: bool,
}

impl<W> Default for Waiters<W> {
    fn default() -> Self {
        Self {
            open: Mutex::new(Open {
                waiting: HashMap::new(),
                closed: false,
            }),
        }
    }
}

impl<W> Waiters<W> {
    /// Registers callers under one lock.
    ///
    /// # Errors
    /// The waiters are closed. The callers are returned.
    pub fn register<I>(&self, callers: I) -> Result<(), I::IntoIter>
    where
        I: IntoIterator<Item = (u64, W)>,
    {
        let callers = callers.into_iter();
        let mut open = self.lock();
        if open.closed {
            return Err(callers);
        }
        open.waiting.extend(callers);
        Ok(())
    }

    /// Removes and returns a caller, if it still waits.
    pub fn take(&self, ticket: u64) -> Option<W> {
        self.lock().waiting.remove(&ticket)
    }

    /// Removes the callers that wait for these answers, under one lock. Returns them with their answers. An answer without a
    /// waiting caller is dropped.
    pub fn take_all<T>(&self, answers: impl ExactSizeIterator<Item = (u64, T)>) -> Vec<(W, T)> {
        let mut ready = Vec::with_capacity(answers.len());
        let mut open = self.lock();
        for (ticket, answer) in answers {
            if let Some(waiter) = open.waiting.remove(&ticket) {
                ready.push((waiter, answer));
            }
        }
        ready
    }

    /// Removes callers without answering them.
    pub fn forget(&self, tickets: &[u64]) {
        let mut open = self.lock();
        for ticket in tickets {
            open.waiting.remove(ticket);
        }
    }

    /// Closes the waiters: new callers are refused. Returns the callers that wait.
    pub fn close(&self) -> impl Iterator<Item = W> + use<W> {
        let mut open = self.lock();
        open.closed = true;
        std::mem::take(&mut open.waiting).into_values()
    }

    fn lock(&self) -> MutexGuard<'_, Open<W>> {
        // A panic of another holder does no harm: the map is consistent after each statement that changes it.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_reach_their_callers_once() {
        let waiters = Waiters::default();
        assert!(waiters.register([(1, "a"), (2, "b"), (3, "c")]).is_ok());
        waiters.forget(&[3]);
        let answers = [(2, 20), (3, 30), (4, 40)];
        assert_eq!(waiters.take_all(answers.into_iter()), [("b", 20)]);
        assert_eq!(waiters.take(2), None);
        assert_eq!(waiters.take(1), Some("a"));
    }

    #[test]
    fn a_closed_register_returns_all_callers() {
        let waiters = Waiters::default();
        assert!(waiters.register([(1, "a")]).is_ok());
        assert_eq!(waiters.close().collect::<Vec<_>>(), ["a"]);
        let refused = waiters.register([(2, "b")]).expect_err("closed");
        assert_eq!(refused.collect::<Vec<_>>(), [(2, "b")]);
        assert_eq!(waiters.close().count(), 0);
    }
}
