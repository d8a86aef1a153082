//! Effects of a flow: numbering, issuing, answering and taking results.

use super::input::Input;
use super::slot::{Slot, SlotState};
use super::state::{Cell, Output};
use crate::error::LIMIT_EXCEEDED;
use crate::journal::{RowWriter, scope_of};
use crate::options::EFFECTS_OF_A_SCOPE_MAX;
use crate::pending_effect::{PendingEffect, WaitsFor};
use crate::{EffectKind, EffectRequest, EffectResult, FlowError};

impl Cell {
    /// Returns the next effect number of a scope.
    pub(crate) fn number(&mut self, scope: u16) -> Result<u32, FlowError> {
        let exceeded = || FlowError::listed(&LIMIT_EXCEEDED, "too many effects in one flow");
        let scope = self
            .scopes
            .iter_mut()
            .find(|s| s.index == scope)
            .ok_or_else(exceeded)?;
        if scope.effects == EFFECTS_OF_A_SCOPE_MAX - scope.deadlines {
            return Err(exceeded());
        }
        scope.effects += 1;
        Ok(u32::from(scope.index) << 16 | u32::from(scope.effects))
    }

    /// Issues an effect and returns its number.
    pub(crate) fn issue(&mut self, scope: u16, request: EffectRequest) -> Result<u32, FlowError> {
        let effect = self.number(scope)?;
        self.issue_as(effect, request)?;
        Ok(effect)
    }

    /// Issues an effect under a number that was already assigned.
    pub(crate) fn issue_as(
        &mut self,
        effect: u32,
        request: EffectRequest,
    ) -> Result<(), FlowError> {
        if self.slots.len() >= self.limits.effects_outstanding_max {
            return Err(FlowError::listed(
                &LIMIT_EXCEEDED,
                "too many effects outstanding at once",
            ));
        }
        let (kind, digest) = (request.kind(), request.digest());
        // A record counts too: its transaction is final, even if the flow is killed meanwhile.
        let irrevocable = matches!(
            request,
            EffectRequest::Request {
                irrevocable: true,
                ..
            } | EffectRequest::Record { .. }
        );
        let consumed = match &request {
            EffectRequest::Record { transaction, .. } => transaction.wire().inputs().to_vec(),
            _ => Vec::new(),
        };
        self.unsettled += u32::from(irrevocable);
        self.signed |= kind == EffectKind::Sign;
        self.note(scope_of(effect), |d| d.word(effect.into()).word(digest));
        let (on, since) = (WaitsFor::of(&request), self.now);
        let replaying = self.replay.is_some();
        let state = if replaying {
            SlotState::Waiting(Some(Box::new(request)))
        } else {
            self.outputs.push(Output::Effect { effect, request });
            SlotState::Waiting(None)
        };
        self.slots.push(Slot {
            effect,
            kind,
            digest,
            irrevocable,
            consumed,
            deadline: false,
            on,
            since,
            state,
        });
        Ok(())
    }

    /// Returns a value that is fixed when an effect is issued. A replay returns the journaled value.
    pub(crate) fn fact(&mut self, effect: u32, live: u64) -> u64 {
        match &self.replay {
            None => {
                self.journal(|row| row.fact(effect, live));
                live
            }
            Some(replay) => match replay.facts.get(&effect) {
                Some(value) => *value,
                None => {
                    self.diverge("the replayed flow asked for a time that is not in its journal");
                    live
                }
            },
        }
    }

    /// Delivers the result of an effect. Returns whether the flow waits for it.
    pub(crate) fn answer(&mut self, effect: u32, result: EffectResult) -> bool {
        let Some(position) = self.slots.iter().position(|slot| {
            slot.effect == effect
                && slot.kind != EffectKind::SubFlow
                && matches!(slot.state, SlotState::Waiting(_))
        }) else {
            return false;
        };
        self.begin(Input::Answer(effect));
        let slot = &mut self.slots[position];
        let result = match result {
            EffectResult::Failed(error) => EffectResult::Failed(error.journaled()),
            result if slot.kind.is_answered_by(&result) => result,
            _ => EffectResult::Failed(FlowError::mismatched(slot.kind)),
        };
        if self.replay.is_none() {
            self.row.get_or_insert_with(RowWriter::new).result(
                effect,
                slot.kind,
                slot.digest,
                &result,
                &slot.consumed,
            );
        }
        if slot.irrevocable && matches!(result, EffectResult::Failed(_)) {
            // Clipped at 0: `settled` may have counted the refusal already.
            self.unsettled = self.unsettled.saturating_sub(1);
        }
        let recorded = slot.kind == EffectKind::Record && matches!(result, EffectResult::Done);
        slot.state = SlotState::Answered(result);
        if recorded {
            self.unsettled = self.records_outstanding();
        }
        self.took_input(scope_of(effect));
        true
    }

    /// Returns whether a journaled result belongs to an effect that the flow waits for. Used during replay.
    pub(crate) fn expects(&self, effect: u32, kind: EffectKind, digest: u64) -> bool {
        self.slots.iter().any(|slot| {
            slot.effect == effect
                && slot.kind == kind
                && slot.digest == digest
                && matches!(slot.state, SlotState::Waiting(_))
        })
    }

    /// Takes the result of an effect if it has arrived.
    pub(crate) fn take(&mut self, effect: u32) -> Option<EffectResult> {
        let position = self.slots.iter().position(|slot| {
            slot.effect == effect && matches!(slot.state, SlotState::Answered(_))
        })?;
        match self.slots.swap_remove(position).state {
            SlotState::Answered(result) => Some(result),
            _ => None,
        }
    }

    /// Removes an effect that the flow no longer waits for, and cancels it if it is unanswered.
    pub(crate) fn abandon(&mut self, effect: u32) {
        let Some(position) = self.slots.iter().position(|slot| slot.effect == effect) else {
            return;
        };
        let slot = self.slots.swap_remove(position);
        let waiting = matches!(slot.state, SlotState::Waiting(_));
        if waiting && !self.ended && self.replay.is_none() && slot.kind != EffectKind::SubFlow {
            self.outputs.push(Output::Cancel { effect });
        }
    }

    /// Ends the replay and issues the unanswered effects again, in the order of their numbers.
    pub(crate) fn go_live(&mut self) {
        self.replay = None;
        let mut waiting: Vec<Output> = self
            .slots
            .iter_mut()
            .filter_map(|slot| match &mut slot.state {
                SlotState::Waiting(request) => request.take().map(|request| Output::Effect {
                    effect: slot.effect,
                    request: *request,
                }),
                _ => None,
            })
            .collect();
        waiting.sort_by_key(|output| match output {
            Output::Effect { effect, .. } => *effect,
            _ => 0,
        });
        self.outputs.extend(waiting);
    }

    /// Returns the effects that the flow waits for, without deadlines.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = PendingEffect> + '_ {
        self.slots
            .iter()
            .filter(|slot| matches!(slot.state, SlotState::Waiting(_)))
            .filter(|slot| !slot.deadline)
            .map(|slot| PendingEffect {
                effect: slot.effect,
                kind: slot.kind,
                on: slot.on.clone(),
                since: slot.since,
            })
    }

    /// Returns whether the outcome of an irrevocable request has not been dealt with yet.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.unsettled > 0
    }

    /// Counts the records that are not done yet. Parallel records are settled when the last one is.
    fn records_outstanding(&self) -> u32 {
        let waiting = |slot: &&Slot| matches!(slot.state, SlotState::Waiting(_));
        let records = self.slots.iter().filter(waiting);
        let count = records
            .filter(|slot| slot.kind == EffectKind::Record)
            .count();
        u32::try_from(count).expect("at most `effects_outstanding_max` slots")
    }

    /// Notes that an irrevocable request was refused, which deals with its outcome.
    pub(crate) fn settled(&mut self) {
        // Clipped at 0: the failed effect may have counted it already.
        self.unsettled = self.unsettled.saturating_sub(1);
    }
}
