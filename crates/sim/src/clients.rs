//! The clients. They start flows, start them again if no answer came, and compare all answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use flow::FlowId;
use kernel::rows::Outcome;
use kernel::{Event, Reply, Start, Token, Wait};
use ledger::TxId;

use crate::chance::Chance;
use crate::planned_flow::PlannedFlow;

/// The failure of a flow whose coins other flows kept locked.
const LOCKED_OUT: &str = "vault.selection_timeout";
/// Maximum number of times that a client starts its flow again after this failure, and the pause before each.
const STARTED_AGAIN_MAX: u32 = 30;
const AGAIN_US: u64 = 700_000;

/// A flow and its client's knowledge of it.
pub struct Client {
    pub plan: PlannedFlow,
    pub client_id: String,
    /// Index of the current wait.
    wait: usize,
    flow: Option<FlowId>,
    pub outcome: Option<Arc<Outcome>>,
    pub done: bool,
    /// Tokens of answers that are still to come.
    open: BTreeSet<u64>,
    /// Times that its node went down before it answered.
    unanswered: u64,
    /// Number of times that the client has started the flow again, with a new client id.
    again: u32,
    /// The transactions of each of its flows that failed after the first transaction and were started again.
    pub stayed: Vec<Vec<TxId>>,
}

/// A client's reaction to an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Do nothing.
    Nothing,
    /// Start again, or ask for more, after this many microseconds.
    Again { client: usize, after_us: u64 },
    /// The answer is wrong.
    Wrong(String),
}

/// All clients and their open requests.
#[derive(Default)]
pub struct Clients {
    pub all: Vec<Client>,
    /// The client, the wait and the number of further starts (`Client::again`) of each token.
    tokens: BTreeMap<u64, (usize, Wait, u32)>,
    next_token: u64,
    /// The client whose cancellation each token stands for.
    cancellations: BTreeMap<u64, usize>,
    /// Answers to uploads that are still to come.
    uploads: BTreeSet<u64>,
    /// Number of clients that are not done.
    pub unfinished: usize,
}

impl Clients {
    /// Adds flows to be started, and returns the indices of their clients.
    pub fn add(&mut self, flows: Vec<PlannedFlow>) -> std::ops::Range<usize> {
        let first = self.all.len();
        for plan in flows {
            self.unfinished += 1;
            self.all.push(Client {
                plan,
                client_id: format!("client-{}", self.all.len()),
                wait: 0,
                flow: None,
                outcome: None,
                done: false,
                open: BTreeSet::new(),
                unanswered: 0,
                again: 0,
                stayed: Vec::new(),
            });
        }
        first..self.all.len()
    }

    /// Returns the start request of a client, or `None` if it is done.
    pub fn start(&mut self, client: usize, loses_id: bool, chance: &mut Chance) -> Option<Event> {
        self.next_token += 1;
        let token = self.next_token;
        let one = &mut self.all[client];
        if one.done {
            return None;
        }
        let wait = one.plan.waits[one.wait];
        one.open.insert(token);
        self.tokens.insert(token, (client, wait, one.again));
        let client_id = match one.unanswered {
            times if loses_id && times > 0 => format!("{}-{times}", one.client_id),
            _ => one.client_id.clone(),
        };
        let mut flow = [0; 16];
        flow.copy_from_slice(&chance.bytes32()[..16]);
        Some(Event::Start(Box::new(Start {
            flow: FlowId(flow),
            seed: chance.bytes32().into(),
            name: one.plan.name.to_owned(),
            version: None,
            args: one.plan.args.clone(),
            user: "somebody".to_owned(),
            client_id: Some(client_id),
            wait,
            token: Token(token),
        })))
    }

    /// Returns a fresh token for the answer to an upload.
    pub fn upload(&mut self) -> Token {
        self.next_token += 1;
        self.uploads.insert(self.next_token);
        Token(self.next_token)
    }

    /// Returns the request by which a client cancels its flow.
    pub fn cancel(&mut self, client: usize) -> Option<Event> {
        let one = &self.all[client];
        let flow = one.flow.filter(|_| !one.done)?;
        self.next_token += 1;
        let token = Token(self.next_token);
        self.cancellations.insert(token.0, client);
        Some(Event::Cancel { flow, token })
    }

    /// Returns the client and the wait of an answer.
    pub fn waiting_for(&self, token: Token) -> Option<(usize, Wait)> {
        let (client, wait, _) = self.tokens.get(&token.0)?;
        Some((*client, *wait))
    }

    /// Handles an answer.
    pub fn answered(&mut self, token: Token, reply: &Reply) -> Next {
        if self.cancellations.remove(&token.0).is_some() {
            // The flow may be killed, about to be killed or over. Its own outcome tells.
            return match reply {
                Reply::Done | Reply::Rejected(_) => Next::Nothing,
                other => Next::Wrong(format!("a cancellation was answered {other:?}")),
            };
        }
        if self.uploads.remove(&token.0) {
            return match reply {
                Reply::FileKnown { .. } => Next::Nothing,
                other => Next::Wrong(format!("an upload was answered {other:?}")),
            };
        }
        let Some((client, wait, of_start)) = self.tokens.remove(&token.0) else {
            return Next::Wrong(format!("an unexpected or second answer: {reply:?}"));
        };
        let one = &mut self.all[client];
        one.open.remove(&token.0);
        if of_start != one.again {
            // The answer is about a start that has failed.
            return Next::Nothing;
        }
        let again = |after_us| Next::Again { client, after_us };
        match reply {
            Reply::Busy { retry_after_ms } => again(retry_after_ms * 1_000),
            Reply::Accepted { flow }
            | Reply::Running {
                flow,
                standing: kernel::Standing::Running,
                ..
            } => {
                if *one.flow.get_or_insert(*flow) != *flow {
                    return Next::Wrong(format!("{} runs as two flows", one.client_id));
                }
                one.step(wait).map_or(Next::Nothing, |()| again(1_000))
            }
            Reply::Ended {
                outcome, delivered, ..
            } => {
                let before = one.outcome.get_or_insert_with(|| Arc::clone(outcome));
                if before != outcome || *one.flow.get_or_insert(outcome.flow) != outcome.flow {
                    return Next::Wrong(format!(
                        "{} came to two ends: {before:?} and {outcome:?}",
                        one.client_id
                    ));
                }
                if wait == Wait::Delivered && !delivered {
                    return Next::Wrong(format!(
                        "{} was not delivered: {outcome:?}",
                        one.client_id
                    ));
                }
                if wait == Wait::Delivered && !one.done {
                    if one.start_again() {
                        return again(AGAIN_US);
                    }
                    one.done = true;
                    self.unfinished -= 1;
                    return Next::Nothing;
                }
                one.step(wait).map_or(Next::Nothing, |()| again(1_000))
            }
            other => Next::Wrong(format!("{} was answered {other:?}", one.client_id)),
        }
    }

    /// Discards the open requests to a node that went down. Returns the clients that must ask again.
    pub fn node_is_gone(&mut self, node: usize) -> Vec<usize> {
        let gone =
            |(_, (client, ..)): &(&u64, &(usize, Wait, u32))| self.all[*client].plan.node == node;
        let tokens: Vec<u64> = self
            .tokens
            .iter()
            .filter(gone)
            .map(|(token, _)| *token)
            .collect();
        let mut clients = BTreeSet::new();
        for token in tokens {
            if let Some((client, ..)) = self.tokens.remove(&token) {
                self.all[client].open.remove(&token);
                if clients.insert(client) {
                    self.all[client].unanswered += 1;
                }
            }
        }
        clients.into_iter().collect()
    }

    /// Describes the clients that are not done.
    pub fn stuck(&self) -> Vec<String> {
        let stuck = self.all.iter().filter(|client| !client.done);
        stuck
            .map(|one| {
                let known = one.outcome.as_ref().map(|o| &o.result);
                format!(
                    "{} at node {} ({}, flow {:?}), waiting for {:?}, {} answers open, outcome {known:?}",
                    one.client_id,
                    one.plan.node,
                    one.plan.name,
                    one.flow,
                    one.plan.waits.get(one.wait),
                    one.open.len()
                )
            })
            .collect()
    }
}

impl Client {
    /// Returns whether the flow ended because the client cancelled it.
    pub fn is_killed(&self) -> bool {
        let ended = self.outcome.as_ref();
        let error = ended.and_then(|outcome| outcome.result.as_ref().err());
        self.plan.cancelled_after_us.is_some() && error.is_some_and(|e| e.code == "flow.killed")
    }

    /// Prepares another start, with a new client id, of a flow whose coins stayed locked. Returns false if the client accepts the
    /// outcome.
    fn start_again(&mut self) -> bool {
        let error = self.outcome.as_ref().map(|outcome| &outcome.result);
        let is_locked_out = matches!(error, Some(Err(error)) if error.code == LOCKED_OUT);
        if !self.plan.is_repeatable || !is_locked_out || self.again >= STARTED_AGAIN_MAX {
            return false;
        }
        self.again += 1;
        let failed = self
            .outcome
            .take()
            .map(|outcome| outcome.transactions.clone());
        self.stayed
            .extend(failed.filter(|stayed| !stayed.is_empty()));
        self.client_id = format!("{}+{}", self.client_id, self.again);
        (self.wait, self.flow) = (0, None);
        true
    }

    /// Ends one wait. Returns `None` if the wait had ended before or is the last one.
    fn step(&mut self, wait: Wait) -> Option<()> {
        if self.done || self.plan.waits[self.wait] != wait || self.wait + 1 >= self.plan.waits.len()
        {
            return None;
        }
        self.wait += 1;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use ledger::Rejection;

    use super::*;
    use crate::planned_flow::Effect;

    fn ended(flow: u8, result: Result<Vec<u8>, &str>) -> Reply {
        let outcome = Outcome {
            flow: FlowId([flow; 16]),
            name: "cash.lock".to_owned(),
            version: 1,
            result: result.map_err(|code| Rejection::new(code, "failed", "")),
            transactions: vec![TxId::from_array([flow; 32])],
        };
        Reply::Ended {
            outcome: Arc::new(outcome),
            delivered: true,
            refused: Vec::new(),
            undelivered: Vec::new(),
        }
    }

    /// Starts the flow of the only client and returns its token and client id.
    fn start(clients: &mut Clients) -> (Token, String) {
        match clients.start(0, false, &mut Chance::new(1)) {
            Some(Event::Start(start)) => (start.token, start.client_id.unwrap_or_default()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_client_starts_again_only_what_was_locked_out() {
        let table = [
            (true, LOCKED_OUT, true),
            (false, LOCKED_OUT, false),
            (true, "vault.insufficient_funds", false),
        ];
        for (is_repeatable, code, again) in table {
            let mut clients = Clients::default();
            clients.add(vec![PlannedFlow {
                node: 0,
                at_us: 0,
                name: "cash.lock",
                args: Vec::new(),
                effect: Effect::Nothing,
                waits: vec![Wait::Delivered],
                cancelled_after_us: None,
                upload: None,
                is_repeatable,
                stays: Vec::new(),
            }]);
            let (token, first) = start(&mut clients);
            let (late, _) = start(&mut clients);
            let next = clients.answered(token, &ended(1, Err(code)));
            assert_eq!(next != Next::Nothing, again, "{code}");
            assert_eq!(clients.unfinished, usize::from(again), "{code}");
            let stayed = vec![vec![TxId::from_array([1; 32])]; usize::from(again)];
            assert_eq!(clients.all[0].stayed, stayed, "{code}");
            if again {
                let (token, second) = start(&mut clients);
                assert_ne!(first, second);
                let of_first = clients.answered(late, &ended(1, Err(code)));
                assert_eq!(of_first, Next::Nothing);
                clients.answered(token, &ended(2, Ok(Vec::new())));
                assert_eq!(clients.unfinished, 0);
            }
        }
    }
}
