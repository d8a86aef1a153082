//! Workers: threads that share batches of jobs with the thread that hands them out.
//!
//! The caller of [`WorkerPool::run`] does jobs too, and waits only for portions of the batch that another thread has taken. So a batch
//! never waits for a thread that the operating system has not scheduled yet, and on a busy machine the caller does all jobs itself.
//!
//! # Invariants
//! - Each job is done once, and its result is at its place.
//! - A panic of a job reaches the caller, after all threads have left the batch.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::metrics::{Counter, Histogram};

/// Cost of the jobs for which one more thread is woken. Up to this cost the caller does all jobs, because to wake a thread takes longer.
const COST_PER_THREAD: usize = 4;
/// Each thread takes its part of a batch in about this many portions, so that a slow one holds up few jobs.
const PORTIONS: usize = 4;
/// Maximum number of jobs in a portion.
const PORTION_MAX: usize = 16;

/// The metrics of a pool.
#[derive(Clone, Debug)]
pub struct WorkerMetrics {
    /// Jobs done by the callers' own threads.
    pub by_caller: Counter,
    /// Jobs done by the workers.
    pub by_workers: Counter,
    /// Processor time that a caller's thread spent on a batch of jobs, alone or with workers. Batches that are too cheap to wake a thread
    /// for are left out.
    pub caller_time: Histogram,
}

/// Threads that do jobs of one kind. Dropping it ends them.
pub struct WorkerPool<J, D> {
    shared: Arc<Shared<J, D>>,
    cost: fn(&J) -> usize,
    threads: Vec<JoinHandle<()>>,
    metrics: WorkerMetrics,
}

struct Shared<J, D> {
    work: fn(J) -> D,
    present: Mutex<Present<J, D>>,
    arrived: Condvar,
}

/// The batch that is being done.
struct Present<J, D> {
    batch: Option<Arc<Batch<J, D>>>,
    /// Counts the batches, so that no thread looks at one twice.
    number: u64,
    closed: bool,
}

struct Batch<J, D> {
    state: Mutex<BatchState<J, D>>,
    /// Signalled when the last job is done.
    done: Condvar,
    portion: usize,
}

struct BatchState<J, D> {
    left: std::vec::IntoIter<J>,
    /// The results of done jobs, at the places of the jobs.
    results: Vec<Option<D>>,
    /// Portions that were taken and are not done.
    open: usize,
    /// Jobs done.
    done: u64,
    /// The first panic of a job. The jobs that were not taken before it are not done.
    panic: Option<Box<dyn Any + Send>>,
}

impl<J: Send + 'static, D: Send + 'static> WorkerPool<J, D> {
    /// Starts `threads` threads that do jobs with `work`. Without a thread, the callers do all jobs. `cost` estimates the time of a job in
    /// units of ten microseconds.
    ///
    /// # Errors
    /// The operating system cannot start a thread.
    pub fn start(
        threads: usize,
        work: fn(J) -> D,
        cost: fn(&J) -> usize,
        metrics: WorkerMetrics,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            work,
            present: Mutex::new(Present {
                batch: None,
                number: 0,
                closed: false,
            }),
            arrived: Condvar::new(),
        });
        let mut pool = Self {
            shared,
            cost,
            threads: Vec::with_capacity(threads),
            metrics,
        };
        for number in 0..threads {
            let shared = Arc::clone(&pool.shared);
            let thread = std::thread::Builder::new()
                .name(format!("worker-{number}"))
                .spawn(move || shared.help())?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Returns the number of threads that do jobs at the same time, the caller's included.
    pub fn threads(&self) -> usize {
        self.threads.len() + 1
    }

    /// Does all jobs and returns their results in the order of the jobs. One caller at a time.
    ///
    /// # Panics
    /// A job panicked.
    pub fn run(&self, jobs: Vec<J>) -> Vec<D> {
        let count = jobs.len();
        let cost: usize = jobs.iter().map(self.cost).sum();
        if cost <= COST_PER_THREAD {
            self.metrics.by_caller.add(count as u64);
            return jobs.into_iter().map(self.shared.work).collect();
        }
        let portion = count / (PORTIONS * (self.threads.len() + 1));
        let batch = Arc::new(Batch {
            state: Mutex::new(BatchState {
                left: jobs.into_iter(),
                results: (0..count).map(|_| None).collect(),
                open: 0,
                done: 0,
                panic: None,
            }),
            done: Condvar::new(),
            portion: portion.clamp(1, PORTION_MAX),
        });
        // One thread for each job at most. The caller is one of them.
        let worthwhile = cost.div_ceil(COST_PER_THREAD).min(count) - 1;
        let helpers = self.threads.len().min(worthwhile);
        if helpers > 0 {
            let mut present = self.shared.present();
            present.batch = Some(Arc::clone(&batch));
            present.number += 1;
        }
        for _ in 0..helpers {
            self.shared.arrived.notify_one();
        }
        let began = processor_time();
        let own = batch.help(self.shared.work);
        self.metrics
            .caller_time
            .record_time(processor_time().saturating_sub(began));
        let finished = batch.finish();
        if helpers > 0 {
            self.shared.present().batch = None;
        }
        self.metrics.by_caller.add(own);
        match finished {
            Ok((results, done)) => {
                self.metrics.by_workers.add(done - own);
                results
            }
            Err(panic) => resume_unwind(panic),
        }
    }
}

impl<J, D> Drop for WorkerPool<J, D> {
    fn drop(&mut self) {
        self.shared.present().closed = true;
        self.shared.arrived.notify_all();
        for thread in self.threads.drain(..) {
            // A worker contains the panics of jobs, so it has none of its own to report.
            let _ = thread.join();
        }
    }
}

impl<J, D> Shared<J, D> {
    fn present(&self) -> MutexGuard<'_, Present<J, D>> {
        // Nothing panics under the lock.
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker's thread: helps with each batch until the pool is closed.
    fn help(&self) {
        let mut seen = 0;
        loop {
            let batch = {
                let mut present = self.present();
                loop {
                    if present.closed {
                        return;
                    }
                    let fresh = present.batch.as_ref().filter(|_| present.number > seen);
                    if let Some(batch) = fresh.map(Arc::clone) {
                        seen = present.number;
                        break batch;
                    }
                    let waited = self.arrived.wait(present);
                    present = waited.unwrap_or_else(PoisonError::into_inner);
                }
            };
            batch.help(self.work);
        }
    }
}

impl<J, D> Batch<J, D> {
    fn state(&self) -> MutexGuard<'_, BatchState<J, D>> {
        // Nothing panics under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does portions of the batch until no job is left. Returns the number of jobs done.
    fn help(&self, work: fn(J) -> D) -> u64 {
        let mut done = 0;
        loop {
            let (first, jobs) = {
                let mut state = self.state();
                let first = state.results.len() - state.left.len();
                let jobs: Vec<J> = state.left.by_ref().take(self.portion).collect();
                if jobs.is_empty() {
                    return done;
                }
                state.open += 1;
                (first, jobs)
            };
            let count = jobs.len();
            let results = catch_unwind(AssertUnwindSafe(|| {
                jobs.into_iter().map(work).collect::<Vec<D>>()
            }));
            let mut left = Vec::new().into_iter();
            let mut state = self.state();
            match results {
                Ok(results) => {
                    let places = state.results[first..first + count].iter_mut();
                    for (place, result) in places.zip(results) {
                        assert!(place.is_none(), "a job was done twice");
                        *place = Some(result);
                    }
                }
                Err(panic) => {
                    std::mem::swap(&mut state.left, &mut left);
                    state.panic.get_or_insert(panic);
                }
            }
            state.open -= 1;
            state.done += count as u64;
            done += count as u64;
            if state.open == 0 && state.left.len() == 0 {
                self.done.notify_all();
            }
            drop(state);
            // Values in a job that was not done may panic when they are dropped. The first panic is the one to report.
            let _ = catch_unwind(AssertUnwindSafe(move || drop(left)));
        }
    }

    /// Waits until all jobs are done. Returns their results and their number, or the panic of a job.
    fn finish(&self) -> Result<(Vec<D>, u64), Box<dyn Any + Send>> {
        let mut state = self.state();
        while state.open > 0 {
            let waited = self.done.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        assert_eq!(state.left.len(), 0, "a batch ends with its last job");
        if let Some(panic) = state.panic.take() {
            return Err(panic);
        }
        let results = std::mem::take(&mut state.results).into_iter();
        let results: Option<Vec<D>> = results.collect();
        Ok((results.expect("each job has a result"), state.done))
    }
}

/// Returns the processor time of the present thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Unit;

    fn pool<J: Send + 'static, D: Send + 'static>(
        threads: usize,
        work: fn(J) -> D,
    ) -> WorkerPool<J, D> {
        let metrics = WorkerMetrics {
            by_caller: Counter::default(),
            by_workers: Counter::default(),
            caller_time: Histogram::new(Unit::Seconds),
        };
        WorkerPool::start(threads, work, |_| 1, metrics).expect("threads start")
    }

    #[test]
    fn results_stand_at_the_places_of_their_jobs() {
        for threads in [0, 1, 3] {
            let pool = pool(threads, |n: u64| n * n);
            for count in [0, 1, 3, 4, 5, 100, 1_000] {
                let expected: Vec<u64> = (0..count).map(|n| n * n).collect();
                assert_eq!(
                    pool.run((0..count).collect()),
                    expected,
                    "{threads} threads"
                );
            }
            let done = pool.metrics.by_caller.get() + pool.metrics.by_workers.get();
            assert_eq!(done, 1_113);
        }
    }

    #[test]
    fn two_threads_work_on_one_batch() {
        // Each job of the first pair waits for the other, so one thread alone would never end.
        static MEET: std::sync::OnceLock<std::sync::Barrier> = std::sync::OnceLock::new();
        let pool = pool(1, |n: usize| {
            if n == 0 || n == 1 {
                MEET.get_or_init(|| std::sync::Barrier::new(2)).wait();
            }
            n
        });
        assert_eq!(pool.run((0..8).collect()), (0..8).collect::<Vec<_>>());
        assert!(pool.metrics.by_workers.get() > 0);
    }

    #[test]
    fn a_panic_of_a_job_reaches_the_caller_and_the_pool_goes_on() {
        let pool = pool(2, |n: u32| {
            assert_ne!(n, 70, "job 70");
            n
        });
        for _ in 0..20 {
            let run = || pool.run((0..100).collect());
            let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("job 70 panics");
            assert!(crate::panic_text(&*panic).contains("job 70"));
            assert_eq!(pool.run((0..50).collect()).len(), 50);
        }
    }
}
