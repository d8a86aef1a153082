//! Waits of clients: the service holds a ticket, the API holds the answers' end.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use api::codes::{INTERNAL, NODE_STOPPING, STORE_FAILED};

use super::answer::Answer;
use super::refusal::Refusal;
use crate::users::AuditNote;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// The right to one answer, and the duty to give it.
#[derive(Debug)]
pub struct Ticket {
    id: u64,
    key: u64,
    answers: Option<Arc<Answers>>,
    /// The line of the audit log about the request.
    note: Option<Box<AuditNote>>,
}

impl Ticket {
    /// A ticket whose answer arrives under `key`.
    pub(super) fn new(answers: &Arc<Answers>, key: u64) -> Self {
        Self {
            id: Self::next_id(),
            key,
            answers: Some(Arc::clone(answers)),
            note: None,
        }
    }

    /// The same, with a line of the audit log that the answer ends.
    pub(super) fn noted(mut self, note: Option<AuditNote>) -> Self {
        self.note = note.map(Box::new);
        self
    }

    /// A number that no ticket has or will have: for waits within the node that share the tickets' numbers.
    pub fn next_id() -> u64 {
        NEXT_ID.fetch_add(1, Ordering::Relaxed)
    }

    /// Different for all tickets of the process, and never 0.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Gives the answer. Never blocks.
    pub fn answer(mut self, answer: Answer) {
        if let Some(mut note) = self.note.take() {
            // A repeated start is about the flow of the first one, and a refused one has made none. After some codes it is not known.
            match &answer {
                Answer::Refused(refusal) if may_run_after(&refusal.code) => {}
                answer => note.names_flow(answer.flow_id().map(|flow| flow.to_string())),
            }
            note.end(match &answer {
                Answer::Refused(refusal) => Some(&refusal.code),
                _ => None,
            });
        }
        if let Some(answers) = self.answers.take() {
            answers.put(self.id, self.key, answer);
        }
    }
}

/// Returns whether a flow may run although its start was answered with a code.
fn may_run_after(code: &str) -> bool {
    [&NODE_STOPPING, &STORE_FAILED, &INTERNAL]
        .iter()
        .any(|info| info.code == code)
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(answers) = self.answers.take() {
            let refusal =
                Refusal::listed(&NODE_STOPPING, "the node stopped before it could answer");
            answers.put(self.id, self.key, Answer::Refused(refusal));
        }
    }
}

/// An answer on its way to the client.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) ticket: u64,
    pub(super) key: u64,
    pub(super) answer: Answer,
}

/// The queue of arrived answers. It holds at most one for each ticket.
#[derive(Debug, Default)]
pub(super) struct Answers {
    state: Mutex<AnswerQueue>,
}

#[derive(Debug, Default)]
struct AnswerQueue {
    arrived: VecDeque<Arrived>,
    waker: Option<Waker>,
    closed: bool,
}

impl Answers {
    /// Takes all arrived answers, in addition to those in `into`. Wakes the task later if there are none.
    pub(super) fn poll_take(&self, cx: &mut Context<'_>, into: &mut VecDeque<Arrived>) -> Poll<()> {
        let mut state = self.lock();
        if state.arrived.is_empty() {
            match &mut state.waker {
                Some(waker) => waker.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            return Poll::Pending;
        }
        if into.is_empty() {
            std::mem::swap(into, &mut state.arrived);
        } else {
            into.append(&mut state.arrived);
        }
        Poll::Ready(())
    }

    /// Waits for one answer.
    pub(super) async fn one(&self) -> Answer {
        let mut arrived = VecDeque::new();
        std::future::poll_fn(|cx| self.poll_take(cx, &mut arrived)).await;
        match arrived.pop_front() {
            Some(arrived) => arrived.answer,
            None => Answer::Refused(Refusal::listed(&NODE_STOPPING, "no answer arrived")),
        }
    }

    /// Closes the queue. Later answers are dropped.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.waker = None;
        state.arrived = VecDeque::new();
    }

    fn put(&self, ticket: u64, key: u64, answer: Answer) {
        let waker = {
            let mut state = self.lock();
            if state.closed {
                return;
            }
            state.arrived.push_back(Arrived {
                ticket,
                key,
                answer,
            });
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, AnswerQueue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
