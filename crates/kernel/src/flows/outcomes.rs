//! Ends of flows: outcomes, waits, cancellation.

use flow::{COUNTERPARTY_SILENT_CODE, FlowError, FlowId, Kill, StartRecord};
use ledger::{PartyId, TxId};
use primitives::Encode;

use crate::errors;
use crate::event::{Reply, Token, Wait};
use crate::flows::caller::{Caller, client_of};
use crate::flows::clients::Clients;
use crate::flows::filter::Standing;
use crate::kernel::Kernel;
use crate::peers::refusals::DeliveryRefusal;
use crate::peers::unanswered::Standing as Delivery;
use crate::port::{Reads, StoreFailure, Table};
use crate::rows::{ClientRow, Outcome, client_key};

impl Kernel {
    pub(crate) fn on_flow_ended(
        &mut self,
        flow: FlowId,
        start: &StartRecord,
        result: Result<Vec<u8>, FlowError>,
    ) {
        self.count_end(start, result.is_ok());
        self.hospital.dismiss(&flow);
        self.waking.ended(&flow);
        self.forget_flow(flow);
        let live = self.clients.remove(&flow);
        if let Some(place) = live.place {
            self.starts.admission.learn(&start.flow, place);
            self.starts.free_place(place, self.context.now.monotonic);
        }
        if let Some(origin) = &start.origin {
            // No client asks for the outcome of a responder.
            self.tell_given_up(origin.peer, flow, start, result.as_ref().err());
            return;
        }
        let outcome = Outcome {
            flow,
            name: start.flow.clone(),
            version: start.version,
            result: result.map_err(|error| error.to_rejection()),
            transactions: live.transactions,
        };
        self.clients.remember(&outcome);
        let caller: Option<Caller> = primitives::Decode::from_bytes(&start.caller).ok();
        if let Some((key, start_digest)) = caller.as_ref().and_then(client_of) {
            let outcome = outcome.clone();
            let row = ClientRow {
                start_digest,
                outcome,
            };
            self.context.round.batch.of::<Clients>().put(
                Table::ClientIds,
                key.as_bytes().to_vec(),
                row.to_bytes(),
            );
            self.clients
                .remember_client(key, row, self.context.commits.next());
        }
        for (token, wait) in live.waits {
            self.answer_ended(outcome.clone(), wait, token);
        }
    }

    /// Tells the operator that a responder has ended because its counterparty was silent, and that its locks are released.
    fn tell_given_up(
        &mut self,
        peer: PartyId,
        flow: FlowId,
        start: &StartRecord,
        error: Option<&FlowError>,
    ) {
        if let Some(error) = error.filter(|error| error.code == COUNTERPARTY_SILENT_CODE) {
            let text = format!("flow {flow} ({}) has ended: {}", start.flow, error.message);
            self.context.complain(COUNTERPARTY_SILENT_CODE, peer, &text);
        }
    }

    fn count_end(&mut self, start: &StartRecord, well: bool) {
        let figures = &mut self.context.figures;
        let (done, failed) = (u64::from(well), u64::from(!well));
        figures.flows_done += done;
        figures.flows_failed += failed;
        let took_ms = self
            .context
            .now
            .wall
            .as_ms()
            .saturating_sub(start.at.as_ms());
        if start.origin.is_some() {
            figures.responders_done += done;
            figures.responders_failed += failed;
            figures.responder_ms.record(took_ms);
        } else {
            figures.flow_ms.record(took_ms);
        }
    }

    /// Nothing is done for a flow any more.
    fn forget_flow(&mut self, flow: FlowId) {
        let out = self.selection.release(flow.0, self.context.now.monotonic);
        self.on_selection(out);
        self.forget_requests_of(flow);
        self.waits.cancel_flow(flow);
        self.look_ups.cancel_flow(flow);
        self.files.flow_ended(flow, &mut self.context);
        while let Some(item) = self.intake.of_flow(flow) {
            self.drop_item(item);
        }
    }

    pub(crate) fn answer_ended(&mut self, outcome: Outcome, wait: Wait, token: Token) {
        let mut owed = Vec::new();
        let mut delivered = true;
        for id in &outcome.transactions {
            match self.links.unanswered.standing(id) {
                Delivery::Delivered => {}
                Delivery::Unanswered => owed.push(*id),
                Delivery::NotDelivered => delivered = false,
            }
        }
        if wait == Wait::Delivered && delivered && !owed.is_empty() {
            self.clients.wait_for_delivery(outcome, token, &owed);
            return;
        }
        let delivered = delivered && owed.is_empty();
        self.reply_ended(token, outcome, delivered);
    }

    fn reply_ended(&mut self, token: Token, outcome: Outcome, delivered: bool) {
        let refused = match delivered {
            true => Vec::new(),
            false => self.refused_of(&outcome.transactions),
        };
        let ended = Reply::Ended {
            outcome,
            delivered,
            refused,
        };
        self.context.reply(token, ended);
    }

    /// Returns the refusals of some transactions by their participants.
    fn refused_of(&self, transactions: &[TxId]) -> Vec<DeliveryRefusal> {
        let rows = transactions
            .iter()
            .flat_map(|id| self.links.unanswered.refusals.of(id));
        let told = rows.map(|row| DeliveryRefusal {
            transaction: row.transaction,
            party: match self.context.identity.network.node(&row.by) {
                Some(info) => info.party.name.to_string(),
                None => row.by.to_string(),
            },
            rejection: row.rejection.clone(),
        });
        told.collect()
    }

    pub(crate) fn on_attach(&mut self, flow: FlowId, wait: Wait, token: Token) {
        if let Some(live) = self.clients.live(&flow) {
            if wait != Wait::Accepted && live.parked.is_none() {
                self.clients.wait(flow, token, wait);
                return;
            }
            let step = live.parked.clone().unwrap_or_else(|| live.step.to_owned());
            let standing = self.standing_of(&flow);
            self.context.reply(
                token,
                Reply::Running {
                    flow,
                    step,
                    standing,
                },
            );
        } else if let Some(outcome) = self.clients.outcome(&flow) {
            self.answer_ended(outcome, wait, token);
        } else if self.starts.queue.contains(&flow) {
            if wait != Wait::Accepted {
                self.starts.queue.wait(&flow, token, wait);
                return;
            }
            let step = "queued".to_owned();
            self.context.reply(
                token,
                Reply::Running {
                    flow,
                    step,
                    standing: Standing::Running,
                },
            );
        } else {
            let text = format!("no flow {flow}");
            let rejection = errors::rejection(&errors::UNKNOWN_FLOW_ID, text);
            self.context.reply(token, Reply::Rejected(rejection));
        }
    }

    pub(crate) fn on_cancel(
        &mut self,
        flow: FlowId,
        token: Token,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if let Some(queued) = self.starts.queue.remove(&flow) {
            if let Some(due) = queued.scheduled {
                self.schedule.cancelled(due, &mut self.context);
            }
            let rejection = errors::start_cancelled(&flow);
            for (waits, _) in queued.waits {
                self.context
                    .reply(waits, Reply::Rejected(rejection.clone()));
            }
            self.context.reply(token, Reply::Done);
            return Ok(());
        }
        let killed = self.kill_flow(flow, reads)?;
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
        self.context.reply(token, reply);
        Ok(())
    }

    /// Handles the deletion of a journal. The flow is gone, even if its start cannot be read.
    pub(crate) fn on_forgotten(&mut self, flow: FlowId) {
        let parked = self
            .clients
            .live(&flow)
            .is_some_and(|live| live.parked.is_some());
        self.hospital.dismiss(&flow);
        self.waking.ended(&flow);
        if parked {
            self.forget_flow(flow);
            if self
                .clients
                .live(&flow)
                .is_some_and(|live| live.client.is_none())
            {
                self.clients.remove(&flow);
            }
        }
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
            self.context
                .round
                .batch
                .of::<Clients>()
                .delete(Table::ClientIds, key.as_bytes().to_vec());
            self.clients.forget_client(&key);
            self.context.reply(token, Reply::Done);
        } else {
            let text = format!("no ended flow has the client id '{client_id}'");
            let rejection = errors::rejection(&errors::UNKNOWN_CLIENT_ID, text);
            self.context.reply(token, Reply::Rejected(rejection));
        }
        Ok(())
    }

    /// Handles a transaction whose last delivery was answered.
    pub(crate) fn on_all_delivered(&mut self, id: &TxId) {
        for (token, outcome, delivered) in self.clients.delivered(id) {
            self.reply_ended(token, outcome, delivered);
        }
    }
}
