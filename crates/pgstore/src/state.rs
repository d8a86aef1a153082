//! The state that the threads of a database share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use primitives::storage::StoreFailure;

use crate::changes::Changes;
use crate::error::DatabaseError;
use crate::schema::Statements;
use crate::settings::Target;
use crate::stats::Stats;

/// State shared by the threads of a database.
pub(crate) struct DatabaseState {
    pub(crate) target: Target,
    pub(crate) statements: Statements,
    pub(crate) stats: Stats,
    pub(crate) changes: Changes,
    stopping: AtomicBool,
    lost: Mutex<Lost>,
}

#[derive(Default)]
struct Lost {
    failure: Option<StoreFailure>,
    told: Option<OnLoss>,
}

pub(crate) type OnLoss = Box<dyn Fn(&StoreFailure) + Send>;

impl DatabaseState {
    pub(crate) fn new(target: Target) -> Self {
        Self {
            statements: Statements::of(&target.schema),
            target,
            stats: Stats::default(),
            changes: Changes::default(),
            stopping: AtomicBool::new(false),
            lost: Mutex::default(),
        }
    }

    /// Begins the end: nothing more is folded, and commits are not tried for long.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.changes.stop();
    }

    /// Calls `told` once, when no commit will be done any more.
    pub(crate) fn on_loss(&self, told: OnLoss) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        match &lost.failure {
            Some(failure) => told(failure),
            None => lost.told = Some(told),
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Returns why no commit is done any more.
    pub(crate) fn refusal(&self) -> StoreFailure {
        self.failure()
            .unwrap_or_else(|| DatabaseError::Closed.to_failure())
    }

    /// Returns why no commit is done any more, if that is so.
    pub(crate) fn failure(&self) -> Option<StoreFailure> {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.failure.clone()
    }

    /// Notes that no commit will be done any more, and tells the node. Keeps the first reason.
    pub(crate) fn lose(&self, failure: &StoreFailure) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if lost.failure.is_none() {
            lost.failure = Some(failure.clone());
            if let Some(told) = &lost.told {
                told(failure);
            }
        }
        drop(lost);
        self.changes.stop();
    }
}
