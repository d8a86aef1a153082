//! The actions of the flow engine: effects that flows request, journals, and the ends of flows.

use std::sync::Arc;

use flow::messaging::RequestId;
use flow::{EffectRequest, EffectResult, EngineAction, FlowError, FlowId, Service, SessionMessage};
use ledger::{PartyId, TxId};
use primitives::{ErrorInfo, Hash};

use crate::command::{
    Command, ConsentsCommand, FlowsCommand, IntakeCommand, KeysCommand, PeersCommand,
    SelectionCommand,
};
use crate::context::Context;
use crate::errors;
use crate::event::LookUp;
use crate::flows::Flows;
use crate::flows::look_ups::Asked;
use crate::flows::views::FlowViews;
use crate::flows::waits::EffectId;
use crate::intake::goal::Goal;
use crate::port::StoreFailure;
use crate::round::CheckOwner;

impl Flows {
    /// Carries out an action of the engine.
    pub(super) fn on_engine_action(
        &mut self,
        action: EngineAction,
        views: FlowViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        match action {
            EngineAction::Effect {
                flow,
                effect,
                request,
            } => self.on_effect((flow, effect), request, views, context)?,
            EngineAction::Cancel { flow, effect } => self.give_up((flow, effect), context),
            EngineAction::Journal { flow, step, row } => {
                self.write_journal(flow, step, &row, context);
            }
            EngineAction::Forget { flow, steps } => self.delete_journal(flow, steps, context),
            EngineAction::SendSession { peer, message } => {
                self.send_session(peer, message, context);
            }
            EngineAction::Ended {
                flow,
                start,
                peers,
                outcome,
            } => {
                context.command(Command::ForgetFlow { flow });
                context.command(FlowsCommand::Ended {
                    flow,
                    start,
                    peers,
                    outcome,
                });
            }
            EngineAction::Chart { flow, row } => self.write_chart(flow, row, context),
            EngineAction::Retrying { flow, reason, at } => {
                self.on_retrying(flow, &reason, at, context);
            }
            EngineAction::Paused { flow } => self.on_paused(flow, context),
            EngineAction::Parked { flow, reason } => self.on_parked(flow, &reason, context),
            EngineAction::Progress { flow, step } => self.on_progress(flow, step),
        }
        Ok(())
    }

    /// Sends a session message of a flow. One to this node itself is handled at once.
    pub(super) fn send_session(
        &mut self,
        peer: PartyId,
        message: SessionMessage,
        context: &mut Context,
    ) {
        if peer == context.my_id {
            self.on_session(peer, message, context);
        } else {
            context.command(PeersCommand::SendSession { peer, message });
        }
    }

    fn on_effect(
        &mut self,
        (flow, number): EffectId,
        request: EffectRequest,
        views: FlowViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        let effect = (flow, number);
        let result = match request {
            EffectRequest::Request {
                party,
                service,
                body,
                ..
            } => ask(effect, party, service, body, context),
            EffectRequest::SelectStates(request) => {
                ask_part(SelectionCommand::Select { effect, request }, context)
            }
            EffectRequest::Verify {
                transaction,
                from,
                missing_allowed,
                fetching,
                keep,
            } => {
                self.weigh(&flow, transaction.weight());
                let goal = Goal::Verify {
                    flow,
                    effect: number,
                    // A transaction that is recorded must have all signatures.
                    missing_allowed: if keep { Vec::new() } else { missing_allowed },
                    fetching,
                    keep,
                };
                let transaction = Arc::new(transaction);
                let take_in = IntakeCommand::TakeIn {
                    transaction,
                    goal,
                    from,
                };
                ask_part(take_in, context)
            }
            EffectRequest::CheckSignatures(messages) => {
                let payer = self.engine().origin_of(&flow);
                let owner = CheckOwner::Effect(flow, number);
                let waits = context.gather(owner, &messages, payer);
                (!waits).then_some(EffectResult::Done)
            }
            EffectRequest::Record {
                transaction,
                deliver_to,
            } => {
                self.weigh(&flow, transaction.weight());
                let record = IntakeCommand::Record {
                    flow,
                    effect: number,
                    transaction,
                    deliver_to,
                };
                ask_part(record, context)
            }
            EffectRequest::Sleep { until, clocks } => {
                let waits = self.sleep(effect, until, clocks, views.trusts_wall, context.now);
                (!waits).then_some(EffectResult::Done)
            }
            EffectRequest::AwaitTransaction(id) => match views.book.get(&id, views.reads)? {
                Some(recorded) => {
                    let found = Some((*recorded.transaction).clone());
                    Some(EffectResult::Transaction(found))
                }
                None => {
                    self.wait_for_transaction(effect, id);
                    None
                }
            },
            EffectRequest::Transaction(id) => {
                let found = views.book.get(&id, views.reads)?;
                let found = found.map(|recorded| (*recorded.transaction).clone());
                Some(EffectResult::Transaction(found))
            }
            EffectRequest::States(refs) => {
                let found = views.states(refs)?;
                Some(found.map_or_else(|failed| failed, EffectResult::States))
            }
            EffectRequest::PlanTransition { states, goal } => {
                Some(views.plan(states, &goal, context)?)
            }
            EffectRequest::Consent {
                transition,
                states,
                from,
            } => match views.states(states)? {
                Ok(inputs) => {
                    let judge = ConsentsCommand::Judge {
                        effect,
                        transition,
                        inputs,
                        from,
                    };
                    ask_part(judge, context)
                }
                Err(failed) => Some(failed),
            },
            EffectRequest::LockStates(refs) => self.on_lock(effect, refs, views, context)?,
            EffectRequest::Linear { contract, id } => {
                self.ask_view(
                    effect,
                    LookUp::Linear { contract, id },
                    Asked::Linear,
                    context,
                );
                None
            }
            EffectRequest::Claim {
                key,
                evidence,
                value,
            } => Some(self.on_claim(flow, key, evidence, value, views, context)?),
            EffectRequest::Claimed(key) => Some(self.claims.on_claimed(&key, views.reads)?),
            EffectRequest::External { name, .. } => {
                Some(EffectResult::Failed(errors::unknown_external(&name)))
            }
            EffectRequest::Sign {
                key,
                context: purpose,
                message,
            } => {
                let sign = KeysCommand::Sign {
                    effect,
                    key,
                    purpose,
                    message,
                };
                ask_part(sign, context)
            }
            EffectRequest::FreshKey { audience } => {
                ask_part(KeysCommand::Fresh { effect, audience }, context)
            }
            EffectRequest::KeepOwner(proof) => {
                ask_part(KeysCommand::KeepOwner { effect, proof }, context)
            }
            EffectRequest::KeyOwners(keys) => {
                ask_part(KeysCommand::Owners { effect, keys }, context)
            }
            EffectRequest::ProveKey { key, audience } => {
                let prove = KeysCommand::Prove {
                    effect,
                    key,
                    audience,
                };
                ask_part(prove, context)
            }
        };
        if let Some(result) = result {
            self.complete(flow, number, result, context);
        }
        Ok(())
    }

    /// Claims a key for a flow. A flow of an older copy is refused if the evidence is recorded without a claim.
    fn on_claim(
        &mut self,
        flow: FlowId,
        key: Hash,
        evidence: TxId,
        value: Vec<u8>,
        views: FlowViews<'_>,
        context: &mut Context,
    ) -> Result<EffectResult, StoreFailure> {
        let reads = views.reads;
        let is_lost = self.copied.contains(&flow)
            && self.claims.get(&key, reads)?.is_none()
            && views.book.contains(&evidence, reads)?;
        if is_lost {
            return Ok(EffectResult::Failed(errors::claim_lost(&evidence)));
        }
        self.claims.on_claim(key, value, context, reads)
    }

    /// Gives an effect up for its flow. A record continues, because its transaction is final. A selection continues too, and its locks
    /// are released when the flow ends.
    fn give_up(&mut self, effect: EffectId, context: &mut Context) {
        self.cancel_effect(effect);
        let (flow, number) = effect;
        let id = RequestId {
            flow,
            effect: number,
        };
        context.command(PeersCommand::ForgetRequest(id));
        context.command(IntakeCommand::DropEffect(effect));
    }
}

/// Passes an effect on to another part, which gives the result.
fn ask_part(command: impl Into<Command>, context: &mut Context) -> Option<EffectResult> {
    context.command(command);
    None
}

/// Asks a service of another node, or of this one, if the request fits in a message.
fn ask(
    (flow, effect): EffectId,
    peer: PartyId,
    service: Service,
    body: Vec<u8>,
    context: &mut Context,
) -> Option<EffectResult> {
    let most = context.message_limits.content;
    if body.len() > most {
        let code = "flow.message_too_large";
        let text = format!(
            "a request of {} bytes to {peer}; a message of this network carries at most {most}",
            body.len()
        );
        let hint = ErrorInfo::action_of(flow::ERRORS, code);
        return Some(EffectResult::Failed(FlowError::new(code, text, hint)));
    }
    let id = RequestId { flow, effect };
    let ask = PeersCommand::Ask {
        peer,
        id,
        service,
        body,
    };
    ask_part(ask, context)
}
