//! The core's checker of signatures, with the threads that it may use.

use std::fmt;

use primitives::{CheckWorkers, InlineChecks, SignatureChecker, SignedMessage};

/// Checks signatures. The verdicts do not depend on the threads.
pub(super) struct Checks {
    checker: SignatureChecker,
    workers: Box<dyn CheckWorkers + Send>,
}

impl Checks {
    /// Checks on the core's own thread.
    pub(super) fn inline() -> Self {
        Self {
            checker: SignatureChecker::new(),
            workers: Box::new(InlineChecks),
        }
    }

    /// Has batches checked by these workers from now on.
    pub(super) fn set_workers(&mut self, workers: Box<dyn CheckWorkers + Send>) {
        self.workers = workers;
    }

    /// Tells whether one signature is valid.
    pub(super) fn check(&mut self, signed: &SignedMessage) -> bool {
        self.checker.check(signed)
    }

    /// Returns whether each signature is valid, in the given order. `expected` is about their number.
    pub(super) fn check_all(
        &mut self,
        signatures: impl IntoIterator<Item = SignedMessage>,
        expected: usize,
    ) -> Vec<bool> {
        let workers = &*self.workers;
        self.checker.check_batch_on(signatures, expected, workers)
    }
}

impl fmt::Debug for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Checks({:?}, {} threads)",
            self.checker,
            self.workers.threads()
        )
    }
}
