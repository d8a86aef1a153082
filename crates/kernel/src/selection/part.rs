//! The part of the kernel around the coin selection. The results of the selection become commands to the flows.

use flow::{EffectResult, FlowError, FlowId};
use ledger::{Rejection, StateRef};
use primitives::Monotonic;
use vault::{Lock, Selection, SelectionError, SelectionOptions, SelectionOutput, ViewChange};

use super::quarantine::Quarantine;
use crate::command::{FlowsCommand, SelectionCommand};
use crate::context::Context;
use crate::event::Action;
use crate::part::Part;
use crate::port::{Reads, StoreFailure};

/// The states that flows have locked, the coins that they wait for, and the states in quarantine.
pub(crate) struct CoinSelection {
    selection: Selection,
}

impl Part for CoinSelection {
    fn next_time(&self, _: Monotonic) -> Option<Monotonic> {
        self.selection.next_deadline()
    }
}

impl CoinSelection {
    /// Creates the selection of a ledger that ends at a position. It knows no locks yet.
    pub(crate) fn new(options: SelectionOptions, last_seq: u64) -> Self {
        Self {
            selection: Selection::new(options, last_seq),
        }
    }

    /// Takes over the states in quarantine from the store, at the start.
    pub(crate) fn restore_quarantine(
        &mut self,
        context: &Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        Quarantine::restore(&mut self.selection, context, reads)
    }

    /// Restores the locks of a flow from its journal, at the start.
    pub(crate) fn restore_locks(&mut self, flow: FlowId, locked: &[StateRef]) {
        self.selection.restore_lock(flow.0, locked);
    }

    /// Carries out a command.
    pub(crate) fn on_command(&mut self, command: SelectionCommand, context: &mut Context) {
        let now = context.now.monotonic;
        match command {
            SelectionCommand::Select { effect, request } => {
                let (flow, number) = effect;
                let out = self.selection.request(flow.0, number, request, now);
                queue_outputs(out, context);
            }
            SelectionCommand::Lock { effect, states } => {
                match self.selection.lock(effect.0.0, &states) {
                    Ok(locked) => context.command(FlowsCommand::Locked {
                        effect,
                        states,
                        locked,
                    }),
                    Err(error) => context.complete(effect, failed(&error)),
                }
            }
            SelectionCommand::Unlock { flow, states } => {
                let out = self.selection.unlock(flow.0, &states, now);
                queue_outputs(out, context);
            }
            SelectionCommand::KeepOnly { flow, states } => {
                let out = self.selection.keep_only(flow.0, &states, now);
                queue_outputs(out, context);
            }
            SelectionCommand::Release { flow } => {
                let out = self.selection.release(flow.0, now);
                queue_outputs(out, context);
            }
            SelectionCommand::Refilled {
                token,
                rows,
                view_seq,
                total,
                more,
            } => {
                let out = self
                    .selection
                    .refilled(token, rows, view_seq, total, more, now);
                queue_outputs(out, context);
            }
            SelectionCommand::Quarantine(states) => {
                for state in states {
                    if self.selection.quarantine(state) {
                        Quarantine::begin(&self.selection, state, context);
                    }
                }
            }
        }
    }

    /// Fails the requests whose deadline has come.
    pub(crate) fn on_time(&mut self, context: &mut Context) {
        let now = context.now.monotonic;
        let deadline = self.selection.next_deadline();
        if deadline.is_some_and(|at| at <= now) {
            let out = self.selection.tick(now);
            queue_outputs(out, context);
        }
    }

    /// Notes a transaction that is being recorded in this round, and the states that it consumes.
    pub(crate) fn recorded(&mut self, seq: u64, inputs: &[StateRef], context: &mut Context) {
        Quarantine::end(&self.selection, inputs, context);
        self.selection.record(seq, inputs);
    }

    /// Takes over the changes of the vault by transactions up to a position, which are durable.
    pub(crate) fn durable(&mut self, upto: u64, changes: Vec<ViewChange>, context: &mut Context) {
        let out = self.selection.apply(upto, changes, context.now.monotonic);
        queue_outputs(out, context);
    }

    /// Returns at most `limit` locks, of all flows or of some, and whether there are more.
    pub(crate) fn locks(&self, of: &[FlowId], limit: usize) -> (Vec<Lock>, bool) {
        let of: Vec<[u8; 16]> = of.iter().map(|flow| flow.0).collect();
        let of = (!of.is_empty()).then_some(of.as_slice());
        self.selection.locks(of, limit)
    }

    /// Returns whether a state is in quarantine.
    pub(crate) fn is_quarantined(&self, state: &StateRef) -> bool {
        self.selection.is_quarantined(state)
    }

    /// Returns the number of states in quarantine.
    pub(crate) fn quarantined(&self) -> usize {
        self.selection.figures().quarantined
    }
}

/// Passes the results of the selection on to the flows, and its questions to the vault view.
fn queue_outputs(out: Vec<SelectionOutput>, context: &mut Context) {
    for output in out {
        match output {
            SelectionOutput::Selected {
                flow,
                number,
                states,
            } => context.complete((FlowId(flow), number), EffectResult::States(states)),
            SelectionOutput::Failed {
                flow,
                number,
                error,
            } => context.complete((FlowId(flow), number), failed(&error)),
            SelectionOutput::Refill(request) => context.act(Action::Refill(request)),
        }
    }
}

/// Returns the result of an effect that the selection refuses.
pub(crate) fn failed(error: &SelectionError) -> EffectResult {
    EffectResult::Failed(FlowError::from_rejection(Rejection::of(error)))
}
