//! The chain's core as a core of the runtime.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chain::core::{Action, Core as Decisions, Event, Round};
use chain::port::{StoreFailure, Table};
use primitives::ErrorInfo;
use runtime::{Commit, Core, Output};

use super::messages::ChainMessages;
use super::queries::ChainQuery;
use super::shared::ChainNodeState;
use super::start_error::PANICKED;
use super::store::Store;

/// The chain's core with its clock.
pub(super) struct ChainCore {
    core: Decisions<Store>,
    shared: Arc<ChainNodeState>,
    /// Rounds that were submitted and are not durable yet.
    outstanding: usize,
    /// Events of the current round.
    events: u64,
    /// The result of the current round, if it had anything to decide.
    round: Option<Round>,
}

impl ChainCore {
    /// Returns the core before its first round.
    pub(super) fn new(core: Decisions<Store>, shared: Arc<ChainNodeState>) -> Self {
        Self {
            core,
            shared,
            outstanding: 0,
            events: 0,
            round: None,
        }
    }

    /// Returns the commit of a round. A round without effects needs none if all earlier rounds are durable.
    fn commit(&mut self, round: Round) -> Option<Commit<Self>> {
        let Round { batch, actions } = round;
        if batch.is_empty() && actions.is_empty() && self.outstanding == 0 {
            self.core.committed();
            return None;
        }
        self.outstanding += 1;
        Some(Commit {
            // The core counts the commits itself.
            number: 0,
            batch,
            actions,
        })
    }
}

impl Core for ChainCore {
    type Table = Table;
    type Messages = ChainMessages;
    type Actions = Vec<Action>;

    const THREAD: &'static str = "chain";
    const SUBJECT: &'static str = "chain";
    const PANICKED: ErrorInfo = PANICKED;

    fn begin_round(&mut self) {
        self.events = 0;
    }

    fn handle(&mut self, event: Event) -> Result<(), StoreFailure> {
        self.events += 1;
        self.core.handle(self.shared.clock.time(), event)
    }

    fn committed(&mut self, _number: u64) -> Result<(), StoreFailure> {
        assert!(self.outstanding > 0, "a durable round was submitted");
        self.outstanding -= 1;
        self.core.committed();
        Ok(())
    }

    fn end_round(&mut self) -> Result<Option<u64>, StoreFailure> {
        let now = self.shared.clock.time();
        if let Some(failure) = self.shared.clock.failure() {
            return Err(failure);
        }
        let is_due = self.core.next_wake().is_some_and(|at| at <= now);
        if self.events == 0 && !is_due {
            return Ok(None);
        }
        self.round = Some(self.core.flush(now)?);
        Ok(Some(self.events))
    }

    fn take_output(&mut self, _began: Instant) -> Output<Self> {
        let commit = self.round.take().and_then(|round| self.commit(round));
        self.shared.lock_shown().core = self.core.figures();
        Output {
            commit,
            at_once: None,
        }
    }

    fn answer(&mut self, query: ChainQuery) {
        query.answer(&self.core);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.core.next_wake().map(|at| {
            // A time in the past is due now.
            let left = at.since(self.shared.clock.time());
            Instant::now() + left.unwrap_or(Duration::ZERO)
        })
    }
}
