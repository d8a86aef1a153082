//! Sub-flows. Each runs in its own scope and is skipped on replay once it has ended.

use ledger::Rejection;

use super::scope::Scope;
use super::slot::{Slot, SlotState};
use super::state::Cell;
use crate::error::LIMIT_EXCEEDED;
use crate::journal::scope_of;
use crate::options::SUB_FLOWS_MAX;
use crate::pending_effect::WaitsFor;
use crate::{EffectKind, FlowError};

/// Tells whether a sub-flow has to run or is skipped.
pub(crate) enum SubFlowStart {
    Run {
        effect: u32,
        scope: u16,
        digest: u64,
    },
    Skip {
        effect: u32,
    },
}

impl Cell {
    /// Starts a sub-flow in its own scope, or skips it if the journal holds its end.
    pub(crate) fn start_sub_flow(
        &mut self,
        scope: u16,
        digest: u64,
    ) -> Result<SubFlowStart, FlowError> {
        let effect = self.number(scope)?;
        self.note(scope, |d| d.word(effect.into()).word(digest));
        let index = match &self.replay {
            Some(replay) => replay.scopes.get(&effect).copied(),
            None => self
                .scopes_started
                .checked_add(1)
                .filter(|i| *i < SUB_FLOWS_MAX),
        };
        let Some(index) = index else {
            if self.replay.is_some() {
                self.diverge("the replayed flow started a sub-flow that is not in its journal");
            }
            return Err(FlowError::listed(
                &LIMIT_EXCEEDED,
                "too many sub-flows in one flow",
            ));
        };
        if self
            .replay
            .as_ref()
            .is_some_and(|replay| replay.ended.contains(&index))
        {
            self.slots.push(Slot {
                effect,
                kind: EffectKind::SubFlow,
                digest,
                irrevocable: false,
                consumed: Vec::new(),
                deadline: false,
                on: WaitsFor::Nothing,
                since: self.now,
                state: SlotState::Waiting(None),
            });
            return Ok(SubFlowStart::Skip { effect });
        }
        if self.replay.is_none() {
            self.scopes_started = index;
            self.journal(|row| row.scope(effect, index));
        }
        self.scopes.push(Scope {
            index,
            parent: scope,
            effects: 0,
            deadlines: 0,
            took_input: false,
        });
        Ok(SubFlowStart::Run {
            effect,
            scope: index,
            digest,
        })
    }

    /// Ends a sub-flow's scope; `result` is `None` if the sub-flow was dropped.
    pub(crate) fn end_sub_flow(
        &mut self,
        effect: u32,
        index: u16,
        digest: u64,
        result: Option<Result<&[u8], &FlowError>>,
    ) {
        let Some(position) = self.scopes.iter().position(|scope| scope.index == index) else {
            return;
        };
        let scope = self.scopes.remove(position);
        if let (Some(result), true) = (result, scope.took_input) {
            self.journal(|row| row.sub_flow_ended(effect, digest, result));
        }
        match result {
            Some(result) => self.close_scope(index, result.err().map(FlowError::for_counterparty)),
            // Either the flow dropped it or a panic did; the end of the poll tells which.
            None => self.dropped.push(index),
        }
    }

    /// Ends the sessions of sub-flows that were dropped while the flow continues.
    pub(crate) fn close_dropped(&mut self) {
        for index in std::mem::take(&mut self.dropped) {
            self.close_scope(index, None);
        }
    }

    fn close_scope(&mut self, index: u16, error: Option<Rejection>) {
        self.close_sessions(|number| scope_of(number) == index, error);
        let removed = &mut self.removed;
        self.sessions.retain(|number, state| {
            let stays = scope_of(*number) != index;
            if !stays {
                removed.push(state.known(*number));
            }
            stays
        });
    }

    /// Delivers the end of a skipped sub-flow during replay. Returns whether the flow waits for it.
    pub(crate) fn answer_sub_flow(
        &mut self,
        effect: u32,
        digest: u64,
        result: Result<Vec<u8>, Rejection>,
    ) -> bool {
        let slot = self.slots.iter_mut().find(|slot| {
            slot.effect == effect && slot.kind == EffectKind::SubFlow && slot.digest == digest
        });
        let Some(slot) = slot else { return false };
        slot.state = SlotState::SubFlowEnded(result.map_err(FlowError::from_rejection));
        self.took_input(scope_of(effect));
        true
    }

    /// Takes the result of a skipped sub-flow, if it has been delivered.
    pub(crate) fn take_sub_flow(&mut self, effect: u32) -> Option<Result<Vec<u8>, FlowError>> {
        let position = self.slots.iter().position(|slot| {
            slot.effect == effect && matches!(slot.state, SlotState::SubFlowEnded(_))
        })?;
        match self.slots.swap_remove(position).state {
            SlotState::SubFlowEnded(result) => Some(result),
            _ => None,
        }
    }

    /// Marks a scope and all scopes above it as having taken input. Only the end of a marked sub-flow is journaled.
    pub(super) fn took_input(&mut self, mut index: u16) {
        while index != 0 {
            let Some(scope) = self.scopes.iter_mut().find(|scope| scope.index == index) else {
                return;
            };
            if scope.took_input {
                return;
            }
            scope.took_input = true;
            index = scope.parent;
        }
    }
}
