//! Effects of a flow: numbered, issued, answered, taken.

use ledger::StateRef;
use primitives::Timestamp;

use super::{Cell, Input, Output};
use crate::engine::{Waiting, WaitsFor};
use crate::error::LIMIT_EXCEEDED;
use crate::journal::{RowWriter, scope_of};
use crate::options::EFFECTS_OF_A_SCOPE_MAX;
use crate::{EffectKind, EffectRequest, EffectResult, FlowError};

/// An effect that the flow waits for.
pub(super) struct Slot {
    pub(super) effect: u32,
    pub(super) kind: EffectKind,
    pub(super) digest: u64,
    pub(super) irrevocable: bool,
    pub(super) consumed: Vec<StateRef>,
    /// Whether it is only the deadline of another wait.
    pub(super) deadline: bool,
    /// What it waits for, for operators.
    pub(super) on: WaitsFor,
    pub(super) since: Timestamp,
    pub(super) state: SlotState,
}

pub(super) enum SlotState {
    /// Not answered; on replay with the request, to be issued again.
    Waiting(Option<Box<EffectRequest>>),
    Answered(EffectResult),
    SubFlowEnded(Result<Vec<u8>, FlowError>),
}

impl Cell {
    /// The next number of a scope.
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

    /// Issues an effect under a number that it already has.
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
        // A record counts too: its transaction is final, whoever is killed meanwhile.
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

    /// A value fixed at the time an effect is issued, the same on replay.
    pub(crate) fn fact(&mut self, effect: u32, live: u64) -> u64 {
        match &self.replay {
            None => {
                self.journal(|row| row.fact(effect, live));
                live
            }
            Some(replay) => match replay.facts.get(&effect) {
                Some(value) => *value,
                None => {
                    self.diverge("the flow asked for a time that it did not ask for before");
                    live
                }
            },
        }
    }

    /// Delivers the result of an effect; whether the flow waits for it.
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

    /// On replay: whether the journal's result belongs to an effect that the flow waits for.
    pub(crate) fn expects(&self, effect: u32, kind: EffectKind, digest: u64) -> bool {
        self.slots.iter().any(|slot| {
            slot.effect == effect
                && slot.kind == kind
                && slot.digest == digest
                && matches!(slot.state, SlotState::Waiting(_))
        })
    }

    /// Takes the result of an effect, once it is there.
    pub(crate) fn take(&mut self, effect: u32) -> Option<EffectResult> {
        let position = self.slots.iter().position(|slot| {
            slot.effect == effect && matches!(slot.state, SlotState::Answered(_))
        })?;
        match self.slots.swap_remove(position).state {
            SlotState::Answered(result) => Some(result),
            _ => None,
        }
    }

    /// The flow no longer waits for an effect.
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

    /// Ends replay and issues again what is still unanswered, in the order of numbers.
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

    /// The effects that the flow waits for; a deadline is none of them.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = Waiting> + '_ {
        self.slots
            .iter()
            .filter(|slot| matches!(slot.state, SlotState::Waiting(_)))
            .filter(|slot| !slot.deadline)
            .map(|slot| Waiting {
                effect: slot.effect,
                kind: slot.kind,
                on: slot.on.clone(),
                since: slot.since,
            })
    }

    /// Whether an irrevocable request has been asked whose outcome is not dealt with yet.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.unsettled > 0
    }

    /// Records that are not done yet. Several side by side are settled when the last one is.
    fn records_outstanding(&self) -> u32 {
        let waiting = |slot: &&Slot| matches!(slot.state, SlotState::Waiting(_));
        let records = self.slots.iter().filter(waiting);
        let count = records
            .filter(|slot| slot.kind == EffectKind::Record)
            .count();
        // The outstanding effects of a flow are few.
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// The outcome of an irrevocable request has been dealt with: refused.
    pub(crate) fn settled(&mut self) {
        self.unsettled = self.unsettled.saturating_sub(1);
    }
}
