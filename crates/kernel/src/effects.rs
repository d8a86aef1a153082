//! What flows ask for, carried out.

use std::sync::Arc;

use flow::{EffectRequest, EffectResult, EngineAction, FlowError, FlowId};
use ledger::{Rejection, SelectionRequest, SignedTransaction, StateAndRef};
use primitives::Timestamp;

use crate::clients::Caller;
use crate::errors;
use crate::event::Action;
use crate::intake::Goal;
use crate::kernel::{CheckOwner, Kernel, Work};
use crate::port::{Reads, StoreFailure, Table};
use crate::rows::journal_key;

/// A selection that waits until what its flow recorded is durable, so that it can see it.
pub(crate) struct HeldSelect {
    /// The commit waited for.
    pub number: u64,
    /// The flow.
    pub flow: FlowId,
    /// The effect.
    pub effect: u32,
    /// The wish.
    pub request: SelectionRequest,
}

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
                self.figures.journal_rows += 1;
                self.round
                    .batch
                    .put(Table::Journal, journal_key(&flow, step), row);
            }
            EngineAction::Forget { flow, steps } => {
                for step in 0..steps {
                    self.round
                        .batch
                        .delete(Table::Journal, journal_key(&flow, step));
                }
            }
            EngineAction::SendSession { peer, message } => self.send_session(peer, message),
            EngineAction::Ended {
                flow,
                start,
                outcome,
            } => {
                let caller: Option<Caller> = primitives::Decode::from_bytes(&start.caller).ok();
                self.on_flow_ended(flow, &start, caller, outcome);
            }
            EngineAction::Parked { flow, reason } => self.on_flow_parked(flow, reason),
            EngineAction::Progress { flow, step } => {
                if let Some(live) = self.clients.live_mut(&flow) {
                    live.step = step;
                }
            }
        }
        Ok(())
    }

    /// Gives an effect its result; the flow runs on within this round.
    pub(crate) fn complete(&mut self, flow: FlowId, effect: u32, result: EffectResult) {
        self.engine
            .complete(flow, effect, result, &mut self.engine_out);
        self.take_engine_actions();
    }

    fn on_effect(
        &mut self,
        flow: FlowId,
        effect: u32,
        request: EffectRequest,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        match request {
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
            } => {
                let goal = Goal::Verify {
                    flow,
                    effect,
                    missing_allowed,
                };
                self.take_in(Arc::new(transaction), goal, from);
            }
            EffectRequest::CheckSignatures(messages) => {
                let owner = CheckOwner::Effect(flow, effect);
                if messages.is_empty() {
                    self.complete(flow, effect, EffectResult::Done);
                }
                self.round
                    .checks
                    .extend(messages.into_iter().map(|m| (owner, m)));
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
                let result = match self.keys.get(&key) {
                    Some(index) => {
                        let signature = self.identity.keys[*index].sign(context, &message);
                        self.trust_own(key, context, message, &signature);
                        EffectResult::Signature(signature)
                    }
                    None => EffectResult::Failed(errors::unknown_key(&key)),
                };
                self.complete(flow, effect, result);
            }
            EffectRequest::Sleep { until } => {
                if until <= self.now {
                    self.complete(flow, effect, EffectResult::Done);
                } else {
                    self.sleeping.insert((until, flow, effect), ());
                }
            }
            EffectRequest::AwaitTransaction(id) => match self.book.get(&id, reads)? {
                Some(recorded) => {
                    let found = Some((*recorded.transaction).clone());
                    self.complete(flow, effect, EffectResult::Transaction(found));
                }
                None => self.awaiting.entry(id).or_default().push((flow, effect)),
            },
            EffectRequest::Transaction(id) => {
                let found = self.book.get(&id, reads)?;
                let found = found.map(|recorded| (*recorded.transaction).clone());
                self.complete(flow, effect, EffectResult::Transaction(found));
            }
            EffectRequest::States(refs) => {
                let mut states = Vec::with_capacity(refs.len());
                for reference in refs {
                    let Some(state) = self.book.state(&reference, reads)? else {
                        let error = errors::unknown_state(&reference);
                        self.complete(flow, effect, EffectResult::Failed(error));
                        return Ok(());
                    };
                    states.push(StateAndRef { state, reference });
                }
                self.complete(flow, effect, EffectResult::States(states));
            }
            EffectRequest::External { name, .. } => {
                let error = errors::unknown_external(&name);
                self.complete(flow, effect, EffectResult::Failed(error));
            }
        }
        Ok(())
    }

    fn on_record(
        &mut self,
        flow: FlowId,
        effect: u32,
        transaction: SignedTransaction,
        deliver_to: Vec<ledger::PartyId>,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if self.book.contains(&transaction.id(), reads)? {
            self.complete(flow, effect, EffectResult::Done);
            return Ok(());
        }
        let goal = Goal::Record {
            flow,
            effect,
            deliver_to,
        };
        self.take_in(Arc::new(transaction), goal, None);
        Ok(())
    }

    fn on_select(&mut self, flow: FlowId, effect: u32, request: SelectionRequest) {
        let recorded_here = self
            .clients
            .live(&flow)
            .and_then(|live| live.recorded_in)
            .filter(|number| *number > self.committed_number());
        if let Some(number) = recorded_here {
            self.held_selects.push_back(HeldSelect {
                number,
                flow,
                effect,
                request,
            });
            return;
        }
        self.select(flow, effect, request);
    }

    fn select(&mut self, flow: FlowId, effect: u32, request: SelectionRequest) {
        let out = self.selection.request(flow.0, effect, request, self.now);
        self.on_selection(out);
    }

    /// All batches up to `number` are durable: selections that waited for them can see them.
    pub(crate) fn release_selects(&mut self, number: u64) {
        while self
            .held_selects
            .front()
            .is_some_and(|held| held.number <= number)
        {
            if let Some(held) = self.held_selects.pop_front()
                && self.engine.is_live(&held.flow)
            {
                self.select(held.flow, held.effect, held.request);
            }
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
                    self.round.then.push(Action::Refill(request));
                }
            }
        }
    }

    fn on_effect_cancelled(&mut self, flow: FlowId, effect: u32) {
        self.sleeping
            .retain(|(_, f, e), ()| (*f, *e) != (flow, effect));
        self.forget_request(flow, effect);
        for waiting in self.awaiting.values_mut() {
            waiting.retain(|w| *w != (flow, effect));
        }
        self.awaiting.retain(|_, waiting| !waiting.is_empty());
    }

    /// What is due by time: sleeping flows, selections past their deadline, requests and deliveries to send again.
    pub(crate) fn on_time(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        while let Some(((at, flow, effect), ())) = self.sleeping.pop_first() {
            if at > self.now {
                self.sleeping.insert((at, flow, effect), ());
                break;
            }
            self.complete(flow, effect, EffectResult::Done);
        }
        if self
            .selection
            .next_deadline()
            .is_some_and(|at: Timestamp| at <= self.now)
        {
            let out = self.selection.tick(self.now);
            self.on_selection(out);
        }
        self.start_queued(reads)?;
        self.links_on_time(reads)
    }

    /// Our own signatures need no check.
    fn trust_own(
        &mut self,
        key: primitives::PublicKey,
        context: primitives::SignatureContext,
        message: primitives::Hash,
        signature: &primitives::Signature,
    ) {
        let signed = primitives::SignedMessage {
            key,
            context,
            message,
            signature: signature.clone(),
        };
        self.known_good
            .insert(crate::settle::digest(&signed), (), 64);
    }

    pub(crate) fn push_work(&mut self, work: Work) {
        self.work.push_back(work);
    }
}
