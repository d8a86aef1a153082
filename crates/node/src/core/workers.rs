//! The workers of the kernel.

use kernel::jobs::{Done, Job, Workers};
use runtime::WorkerPool;

/// Does the kernel's jobs on its own thread and on those of the pool.
pub(super) struct KernelWorkers(pub(super) WorkerPool<Job, Done>);

impl Workers for KernelWorkers {
    fn run(&self, jobs: Vec<Job>) -> Vec<Done> {
        self.0.run(jobs)
    }

    fn threads(&self) -> usize {
        self.0.threads()
    }
}
