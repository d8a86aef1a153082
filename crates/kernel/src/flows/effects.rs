//! The effects that flows request, carried out.

use std::sync::Arc;

use flow::{CHART_STEP, EffectRequest, EffectResult, EngineAction, FlowError, FlowId, SleepClocks};
use ledger::{PartyId, Rejection, SelectionRequest, SignedTransaction, StateAndRef, StateRef};
use primitives::{ErrorInfo, Timestamp};

use crate::errors;
use crate::event::Action;
use crate::flows::clients::Clients;
use crate::flows::waits::HeldSelect;
use crate::intake::items::Goal;
use crate::kernel::Kernel;
use crate::peers::lag::AHEAD_MAX;
use crate::port::{Reads, StoreFailure, Table};
use crate::round::CheckOwner;
use crate::rows::{journal_key, journal_row};

impl Kernel {
    pub(crate) fn on_engine_action(
        &mut self,
        action: EngineAction,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        match action {
            EngineAction::Effect {
                flow,
                effect,
                request,
            } => self.on_effect(flow, effect, request, reads)?,
            EngineAction::Cancel { flow, effect } => self.on_effect_cancelled(flow, effect),
            EngineAction::Journal { flow, step, row } => {
                self.context.figures.journal_rows += 1;
                self.hospital
                    .row_written(&flow, self.context.commits.next());
                self.weigh(&flow, row.len());
                let row = journal_row(self.clients.unjournaled(&flow), &row);
                self.context.round.batch.of::<Clients>().put(
                    Table::Journal,
                    journal_key(&flow, step),
                    row,
                );
            }
            EngineAction::Forget { flow, steps } => {
                for step in 0..steps {
                    self.context
                        .round
                        .batch
                        .of::<Clients>()
                        .delete(Table::Journal, journal_key(&flow, step));
                }
                self.on_forgotten(flow);
            }
            EngineAction::SendSession { peer, message } => self.send_session(peer, message),
            EngineAction::Ended {
                flow,
                start,
                outcome,
            } => {
                self.on_flow_ended(flow, &start, outcome);
            }
            EngineAction::Chart { flow, row } => {
                let key = journal_key(&flow, CHART_STEP);
                self.hospital
                    .row_written(&flow, self.context.commits.next());
                match row {
                    Some(row) => {
                        let row = journal_row(&[], &row);
                        self.context
                            .round
                            .batch
                            .of::<Clients>()
                            .put(Table::Journal, key, row);
                    }
                    None => self
                        .context
                        .round
                        .batch
                        .of::<Clients>()
                        .delete(Table::Journal, key),
                }
            }
            EngineAction::Retrying { flow, reason, at } => {
                self.on_flow_retrying(flow, &reason, at);
            }
            EngineAction::Paused { flow } => self.on_flow_paused(flow),
            EngineAction::Parked { flow, reason } => self.on_flow_parked(flow, &reason),
            EngineAction::Progress { flow, step } => {
                if let Some(live) = self.clients.live_mut(&flow) {
                    live.step = step;
                }
                self.runner.note_step(flow, step);
            }
        }
        Ok(())
    }

    /// Gives an effect its result; the flow runs on within this round.
    pub(crate) fn complete(&mut self, flow: FlowId, effect: u32, result: EffectResult) {
        self.runner
            .complete(flow, effect, result, &mut self.context);
    }

    /// A flow of a client handles something of so many bytes.
    fn weigh(&mut self, flow: &FlowId, bytes: usize) {
        if let Some(place) = self
            .clients
            .live_mut(flow)
            .and_then(|live| live.place.as_mut())
        {
            self.starts.admission.weigh(place, bytes);
        }
    }

    fn on_effect(
        &mut self,
        flow: FlowId,
        effect: u32,
        request: EffectRequest,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        match request {
            EffectRequest::Request { party, body, .. }
                if body.len() > self.context.room.content =>
            {
                let code = "flow.message_too_large";
                let text = format!(
                    "a request of {} bytes to {party}; a message of this network carries at most {}",
                    body.len(),
                    self.context.room.content
                );
                let hint = ErrorInfo::action_of(flow::ERRORS, code);
                let error = FlowError::new(code, text, hint);
                self.complete(flow, effect, EffectResult::Failed(error));
            }
            EffectRequest::Request {
                party,
                service,
                body,
                ..
            } => {
                self.ask(party, flow, effect, service, body);
            }
            EffectRequest::SelectStates(request) => self.on_select(flow, effect, request),
            EffectRequest::Verify {
                transaction,
                from,
                missing_allowed,
                fetching,
                keep,
            } => {
                self.weigh(&flow, transaction.wire().bytes().len());
                let goal = Goal::Verify {
                    flow,
                    effect,
                    // A recorded transaction lacks no signature.
                    missing_allowed: if keep { Vec::new() } else { missing_allowed },
                    fetching,
                    keep,
                };
                self.take_in(Arc::new(transaction), goal, from, Vec::new());
            }
            EffectRequest::CheckSignatures(messages) => {
                let payer = self.runner.engine().origin_of(&flow);
                if !self.gather(CheckOwner::Effect(flow, effect), &messages, payer) {
                    self.complete(flow, effect, EffectResult::Done);
                }
            }
            EffectRequest::Record {
                transaction,
                deliver_to,
            } => {
                self.on_record(flow, effect, transaction, deliver_to, reads)?;
            }
            EffectRequest::Sign {
                key,
                context,
                message,
            } => {
                let signed = self
                    .keys
                    .sign(&key, context, &message, &self.context, reads)?;
                if let Ok(signature) = &signed {
                    self.signatures.trust_own(key, context, message, signature);
                }
                let result = signed.map_or_else(EffectResult::Failed, EffectResult::Signature);
                self.complete(flow, effect, result);
            }
            EffectRequest::Sleep { until, clocks } if self.is_over(until, clocks) => {
                self.complete(flow, effect, EffectResult::Done);
            }
            EffectRequest::Sleep { until, clocks } => {
                self.waits
                    .sleep((flow, effect), until, clocks, self.context.now);
            }
            EffectRequest::AwaitTransaction(id) => match self.book.get(&id, reads)? {
                Some(recorded) => {
                    let found = Some((*recorded.transaction).clone());
                    self.complete(flow, effect, EffectResult::Transaction(found));
                }
                None => self.waits.for_transaction((flow, effect), id),
            },
            EffectRequest::Transaction(id) => {
                let found = self.book.get(&id, reads)?;
                let found = found.map(|recorded| (*recorded.transaction).clone());
                self.complete(flow, effect, EffectResult::Transaction(found));
            }
            EffectRequest::States(refs) => {
                let result = self.look_up(refs, reads)?;
                self.complete(flow, effect, result);
            }
            EffectRequest::PlanTransition { states, goal } => {
                let result = self.on_plan(states, &goal, reads)?;
                self.complete(flow, effect, result);
            }
            EffectRequest::Consent {
                transition,
                states,
                from,
            } => {
                let result = self.on_consent(&transition, states, &from, reads)?;
                self.complete(flow, effect, result);
            }
            EffectRequest::FreshKey { audience } => {
                let result = self.keys.on_fresh_key(audience, &mut self.context, reads)?;
                self.complete(flow, effect, result);
            }
            EffectRequest::KeepOwner(proof) => {
                let result = self.keys.on_keep_owner(&proof, &mut self.context, reads)?;
                self.complete(flow, effect, result);
            }
            EffectRequest::KeyOwners(keys) => {
                let result = self.keys.on_key_owners(&keys, &self.context, reads)?;
                self.complete(flow, effect, result);
            }
            EffectRequest::ProveKey { key, audience } => {
                let result = self
                    .keys
                    .on_prove_key(&key, audience, &self.context, reads)?;
                self.complete(flow, effect, result);
            }
            EffectRequest::Claim { key, value } => {
                let result = self.claims.on_claim(key, value, &mut self.context, reads)?;
                self.complete(flow, effect, result);
            }
            EffectRequest::Claimed(key) => {
                let result = self.claims.on_claimed(&key, reads)?;
                self.complete(flow, effect, result);
            }
            EffectRequest::LockStates(refs) => self.on_lock((flow, effect), refs, reads)?,
            EffectRequest::Linear { contract, id } => self.on_linear((flow, effect), contract, id),
            EffectRequest::External { name, .. } => {
                let error = errors::unknown_external(&name);
                self.complete(flow, effect, EffectResult::Failed(error));
            }
        }
        Ok(())
    }

    pub(crate) fn look_up(
        &mut self,
        refs: Vec<StateRef>,
        reads: &dyn Reads,
    ) -> Result<EffectResult, StoreFailure> {
        let mut states = Vec::with_capacity(refs.len());
        for reference in refs {
            let Some(state) = self.book.state(&reference, reads)? else {
                return Ok(EffectResult::Failed(errors::unknown_state(&reference)));
            };
            states.push(StateAndRef { state, reference });
        }
        Ok(EffectResult::States(states))
    }

    fn on_record(
        &mut self,
        flow: FlowId,
        effect: u32,
        transaction: SignedTransaction,
        deliver_to: Vec<PartyId>,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        self.weigh(&flow, transaction.wire().bytes().len());
        if self.book.contains(&transaction.id(), reads)? {
            self.recorded_by(flow, effect, &transaction, &deliver_to);
        } else {
            let goal = Goal::Record {
                flow,
                effect,
                deliver_to,
            };
            self.take_in(Arc::new(transaction), goal, None, Vec::new());
        }
        Ok(())
    }

    fn on_select(&mut self, flow: FlowId, effect: u32, request: SelectionRequest) {
        let recorded_in = self.clients.live(&flow).and_then(|live| live.recorded_in);
        match recorded_in.filter(|number| *number > self.context.commits.durable()) {
            Some(number) => self.waits.hold(
                number,
                HeldSelect {
                    flow,
                    effect,
                    request,
                },
            ),
            None => self.select(flow, effect, request),
        }
    }

    fn select(&mut self, flow: FlowId, effect: u32, request: SelectionRequest) {
        let out = self
            .selection
            .request(flow.0, effect, request, self.context.now.monotonic);
        self.on_selection(out);
    }

    /// All batches up to `number` are durable: selections that waited for them can see them.
    pub(crate) fn release_selects(&mut self, number: u64) {
        while let Some(held) = self.waits.released(number) {
            self.select(held.flow, held.effect, held.request);
        }
    }

    pub(crate) fn on_selection(&mut self, out: Vec<vault::SelectionOutput>) {
        for output in out {
            match output {
                vault::SelectionOutput::Selected {
                    flow,
                    number,
                    states,
                } => {
                    self.complete(FlowId(flow), number, EffectResult::States(states));
                }
                vault::SelectionOutput::Failed {
                    flow,
                    number,
                    error,
                } => {
                    let error = FlowError::from_rejection(Rejection::of(&error));
                    self.complete(FlowId(flow), number, EffectResult::Failed(error));
                }
                vault::SelectionOutput::Refill(request) => {
                    self.context.round.then.push(Action::Refill(request));
                }
            }
        }
    }

    /// Handles an effect that its flow gave up. A record continues, because its transaction is final. A selection continues too,
    /// and its locks are released when the flow ends.
    fn on_effect_cancelled(&mut self, flow: FlowId, effect: u32) {
        self.waits.cancel((flow, effect));
        self.look_ups.cancel((flow, effect));
        self.forget_request(flow, effect);
        if let Some(item) = self.intake.of_effect((flow, effect)) {
            self.drop_item(item);
        }
    }

    /// Whether a wait is over before it has begun.
    fn is_over(&self, until: Timestamp, clocks: SleepClocks) -> bool {
        let trusts = clocks != SleepClocks::Both || !self.clock.in_doubt();
        trusts && self.waits.end(until, clocks, self.context.now) <= self.context.now.monotonic
    }

    /// Handles everything that is due: sleeping flows, selections past their deadline, and requests and deliveries to repeat.
    pub(crate) fn on_time(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let in_doubt = self.clock.in_doubt();
        while let Some((flow, effect)) = self.waits.due(self.context.now, in_doubt) {
            self.complete(flow, effect, EffectResult::Done);
        }
        if self
            .selection
            .next_deadline()
            .is_some_and(|at| at <= self.context.now.monotonic)
        {
            let out = self.selection.tick(self.context.now.monotonic);
            self.on_selection(out);
        }
        self.clock.tend(&mut self.context);
        self.runner.end_idle(&mut self.context);
        let ahead = self.links.lagging_rows(self.context.now.monotonic);
        self.starts.admission.hold_up(ahead >= AHEAD_MAX);
        self.queue_scheduled(reads)?;
        self.revive(reads)?;
        self.end_meeting();
        self.wake(reads)?;
        self.start_queued(reads)?;
        self.links_on_time(reads)
    }
}
