//! The effects that flows request, carried out.

use std::sync::Arc;

use flow::messaging::RequestId;
use flow::{EffectRequest, EffectResult, EngineAction, FlowError, FlowId};
use ledger::{Rejection, SelectionRequest, StateAndRef, StateRef};
use primitives::ErrorInfo;

use crate::command::IntakeCommand;
use crate::errors;
use crate::event::Action;
use crate::flows::routing::WAKES_A_ROUND_MAX;
use crate::intake::goal::Goal;
use crate::kernel::Kernel;
use crate::peers::lag::AHEAD_MAX;
use crate::port::{Reads, StoreFailure};
use crate::round::CheckOwner;

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
                self.flows
                    .write_journal(flow, step, &row, &mut self.context);
            }
            EngineAction::Forget { flow, steps } => {
                self.flows.delete_journal(flow, steps, &mut self.context);
            }
            EngineAction::SendSession { peer, message } => self.send_session(peer, message),
            EngineAction::Ended {
                flow,
                start,
                outcome,
            } => {
                self.forget_flow(flow);
                let (deliveries, context) = (&self.links.unanswered, &mut self.context);
                self.flows
                    .on_ended(flow, &start, outcome, deliveries, context);
            }
            EngineAction::Chart { flow, row } => {
                self.flows.write_chart(flow, row, &mut self.context);
            }
            EngineAction::Retrying { flow, reason, at } => {
                let context = &mut self.context;
                self.flows.on_retrying(flow, &reason, at, context);
            }
            EngineAction::Paused { flow } => self.flows.on_paused(flow, &mut self.context),
            EngineAction::Parked { flow, reason } => {
                self.flows.on_parked(flow, &reason, &mut self.context);
            }
            EngineAction::Progress { flow, step } => self.flows.on_progress(flow, step),
        }
        self.route(reads)
    }

    /// Gives an effect its result; the flow runs on within this round.
    pub(crate) fn complete(&mut self, flow: FlowId, effect: u32, result: EffectResult) {
        self.flows.complete(flow, effect, result, &mut self.context);
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
                let (id, now) = (RequestId { flow, effect }, self.context.now.monotonic);
                self.links.ask(party, id, service, body, now);
            }
            EffectRequest::SelectStates(request) => self.on_select(flow, effect, request),
            EffectRequest::Verify {
                transaction,
                from,
                missing_allowed,
                fetching,
                keep,
            } => {
                self.flows.weigh(&flow, transaction.weight());
                let goal = Goal::Verify {
                    flow,
                    effect,
                    // A recorded transaction lacks no signature.
                    missing_allowed: if keep { Vec::new() } else { missing_allowed },
                    fetching,
                    keep,
                };
                self.context.command(IntakeCommand::TakeIn {
                    transaction: Arc::new(transaction),
                    goal,
                    from,
                });
            }
            EffectRequest::CheckSignatures(messages) => {
                let payer = self.flows.engine().origin_of(&flow);
                let owner = CheckOwner::Effect(flow, effect);
                if !self.context.gather(owner, &messages, payer) {
                    self.complete(flow, effect, EffectResult::Done);
                }
            }
            EffectRequest::Record {
                transaction,
                deliver_to,
            } => {
                self.flows.weigh(&flow, transaction.weight());
                self.context.command(IntakeCommand::Record {
                    flow,
                    effect,
                    transaction,
                    deliver_to,
                });
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
                    self.context
                        .signatures
                        .trust_own(key, context, message, signature);
                }
                let result = signed.map_or_else(EffectResult::Failed, EffectResult::Signature);
                self.complete(flow, effect, result);
            }
            EffectRequest::Sleep { until, clocks } => {
                let (trusts_wall, now) = (self.clock.is_trusted(), self.context.now);
                let effect_id = (flow, effect);
                if !self.flows.sleep(effect_id, until, clocks, trusts_wall, now) {
                    self.complete(flow, effect, EffectResult::Done);
                }
            }
            EffectRequest::AwaitTransaction(id) => match self.book.get(&id, reads)? {
                Some(recorded) => {
                    let found = Some((*recorded.transaction).clone());
                    self.complete(flow, effect, EffectResult::Transaction(found));
                }
                None => self.flows.wait_for_transaction((flow, effect), id),
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
                let result = self
                    .flows
                    .claims
                    .on_claim(key, value, &mut self.context, reads)?;
                self.complete(flow, effect, result);
            }
            EffectRequest::Claimed(key) => {
                let result = self.flows.claims.on_claimed(&key, reads)?;
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

    fn on_select(&mut self, flow: FlowId, effect: u32, request: SelectionRequest) {
        let request = self
            .flows
            .hold_select((flow, effect), request, &self.context);
        if let Some(request) = request {
            self.select(flow, effect, request);
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
        while let Some(held) = self.flows.next_select(number) {
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
        self.flows.cancel_effect((flow, effect));
        let id = RequestId { flow, effect };
        self.links.forget_request(&id, self.context.now.monotonic);
        self.context
            .command(IntakeCommand::DropEffect((flow, effect)));
    }

    /// Handles everything that is due: sleeping flows, selections past their deadline, and requests and deliveries to repeat.
    pub(crate) fn on_time(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        self.clock.tend(&mut self.context);
        let trusts_wall = self.clock.is_trusted();
        while let Some((flow, effect)) = self.flows.next_awake(self.context.now, trusts_wall) {
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
        if let Some(notarisation) = &mut self.notarisation {
            notarisation.on_time(&mut self.context);
        }
        self.route(reads)?;
        self.flows.end_idle(&mut self.context);
        let ahead = self.links.lagging_rows(self.context.now.monotonic);
        self.flows.note_peers_behind(ahead >= AHEAD_MAX);
        self.queue_scheduled(reads)?;
        self.revive(reads)?;
        if !self.is_rolled_back() {
            self.flows.end_meeting(&mut self.context);
        }
        self.wake(WAKES_A_ROUND_MAX, reads)?;
        self.start_queued(reads)?;
        self.links.on_time(self.context.now.monotonic);
        self.links.read_back(&self.context, reads)?;
        self.pump_links(reads)
    }
}
