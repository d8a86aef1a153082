//! The kernel as a core of the runtime.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flow::FlowId;
use kernel::port::{StoreFailure, Table};
use kernel::{Action, Event, Kernel};
use primitives::{ErrorInfo, Moment};
use runtime::{Commit, Core, Output};

use super::messages::KernelMessages;
use super::shared::NodeState;
use super::start_error::PANICKED;
use crate::ledger_store::LedgerStore;

/// Maximum time between two readings of the clock. A clock that is set while the node is idle is noticed within this time.
const CLOCK_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The kernel with its store and its clock.
pub(super) struct LedgerCore {
    pub(super) kernel: Kernel,
    pub(super) reads: LedgerStore,
    pub(super) shared: Arc<NodeState>,
    /// The time at which the round began.
    pub(super) now: Moment,
    /// Events of the round, and those of them that start a flow.
    pub(super) events: u64,
    pub(super) starts: usize,
    /// Actions of the round.
    pub(super) actions: Vec<Action>,
    /// The begin of the round in which the notary asked for the states of a batch, until the batch is decided.
    pub(super) notary_asked: Option<Instant>,
}

/// The actions of a round of the kernel.
#[derive(Default)]
pub(super) struct LedgerActions {
    /// Steps that flows reached in the round, for clients that follow them.
    pub(super) steps: Vec<(FlowId, &'static str)>,
    /// The time of the question about the states of a batch, if the notary decided the batch in this round.
    pub(super) notary_began: Option<Instant>,
    /// The actions in order.
    pub(super) actions: Vec<Action>,
}

impl LedgerCore {
    /// Returns the core before its first round.
    pub(super) fn new(kernel: Kernel, reads: LedgerStore, shared: Arc<NodeState>) -> Self {
        Self {
            kernel,
            reads,
            now: shared.clock.now(),
            shared,
            events: 0,
            starts: 0,
            actions: Vec::new(),
            notary_asked: None,
        }
    }

    fn is_watched(&self) -> bool {
        self.shared.followers.is_watched()
    }
}

impl Core for LedgerCore {
    type Table = Table;
    type Messages = KernelMessages;
    type Actions = LedgerActions;

    const THREAD: &'static str = "kernel";
    const SUBJECT: &'static str = "ledger";
    const PANICKED: ErrorInfo = PANICKED;

    fn begin_round(&mut self) {
        // A client that asks for the state of a flow in this round follows the flow already.
        self.kernel.take_steps(self.is_watched());
        self.now = self.shared.clock.now();
        self.events = 0;
        self.starts = 0;
    }

    fn handle(&mut self, event: Event) -> Result<(), StoreFailure> {
        self.events += 1;
        self.starts += usize::from(matches!(event, Event::Start(_)));
        self.kernel.handle(event, self.now, &self.reads)
    }

    fn committed(&mut self, number: u64) -> Result<(), StoreFailure> {
        self.events += 1;
        let event = Event::Committed { number };
        self.kernel.handle(event, self.now, &self.reads)
    }

    fn is_full(&self) -> bool {
        self.kernel.is_full()
    }

    fn end_round(&mut self) -> Result<Option<u64>, StoreFailure> {
        let now = self.shared.clock.now();
        self.kernel.flush(now, &self.reads, &mut self.actions)?;
        Ok(Some(self.events))
    }

    fn take_output(&mut self, began: Instant) -> Output<Self> {
        self.shared
            .gate
            .judged(self.starts, self.kernel.start_capacity());
        let steps = self.kernel.take_steps(self.is_watched());
        let notary_decided = self.shared.note_figures(&self.kernel);
        let notary_began = notary_decided.then(|| self.notary_asked.take()).flatten();
        let mut actions = self.actions.iter();
        if actions.any(|action| matches!(action, Action::CheckUniqueness(_))) {
            self.notary_asked = Some(began);
        }
        let context = LedgerActions {
            steps,
            notary_began,
            ..LedgerActions::default()
        };
        output(std::mem::take(&mut self.actions), context)
    }

    fn answer(&mut self, query: Infallible) {
        match query {}
    }

    fn next_deadline(&self) -> Option<Instant> {
        let check = Instant::now() + CLOCK_CHECK_INTERVAL;
        let wakeup = self.kernel.next_wakeup();
        let wakeup = wakeup.and_then(|at| self.shared.clock.instant(at));
        Some(wakeup.map_or(check, |at| at.min(check)))
    }
}

/// Splits a round's actions into its commit and the actions that wait for none. The context of the round goes with the commit, or
/// with the other actions if there is no commit.
pub(super) fn output(actions: Vec<Action>, mut context: LedgerActions) -> Output<LedgerCore> {
    let (mut commit, mut at_once) = (None, Vec::new());
    for action in actions {
        match action {
            Action::Commit {
                number,
                batch,
                then,
            } => {
                assert!(commit.is_none(), "a round has one commit");
                let actions = LedgerActions {
                    actions: then,
                    ..std::mem::take(&mut context)
                };
                commit = Some(Commit {
                    number,
                    batch,
                    actions,
                });
            }
            action => at_once.push(action),
        }
    }
    context.actions = at_once;
    Output {
        commit,
        at_once: (!context.is_empty()).then_some(context),
    }
}

impl LedgerActions {
    fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.notary_began.is_none() && self.actions.is_empty()
    }
}
