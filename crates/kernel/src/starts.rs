//! Admission: which starts run, which wait, and which are told "busy"; exactly-once starts by client id.

use std::collections::VecDeque;

use flow::{FlowError, FlowId, Kill, StartRecord};
use primitives::Encode;

use crate::clients::{Caller, LiveFlow, client_of, start_digest};
use crate::errors;
use crate::event::{Reply, Start, Token, Wait};
use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure, Table};
use crate::rows::{ClientRow, OUTCOME_TRANSACTIONS_MAX, Outcome, client_key};

/// What "busy" suggests before a rate is known.
const RETRY_AFTER_MS: u64 = 250;

/// Starts that wait, and whether the node drains.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    queue: VecDeque<Start>,
    /// Flows started by clients that have not ended.
    running: usize,
    draining: bool,
    drained: bool,
    may_run: bool,
}

impl Starts {
    pub(crate) fn queued(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn drain(&mut self) {
        self.draining = true;
    }

    pub(crate) fn is_drained(&self, live: usize) -> bool {
        self.draining && !self.drained && live == 0 && self.queue.is_empty()
    }

    pub(crate) fn drain_reported(&mut self) {
        self.drained = true;
    }

    pub(crate) fn has_runnable(&self) -> bool {
        self.may_run && !self.queue.is_empty()
    }

    pub(crate) fn resumed(&mut self) {
        self.running += 1;
    }
}

impl Kernel {
    pub(crate) fn on_start(&mut self, start: Start, reads: &dyn Reads) -> Result<(), StoreFailure> {
        if self.known_client(&start, reads)? {
            return Ok(());
        }
        if self.starts.draining {
            let text = "the node is being drained";
            let rejection = errors::rejection(&errors::DRAINING, text);
            self.reply(start.token, Reply::Rejected(rejection));
        } else if self.starts.running < self.options.live_flows_max && self.starts.queue.is_empty()
        {
            self.run_start(start);
        } else if self.starts.queue.len() < self.options.start_queue_max {
            self.starts.queue.push_back(start);
        } else {
            self.figures.starts_busy += 1;
            self.reply(
                start.token,
                Reply::Busy {
                    retry_after_ms: RETRY_AFTER_MS,
                },
            );
        }
        Ok(())
    }

    /// Whether the start repeats an earlier one; then it is answered, or attached.
    fn known_client(&mut self, start: &Start, reads: &dyn Reads) -> Result<bool, StoreFailure> {
        let Some(client_id) = &start.client_id else {
            return Ok(false);
        };
        let key = client_key(&start.user, client_id);
        let digest = start_digest(&start.name, start.version, &start.args);
        if let Some(flow) = self.clients.by_client(&key) {
            let same = self.clients.live(&flow).and_then(|live| live.client);
            if same.is_some_and(|(_, d)| d == digest) {
                self.on_attach(flow, start.wait, start.token, reads)?;
            } else {
                self.client_id_reused(start.token, client_id);
            }
            return Ok(true);
        }
        if let Some(queued) = self
            .starts
            .queue
            .iter()
            .find(|queued| queued.user == start.user && queued.client_id == start.client_id)
        {
            // Not durable yet, so nothing was promised: the later caller is told to come again.
            let busy = start_digest(&queued.name, queued.version, &queued.args) == digest;
            if busy {
                self.reply(
                    start.token,
                    Reply::Busy {
                        retry_after_ms: RETRY_AFTER_MS,
                    },
                );
            } else {
                self.client_id_reused(start.token, client_id);
            }
            return Ok(true);
        }
        let row = match self.clients.ended_client(&key) {
            Some(row) => Some(row),
            None => match reads.get(Table::ClientIds, key.as_bytes())? {
                Some(bytes) => Some(decode_client(&bytes)?),
                None => None,
            },
        };
        let Some(row) = row else { return Ok(false) };
        if row.start_digest == digest {
            self.answer_ended(row.outcome, start.wait, start.token);
        } else {
            self.client_id_reused(start.token, client_id);
        }
        Ok(true)
    }

    fn client_id_reused(&mut self, token: Token, client_id: &str) {
        let text = format!("client id '{client_id}' stands for another start");
        let rejection = errors::rejection(&errors::CLIENT_ID_REUSED, text);
        self.reply(token, Reply::Rejected(rejection));
    }

    fn run_start(&mut self, start: Start) {
        let version = match start.version {
            Some(version) => version,
            None => match self.identity.flows.current_version(&start.name) {
                Ok(version) => version,
                Err(error) => {
                    self.reply(start.token, Reply::Rejected(error.to_rejection()));
                    return;
                }
            },
        };
        let client = start.client_id.as_ref().map(|client_id| {
            (
                client_key(&start.user, client_id),
                start_digest(&start.name, start.version, &start.args),
            )
        });
        let caller = Caller {
            user: start.user,
            client_id: start.client_id,
            start_digest: client.map(|(_, digest)| digest),
        };
        let record = StartRecord {
            id: start.flow,
            flow: start.name,
            version,
            args: start.args,
            seed: start.seed,
            at: self.now,
            origin: None,
            caller: caller.to_bytes(),
        };
        let mut live = LiveFlow {
            client,
            started_here: true,
            ..LiveFlow::default()
        };
        if start.wait == Wait::Accepted {
            // Sent with the round's commit, which holds the flow's first journal row or its outcome.
            self.reply(start.token, Reply::Accepted { flow: start.flow });
        } else {
            live.waits.push((start.token, start.wait));
        }
        self.clients.begin(start.flow, live);
        self.starts.running += 1;
        match self.engine.start(record, &mut self.engine_out) {
            Ok(()) => {
                self.figures.flows_started += 1;
                self.take_engine_actions();
            }
            Err(error) => {
                self.starts.running -= 1;
                self.clients.forget(&start.flow);
                self.round.then.retain(
                    |action| !matches!(action, crate::event::Action::Reply { token, .. } if *token == start.token),
                );
                self.reply(start.token, Reply::Rejected(error.to_rejection()));
            }
        }
    }

    /// Starts what waits, as far as there is room.
    pub(crate) fn start_queued(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        self.starts.may_run = false;
        while self.starts.running < self.options.live_flows_max {
            let Some(start) = self.starts.queue.pop_front() else {
                break;
            };
            self.run_start(start);
            self.settle(reads)?;
        }
        Ok(())
    }

    pub(crate) fn on_flow_ended(
        &mut self,
        flow: FlowId,
        start: &StartRecord,
        caller: Option<Caller>,
        result: Result<Vec<u8>, FlowError>,
    ) {
        match &result {
            Ok(_) => self.figures.flows_done += 1,
            Err(_) => self.figures.flows_failed += 1,
        }
        let out = self.selection.release(flow.0, self.now);
        self.on_selection(out);
        self.forget_requests_of(flow);
        let transactions = match self.clients.live_mut(&flow) {
            Some(live) => std::mem::take(&mut live.transactions),
            None => Vec::new(),
        };
        let outcome = Outcome {
            flow,
            name: start.flow.clone(),
            version: start.version,
            result: result.map_err(|e| e.to_rejection()),
            transactions,
        };
        let live = self.clients.end(&outcome).unwrap_or_default();
        if start.origin.is_none() {
            self.starts.running = self.starts.running.saturating_sub(1);
            self.starts.may_run = true;
        }
        if let Some((key, start_digest)) = caller.as_ref().and_then(client_of) {
            let row = ClientRow {
                start_digest,
                outcome: outcome.clone(),
            };
            self.round
                .batch
                .put(Table::ClientIds, key.as_bytes().to_vec(), row.to_bytes());
            self.clients.remember_client(key, row, self.round_number());
        }
        for (token, wait) in live.waits {
            self.answer_ended(outcome.clone(), wait, token);
        }
    }

    pub(crate) fn on_flow_parked(&mut self, flow: FlowId, reason: FlowError) {
        self.figures.flows_parked += 1;
        self.log(
            true,
            "flow.parked",
            format!("flow {flow} is parked: {reason}"),
        );
        let text = reason.to_string();
        let waits = match self.clients.live_mut(&flow) {
            Some(live) => {
                live.parked = Some(text.clone());
                std::mem::take(&mut live.waits)
            }
            None => Vec::new(),
        };
        for (token, _) in waits {
            self.reply(
                token,
                Reply::Running {
                    flow,
                    step: text.clone(),
                    parked: true,
                },
            );
        }
    }

    fn answer_ended(&mut self, outcome: Outcome, wait: Wait, token: Token) {
        let owed: Vec<_> = outcome
            .transactions
            .iter()
            .copied()
            .filter(|id| self.links.is_owed(id))
            .collect();
        if wait == Wait::Delivered && !owed.is_empty() {
            self.clients.wait_for_delivery(outcome, vec![token], &owed);
            return;
        }
        self.reply(
            token,
            Reply::Ended {
                delivered: owed.is_empty(),
                outcome,
            },
        );
    }

    pub(crate) fn on_attach(
        &mut self,
        flow: FlowId,
        wait: Wait,
        token: Token,
        _reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if let Some(live) = self.clients.live_mut(&flow) {
            let parked = live.parked.clone();
            if wait == Wait::Accepted || parked.is_some() {
                let is_parked = parked.is_some();
                let step = parked.unwrap_or_else(|| live.step.to_owned());
                self.reply(
                    token,
                    Reply::Running {
                        flow,
                        step,
                        parked: is_parked,
                    },
                );
            } else {
                live.waits.push((token, wait));
            }
        } else if let Some(outcome) = self.clients.outcome(&flow) {
            self.answer_ended(outcome, wait, token);
        } else if self.starts.queue.iter().any(|start| start.flow == flow) {
            self.reply(
                token,
                Reply::Running {
                    flow,
                    step: "queued".to_owned(),
                    parked: false,
                },
            );
        } else {
            let text = format!("no flow {flow}");
            let rejection = errors::rejection(&errors::UNKNOWN_FLOW_ID, text);
            self.reply(token, Reply::Rejected(rejection));
        }
        Ok(())
    }

    pub(crate) fn on_cancel(&mut self, flow: FlowId, token: Token) {
        let killed = self.engine.kill(flow, &mut self.engine_out);
        self.take_engine_actions();
        let reply = match killed {
            Kill::Done => Reply::Done,
            Kill::Waiting => {
                let text = format!("flow {flow} waits for the notary");
                Reply::Rejected(errors::rejection(&errors::KILL_PENDING, text))
            }
            Kill::Unknown => {
                let text = format!("no live flow {flow}");
                Reply::Rejected(errors::rejection(&errors::UNKNOWN_FLOW_ID, text))
            }
        };
        self.reply(token, reply);
    }

    pub(crate) fn on_remove_client(
        &mut self,
        user: &str,
        client_id: &str,
        token: Token,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let key = client_key(user, client_id);
        let known = self.clients.ended_client(&key).is_some()
            || reads.get(Table::ClientIds, key.as_bytes())?.is_some();
        if known {
            self.round
                .batch
                .delete(Table::ClientIds, key.as_bytes().to_vec());
            self.clients.forget_client(&key);
            self.reply(token, Reply::Done);
        } else {
            let text = format!("no ended flow has the client id '{client_id}'");
            let rejection = errors::rejection(&errors::UNKNOWN_CLIENT_ID, text);
            self.reply(token, Reply::Rejected(rejection));
        }
        Ok(())
    }

    /// A transaction was recorded by a flow.
    pub(crate) fn note_recorded(&mut self, flow: FlowId, id: ledger::TxId) {
        let number = self.round_number();
        if let Some(live) = self.clients.live_mut(&flow) {
            live.recorded_in = Some(number);
            if live.transactions.len() < OUTCOME_TRANSACTIONS_MAX {
                live.transactions.push(id);
            }
        }
    }

    /// A transaction is owed to nobody any more.
    pub(crate) fn on_all_delivered(&mut self, id: &ledger::TxId) {
        for (token, outcome, delivered) in self.clients.delivered(id) {
            self.reply(token, Reply::Ended { outcome, delivered });
        }
    }
}

fn decode_client(bytes: &[u8]) -> Result<ClientRow, StoreFailure> {
    primitives::Decode::from_bytes(bytes).map_err(|error| StoreFailure {
        code: "store.damaged",
        message: format!("the row of a client id does not decode: {error}"),
        hint: "stop the node, keep a copy of its data folder, and restore it from a backup",
    })
}
