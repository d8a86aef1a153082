//! The callers that wait for replies of the kernel.

use std::sync::{Arc, OnceLock};

use api::FlowStatus;
use kernel::{Reply, Standing, Token};
use ledger::Rejection;
use runtime::Waiters;

use crate::http::{Answer, Ended, Output, Refusal, Ticket};

/// The callers that wait, by token. A token is the number of a ticket.
#[derive(Default)]
pub(super) struct Replies {
    waiting: Waiters<Wait>,
    /// The reason of the refusal of all requests. It is set before the waiters are closed.
    failure: OnceLock<Rejection>,
}

enum Wait {
    Ticket(Ticket),
    Once(tokio::sync::oneshot::Sender<Reply>),
}

impl Replies {
    /// Registers tickets, all under one lock. After a failure they are answered at once, and `false` is returned.
    pub(super) fn register(&self, tickets: impl IntoIterator<Item = Ticket>) -> bool {
        let tickets = tickets.into_iter();
        self.register_all(tickets.map(|ticket| (ticket.id(), Wait::Ticket(ticket))))
    }

    /// Registers a wait inside the node. Its token comes from the same numbers as the tickets'.
    pub(super) fn once(&self, token: Token) -> tokio::sync::oneshot::Receiver<Reply> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.register_all([(token.0, Wait::Once(sender))]);
        receiver
    }

    fn register_all(&self, waits: impl IntoIterator<Item = (u64, Wait)>) -> bool {
        let Err(refused) = self.waiting.register(waits) else {
            return true;
        };
        if let Some(rejection) = self.failure.get() {
            for (_, wait) in refused {
                wait.end(Reply::Rejected(rejection.clone()));
            }
        }
        false
    }

    /// Ends waits, all under one lock.
    pub(super) fn answer_all(&self, replies: Vec<(Token, Reply)>) {
        let replies = replies.into_iter().map(|(token, reply)| (token.0, reply));
        for (wait, reply) in self.waiting.take_all(replies) {
            wait.end(reply);
        }
    }

    /// Forgets waits without an answer.
    pub(super) fn forget(&self, tokens: &[u64]) {
        self.waiting.forget(tokens);
    }

    /// Ends all waits, and all later ones, with the first rejection.
    pub(super) fn fail(&self, rejection: Rejection) {
        let rejection = self.failure.get_or_init(|| rejection);
        for wait in self.waiting.close() {
            wait.end(Reply::Rejected(rejection.clone()));
        }
    }

    /// Returns the reason of the refusal of all requests, if they are refused.
    pub(super) fn failure(&self) -> Option<Rejection> {
        self.failure.get().cloned()
    }
}

impl Wait {
    fn end(self, reply: Reply) {
        match self {
            Wait::Ticket(ticket) => ticket.answer(answer_of(reply)),
            // The caller may be gone. Then the reply is dropped.
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
            undelivered,
        } => {
            // The kernel keeps the outcome too, for repeated questions.
            let outcome = Arc::unwrap_or_clone(outcome);
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
                undelivered,
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

/// Returns the status as the API writes it.
pub(super) fn status_of(standing: Standing) -> FlowStatus {
    match standing {
        Standing::Running => FlowStatus::Running,
        Standing::Retrying => FlowStatus::Retrying,
        Standing::Parked => FlowStatus::Parked,
        Standing::Paused => FlowStatus::Paused,
    }
}
