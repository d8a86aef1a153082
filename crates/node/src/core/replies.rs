//! Who waits for which reply of the kernel.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use api::FlowStatus;
use kernel::{Reply, Standing, Token};
use ledger::Rejection;

use crate::http::{Answer, Ended, Output, Refusal, Ticket};

/// Open waits; a token is its ticket's id.
#[derive(Default)]
pub(super) struct Replies {
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    waits: HashMap<u64, Wait>,
    failed: Option<Rejection>,
}

enum Wait {
    Ticket(Ticket),
    Once(tokio::sync::oneshot::Sender<Reply>),
}

impl Replies {
    /// Registers tickets, all under one lock. After a failure they are answered at once, and none is registered.
    pub(super) fn register(&self, tickets: impl IntoIterator<Item = Ticket>) -> bool {
        let mut open = self.lock();
        if let Some(rejection) = open.failed.clone() {
            drop(open);
            for ticket in tickets {
                ticket.answer(Answer::Refused(rejection.clone().into()));
            }
            return false;
        }
        open.waits
            .extend(tickets.into_iter().map(|t| (t.id(), Wait::Ticket(t))));
        true
    }

    /// A wait inside the node. Its token comes from the same numbers as the tickets'.
    pub(super) fn once(&self, token: Token) -> tokio::sync::oneshot::Receiver<Reply> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let mut open = self.lock();
        match open.failed.clone() {
            // The receiver is in hand, so this does not fail.
            Some(rejection) => drop(sender.send(Reply::Rejected(rejection))),
            None => drop(open.waits.insert(token.0, Wait::Once(sender))),
        }
        receiver
    }

    /// Ends waits, all under one lock.
    pub(super) fn answer_all(&self, replies: Vec<(Token, Reply)>) {
        let mut ready = Vec::with_capacity(replies.len());
        let mut open = self.lock();
        for (token, reply) in replies {
            if let Some(wait) = open.waits.remove(&token.0) {
                ready.push((wait, reply));
            }
        }
        drop(open);
        for (wait, reply) in ready {
            wait.end(reply);
        }
    }

    /// Forgets waits without an answer.
    pub(super) fn forget(&self, tokens: &[u64]) {
        let mut open = self.lock();
        for token in tokens {
            open.waits.remove(token);
        }
    }

    /// Ends all waits, and all that come later, with this rejection.
    pub(super) fn fail(&self, rejection: Rejection) {
        let mut open = self.lock();
        let waits = std::mem::take(&mut open.waits);
        open.failed.get_or_insert_with(|| rejection.clone());
        drop(open);
        for wait in waits.into_values() {
            wait.end(Reply::Rejected(rejection.clone()));
        }
    }

    /// Why everything is refused, if it is.
    pub(super) fn failure(&self) -> Option<Rejection> {
        self.lock().failed.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wait {
    fn end(self, reply: Reply) {
        match self {
            Wait::Ticket(ticket) => ticket.answer(answer_of(reply)),
            // The one who asked may be gone; then nobody misses it.
            Wait::Once(sender) => drop(sender.send(reply)),
        }
    }
}

fn answer_of(reply: Reply) -> Answer {
    match reply {
        Reply::Accepted { flow } => Answer::Accepted { flow_id: flow },
        Reply::Running {
            flow,
            step,
            standing,
        } => Answer::Running {
            flow_id: flow,
            step,
            status: status_of(standing),
        },
        Reply::Ended {
            outcome,
            delivered,
            refused,
        } => {
            let output = outcome.result.map(|bytes| Output::Encoded {
                flow: outcome.name.into(),
                version: outcome.version,
                bytes,
            });
            Answer::Ended(Box::new(Ended {
                flow_id: outcome.flow,
                output,
                transactions: outcome.transactions,
                delivered,
                refused,
            }))
        }
        Reply::Busy { retry_after_ms } => Answer::Refused(Refusal::busy(retry_after_ms)),
        Reply::Rejected(rejection) => Answer::Refused(rejection.into()),
        Reply::Done
        | Reply::Consents(_)
        | Reply::Integrity(_)
        | Reply::FileKnown { .. }
        | Reply::Flows(_)
        | Reply::Noted { .. }
        | Reply::Locks { .. }
        | Reply::Ordered(_) => Answer::Done,
    }
}

/// As the API writes it.
pub(super) fn status_of(standing: Standing) -> FlowStatus {
    match standing {
        Standing::Running => FlowStatus::Running,
        Standing::Retrying => FlowStatus::Retrying,
        Standing::Parked => FlowStatus::Parked,
        Standing::Paused => FlowStatus::Paused,
    }
}
