//! The requests and transactions of a history.

use std::collections::HashMap;
use std::fmt;

use crate::error::HistoryError;
use crate::ids::{Digest, StateRef};

/// A place in the book's list of transactions.
pub(crate) type TransactionPlace = usize;

/// A request or an answer, as messages name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) line: u64,
    pub(crate) at_us: u64,
    pub(crate) client: u64,
    pub(crate) request: u64,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            client, request, ..
        } = self;
        write!(
            f,
            "request {request} of client {client} at {}",
            seconds(self.at_us)
        )
    }
}

/// Returns a time for people.
pub(crate) fn seconds(at_us: u64) -> String {
    format!("{}.{:06} s", at_us / 1_000_000, at_us % 1_000_000)
}

/// A transaction and its fate.
#[derive(Debug)]
pub(crate) struct Transaction {
    pub(crate) id: Digest,
    consumed_as: Digest,
    pub(crate) consumes: Vec<StateRef>,
    pub(crate) reads: Vec<StateRef>,
    /// The first answer that signed it.
    pub(crate) signed: Option<Mark>,
    /// The first refusal because one of its inputs is consumed.
    pub(crate) refused: Option<Mark>,
    /// Whether any request for it was answered.
    pub(crate) is_answered: bool,
    /// The last request for it in the end phase, and its outcome.
    pub(crate) asked_again: Option<(Mark, &'static str)>,
    /// Whether a request of the end phase was answered with a signature.
    pub(crate) is_signed_again: bool,
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) asked: Mark,
    pub(crate) place: TransactionPlace,
    pub(crate) is_end_phase: bool,
    has_outcome: bool,
}

/// All requests and transactions so far. Fails if a history contradicts itself.
#[derive(Debug, Default)]
pub(crate) struct Book {
    transactions: Vec<Transaction>,
    by_id: HashMap<Digest, TransactionPlace>,
    by_hash: HashMap<Digest, TransactionPlace>,
    requests: HashMap<(u64, u64), Request>,
}

impl Book {
    /// Records a request.
    pub(crate) fn ask(
        &mut self,
        asked: Mark,
        (id, consumed_as): (Digest, Digest),
        consumes: Vec<StateRef>,
        reads: Vec<StateRef>,
        is_end_phase: bool,
    ) -> Result<(), HistoryError> {
        let line = asked.line;
        let named = (self.by_id.get(&id), self.by_hash.get(&consumed_as));
        let place = match named {
            (None, None) => {
                let place = self.transactions.len();
                self.by_id.insert(id, place);
                self.by_hash.insert(consumed_as, place);
                self.transactions.push(Transaction {
                    id,
                    consumed_as,
                    consumes,
                    reads,
                    signed: None,
                    refused: None,
                    is_answered: false,
                    asked_again: None,
                    is_signed_again: false,
                });
                place
            }
            (Some(place), Some(of_hash)) if place == of_hash => {
                let known = &self.transactions[*place];
                if known.consumes != consumes || known.reads != reads {
                    return Err(HistoryError::Contradiction {
                        line,
                        transaction: id,
                    });
                }
                *place
            }
            _ => {
                return Err(HistoryError::Contradiction {
                    line,
                    transaction: id,
                });
            }
        };
        let request = Request {
            asked,
            place,
            is_end_phase,
            has_outcome: false,
        };
        if self
            .requests
            .insert((asked.client, asked.request), request)
            .is_some()
        {
            return Err(HistoryError::RepeatedRequest {
                line,
                client: asked.client,
                request: asked.request,
            });
        }
        if is_end_phase {
            self.transactions[place].asked_again = Some((asked, "not answered"));
        }
        Ok(())
    }

    /// Records the outcome of a request, and returns the request.
    pub(crate) fn answer(
        &mut self,
        answered: Mark,
        outcome: Outcome,
    ) -> Result<Request, HistoryError> {
        let Mark {
            line,
            client,
            request,
            ..
        } = answered;
        let found = self.requests.get_mut(&(client, request));
        let found = found.ok_or(HistoryError::UnknownRequest {
            line,
            client,
            request,
        })?;
        if found.has_outcome {
            return Err(HistoryError::AnsweredTwice {
                line,
                client,
                request,
            });
        }
        found.has_outcome = true;
        let transaction = &mut self.transactions[found.place];
        transaction.is_answered |= outcome != Outcome::Unanswered;
        if found.is_end_phase {
            transaction.is_signed_again |= outcome == Outcome::Signed;
            transaction.asked_again = Some((found.asked, outcome.text()));
        }
        Ok(*found)
    }

    /// Fails if a request has no outcome.
    pub(crate) fn close(&self) -> Result<(), HistoryError> {
        let open = self.requests.values().filter(|one| !one.has_outcome);
        match open.map(|one| one.asked).min_by_key(|asked| asked.line) {
            None => Ok(()),
            Some(Mark {
                line,
                client,
                request,
                ..
            }) => Err(HistoryError::NoOutcome {
                line,
                client,
                request,
            }),
        }
    }

    /// Returns a transaction of the list.
    pub(crate) fn transaction(&self, place: TransactionPlace) -> &Transaction {
        &self.transactions[place]
    }

    /// Returns a transaction of the list, to record its fate.
    pub(crate) fn transaction_mut(&mut self, place: TransactionPlace) -> &mut Transaction {
        &mut self.transactions[place]
    }

    /// Returns all transactions in the order of their first requests.
    pub(crate) fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }

    /// Returns the transaction that conflicts name by this hash, if a client has asked for it so far.
    pub(crate) fn named(&self, consumed_as: &Digest) -> Option<TransactionPlace> {
        let place = *self.by_hash.get(consumed_as)?;
        debug_assert_eq!(self.transactions[place].consumed_as, *consumed_as);
        Some(place)
    }
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Signed,
    Conflict,
    Refused,
    Unanswered,
}

impl Outcome {
    fn text(self) -> &'static str {
        match self {
            Self::Signed => "signed",
            Self::Conflict => "refused for a conflict",
            Self::Refused => "refused",
            Self::Unanswered => "not answered",
        }
    }
}
