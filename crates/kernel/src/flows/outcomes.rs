//! Ends of flows: outcomes, waits, cancellation.

use std::collections::BTreeSet;
use std::sync::Arc;

use flow::{COUNTERPARTY_SILENT_CODE, FlowError, FlowId, StartRecord};
use ledger::{PartyId, TxId};
use primitives::Encode;

use crate::command::ScheduleCommand;
use crate::context::Context;
use crate::errors;
use crate::event::{Reply, Token, Wait};
use crate::flows::Flows;
use crate::flows::caller::{Caller, client_of};
use crate::flows::clients::Clients;
use crate::flows::filter::Standing;
use crate::flows::history::part::{EndedFlow, start_of, start_of_queued};
use crate::peers::refusals::DeliveryRefusal;
use crate::peers::unanswered::{Standing as Delivery, Unanswered};
use crate::port::{Reads, StoreFailure, Table};
use crate::rows::{ClientRow, Outcome, client_key};

impl Flows {
    /// Handles the end of a flow. The other parts have forgotten it: nothing is done for it any more.
    pub(super) fn on_ended(
        &mut self,
        flow: FlowId,
        start: Option<&StartRecord>,
        peers: BTreeSet<PartyId>,
        result: Result<Vec<u8>, FlowError>,
        deliveries: &Unanswered,
        context: &mut Context,
    ) {
        self.hospital.dismiss(&flow);
        self.waking.ended(&flow);
        self.stop_waiting(flow);
        let live = self.clients.remove(&flow);
        let ended = EndedFlow {
            flow,
            start: start.map(start_of),
            peers,
            result: result.as_deref().map_err(FlowError::to_rejection),
            transactions: &live.transactions,
        };
        self.history.note(ended, context);
        let Some(start) = start else {
            // An outcome names the flow, and its name is in the journal that could not be read.
            if let Err(error) = &result {
                for (token, _) in &live.waits {
                    context.reply(*token, Reply::Rejected(error.to_rejection()));
                }
            }
            return;
        };
        count_end(start, result.is_ok(), context);
        if let Some(place) = live.place {
            self.starts.admission.learn(&start.flow, place);
            self.starts.free_place(place, context.now.monotonic);
        }
        if let Some(origin) = &start.origin {
            // No client asks for the outcome of a responder.
            tell_given_up(origin.peer, flow, start, result.as_ref().err(), context);
            return;
        }
        let outcome = Arc::new(Outcome {
            flow,
            name: start.flow.clone(),
            version: start.version,
            result: result.map_err(|error| error.to_rejection()),
            transactions: live.transactions,
        });
        self.clients.remember(&outcome);
        let caller: Option<Caller> = primitives::Decode::from_bytes(&start.caller).ok();
        if let Some((key, start_digest)) = caller.as_ref().and_then(client_of) {
            let outcome = Arc::clone(&outcome);
            let row = ClientRow {
                start_digest,
                outcome,
            };
            context.round.batch.of::<Clients>().put(
                Table::ClientIds,
                key.as_bytes().to_vec(),
                row.to_bytes(),
            );
            self.clients
                .remember_client(key, row, context.commits.next());
        }
        for (token, wait) in live.waits {
            self.answer_ended(Arc::clone(&outcome), wait, token, deliveries, context);
        }
    }

    /// Answers a client about a flow that has ended, at once or after its deliveries.
    pub(super) fn answer_ended(
        &mut self,
        outcome: Arc<Outcome>,
        wait: Wait,
        token: Token,
        deliveries: &Unanswered,
        context: &mut Context,
    ) {
        let mut owed = Vec::new();
        let mut delivered = true;
        for id in &outcome.transactions {
            match deliveries.standing(id) {
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
        reply_ended(token, outcome, delivered, deliveries, context);
    }

    /// Handles a client that asks for the outcome of a flow.
    pub(super) fn on_attach(
        &mut self,
        flow: FlowId,
        wait: Wait,
        token: Token,
        deliveries: &Unanswered,
        context: &mut Context,
    ) {
        if let Some(live) = self.clients.live(&flow) {
            if wait != Wait::Accepted && live.parked.is_none() {
                self.clients.wait(flow, token, wait);
                return;
            }
            let step = live.parked.clone().unwrap_or_else(|| live.step.to_owned());
            let standing = self.standing_of(&flow);
            context.reply(
                token,
                Reply::Running {
                    flow,
                    step,
                    standing,
                },
            );
        } else if let Some(outcome) = self.clients.outcome(&flow) {
            self.answer_ended(outcome, wait, token, deliveries, context);
        } else if self.starts.queue.contains(&flow) {
            if wait != Wait::Accepted {
                self.starts.queue.wait(&flow, token, wait);
                return;
            }
            let step = "queued".to_owned();
            context.reply(
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
            context.reply(token, Reply::Rejected(rejection));
        }
    }

    /// Cancels a start that waits for a place. Returns false if none does.
    pub(super) fn cancel_queued(
        &mut self,
        flow: FlowId,
        token: Token,
        context: &mut Context,
    ) -> bool {
        let Some(queued) = self.starts.queue.remove(&flow) else {
            return false;
        };
        if let Some(due) = queued.scheduled {
            context.command(ScheduleCommand::End { due });
        }
        let rejection = errors::start_cancelled(&flow);
        let ended = EndedFlow {
            flow,
            start: Some(start_of_queued(&queued.start)),
            peers: BTreeSet::new(),
            result: Err(rejection.clone()),
            transactions: &[],
        };
        self.history.note(ended, context);
        for (waits, _) in queued.waits {
            context.reply(waits, Reply::Rejected(rejection.clone()));
        }
        context.reply(token, Reply::Done);
        assert!(
            !self.starts.queue.contains(&flow),
            "the cancelled start {flow} is still queued"
        );
        true
    }

    /// Frees the client id of a flow that has ended.
    pub(super) fn on_remove_client(
        &mut self,
        user: &str,
        client_id: &str,
        token: Token,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let key = client_key(user, client_id);
        let known = self.clients.ended_client(&key).is_some()
            || reads.get(Table::ClientIds, key.as_bytes())?.is_some();
        if known {
            context
                .round
                .batch
                .of::<Clients>()
                .delete(Table::ClientIds, key.as_bytes().to_vec());
            self.clients.forget_client(&key);
            context.reply(token, Reply::Done);
        } else {
            let text = format!("no ended flow has the client id '{client_id}'");
            let rejection = errors::rejection(&errors::UNKNOWN_CLIENT_ID, text);
            context.reply(token, Reply::Rejected(rejection));
        }
        Ok(())
    }

    /// Handles a transaction whose last delivery was answered.
    pub(super) fn on_all_delivered(
        &mut self,
        id: &TxId,
        deliveries: &Unanswered,
        context: &mut Context,
    ) {
        for (token, outcome, delivered) in self.clients.delivered(id) {
            reply_ended(token, outcome, delivered, deliveries, context);
        }
    }
}

/// Tells the operator that a responder has ended because its counterparty was silent, and that its locks are released.
fn tell_given_up(
    peer: PartyId,
    flow: FlowId,
    start: &StartRecord,
    error: Option<&FlowError>,
    context: &mut Context,
) {
    if let Some(error) = error.filter(|error| error.code == COUNTERPARTY_SILENT_CODE) {
        let text = format!("flow {flow} ({}) has ended: {}", start.flow, error.message);
        context.complain(COUNTERPARTY_SILENT_CODE, peer, &text);
    }
}

/// Counts the end of a flow, and the time that it took.
fn count_end(start: &StartRecord, well: bool, context: &mut Context) {
    let figures = &mut context.figures;
    let (done, failed) = (u64::from(well), u64::from(!well));
    figures.flows_done += done;
    figures.flows_failed += failed;
    // A clock that was set back makes a flow take no time.
    let took_ms = context.now.wall.as_ms().saturating_sub(start.at.as_ms());
    if start.origin.is_some() {
        figures.responders_done += done;
        figures.responders_failed += failed;
        figures.responder_ms.record(took_ms);
    } else {
        figures.flow_ms.record(took_ms);
    }
}

/// Tells a client the outcome of a flow, and whether all its transactions were delivered.
fn reply_ended(
    token: Token,
    outcome: Arc<Outcome>,
    delivered: bool,
    deliveries: &Unanswered,
    context: &mut Context,
) {
    let (refused, undelivered) = match delivered {
        true => (Vec::new(), Vec::new()),
        false => (
            refused_of(&outcome.transactions, deliveries, context),
            undelivered_of(&outcome.transactions, deliveries, context),
        ),
    };
    let ended = Reply::Ended {
        outcome,
        delivered,
        refused,
        undelivered,
    };
    context.reply(token, ended);
}

/// Returns the participants that have not answered for some transactions, each once, in order of name.
fn undelivered_of(
    transactions: &[TxId],
    deliveries: &Unanswered,
    context: &Context,
) -> Vec<String> {
    let peers = transactions.iter().flat_map(|id| deliveries.peers_of(id));
    let peers: BTreeSet<&PartyId> = peers.collect();
    let mut names: Vec<String> = peers
        .into_iter()
        .map(|peer| context.name_of(peer))
        .collect();
    names.sort_unstable();
    names
}

/// Returns the refusals of some transactions by their participants.
fn refused_of(
    transactions: &[TxId],
    deliveries: &Unanswered,
    context: &Context,
) -> Vec<DeliveryRefusal> {
    let rows = transactions
        .iter()
        .flat_map(|id| deliveries.refusals.of(id));
    let told = rows.map(|row| DeliveryRefusal {
        transaction: row.transaction,
        party: context.name_of(&row.by),
        rejection: row.rejection.clone(),
    });
    told.collect()
}
