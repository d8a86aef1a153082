//! The open-loop driver: units start at a set rate even if earlier ones have not ended, like real arrivals.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::driver::{Fault, Work};
use super::live::Live;
use crate::measure::Latencies;

/// Interval between two checks for due units.
const TICK: Duration = Duration::from_millis(1);

/// The rate and duration of arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    /// Units a second, evenly spaced.
    pub per_s: f64,
    /// No unit is due after this long.
    pub duration: Duration,
    /// Upper limit on outstanding units. A unit that is due above it is dropped and counted.
    pub outstanding_max: usize,
}

/// The result of a stretch of arrivals.
#[derive(Debug, Default)]
pub struct Arrived {
    /// Units due.
    pub due: u64,
    /// Units that were due while too many were outstanding: never started.
    pub dropped: u64,
    /// The longest delay between a unit's due time and its start: how far the generator itself fell behind.
    pub behind_max: Duration,
    /// Units that failed, by code, with one message each.
    pub faults: BTreeMap<String, (u64, String)>,
    /// Latencies of completed units, from when each was *due* to its completion.
    pub latencies: Latencies,
    /// From the first arrival until everything started had ended.
    pub elapsed: Duration,
}

impl Arrived {
    /// Returns how many failed with a code.
    pub fn failed_with(&self, code: &str) -> u64 {
        self.faults.get(code).map_or(0, |(count, _)| *count)
    }

    /// Returns how many failed.
    pub fn failed(&self) -> u64 {
        self.faults.values().map(|(count, _)| count).sum()
    }
}

/// Starts units of `work` when they are due and lets all of them end. Numbers count from `first`. `done` receives the
/// result of each completed unit.
pub async fn arrivals<W: Work>(
    work: Arc<W>,
    live: Arc<Live>,
    arrivals: Arrivals,
    first: u64,
    done: impl Fn(W::Done) + Send + Sync + 'static,
) -> Arrived {
    let start = Instant::now();
    let shared = Arc::new(OpenLoadState {
        work,
        live,
        outstanding: AtomicUsize::new(0),
        arrived: Mutex::default(),
        done,
    });
    let (mut due, mut dropped) = (0u64, 0u64);
    let mut behind_max = Duration::ZERO;
    let mut ticks = tokio::time::interval(TICK);
    loop {
        let elapsed = start.elapsed();
        let until = (elapsed.min(arrivals.duration).as_secs_f64() * arrivals.per_s) as u64;
        while due < until {
            let at = start + Duration::from_secs_f64(due as f64 / arrivals.per_s);
            if shared.outstanding.load(Ordering::Relaxed) < arrivals.outstanding_max {
                behind_max = behind_max.max(at.elapsed());
                shared.outstanding.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(unit(Arc::clone(&shared), first + due, at));
            } else {
                dropped += 1;
            }
            due += 1;
        }
        if elapsed >= arrivals.duration {
            break;
        }
        ticks.tick().await;
    }
    while shared.outstanding.load(Ordering::Acquire) > 0 {
        ticks.tick().await;
    }
    let mut arrived = shared
        .arrived
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    Arrived {
        due,
        dropped,
        behind_max,
        elapsed: start.elapsed(),
        ..std::mem::take(&mut *arrived)
    }
}

struct OpenLoadState<W: Work, D> {
    work: Arc<W>,
    live: Arc<Live>,
    outstanding: AtomicUsize,
    arrived: Mutex<Arrived>,
    done: D,
}

async fn unit<W: Work, D: Fn(W::Done) + Send + Sync>(
    shared: Arc<OpenLoadState<W, D>>,
    number: u64,
    due: Instant,
) {
    let _outstanding = Outstanding(&shared.outstanding);
    let outcome = shared.work.run(number).await;
    let took = due.elapsed();
    match outcome {
        Ok(what) => {
            shared.note(|arrived| arrived.latencies.record(took));
            shared.live.completed(took);
            (shared.done)(what);
        }
        Err(Fault { code, message }) => {
            shared.note(|arrived| arrived.faults.entry(code).or_insert((0, message)).0 += 1);
            shared.live.failed();
        }
    }
}

impl<W: Work, D> OpenLoadState<W, D> {
    fn note(&self, note: impl FnOnce(&mut Arrived)) {
        note(&mut self.arrived.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Decrements the count of outstanding units when dropped, however the unit ends.
struct Outstanding<'a>(&'a AtomicUsize);

impl Drop for Outstanding<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::Semaphore;

    /// Ends a unit for each permit; every third fails.
    struct Gate(Semaphore);

    impl Work for Gate {
        type Done = u64;

        async fn run(&self, number: u64) -> Result<u64, Fault> {
            if let Ok(permit) = self.0.acquire().await {
                permit.forget();
            }
            match number % 3 {
                2 => Err(Fault {
                    code: "gate.third".into(),
                    message: "every third fails".into(),
                }),
                _ => Ok(number),
            }
        }
    }

    async fn run(permits: usize, outstanding_max: usize) -> (Arrived, Vec<u64>) {
        let gate = Arc::new(Gate(Semaphore::new(permits)));
        let rate = Arrivals {
            per_s: 10_000.0,
            duration: Duration::from_millis(30),
            outstanding_max,
        };
        let done = Arc::new(Mutex::new(Vec::new()));
        let note = Arc::clone(&done);
        let opener = Arc::clone(&gate);
        let live = Arc::new(Live::default());
        let (arrived, ()) = tokio::join!(
            arrivals(gate, live, rate, 0, move |number| {
                note.lock().expect("not poisoned").push(number);
            }),
            async move {
                // All units are due by then. Waiting ones may end.
                tokio::time::sleep(2 * rate.duration).await;
                opener.0.add_permits(1_000);
            }
        );
        let mut done = done.lock().expect("not poisoned").clone();
        done.sort_unstable();
        (arrived, done)
    }

    #[tokio::test]
    async fn units_start_when_they_are_due_and_latency_counts_from_then() {
        let (arrived, done) = run(0, 1_000).await;
        assert_eq!((arrived.due, arrived.dropped), (300, 0));
        assert_eq!(arrived.failed_with("gate.third"), 100);
        assert_eq!(arrived.failed(), 100);
        assert_eq!(done.len(), 200);
        assert_eq!(arrived.latencies.count(), 200);
        assert!(
            arrived.latencies.quantile_ms(1.0) >= 55.0,
            "the first waited for the gate"
        );
    }

    #[tokio::test]
    async fn what_finds_no_place_is_dropped_and_counted() {
        let (arrived, done) = run(0, 30).await;
        assert_eq!((arrived.due, arrived.dropped), (300, 270));
        assert_eq!(done.len(), 20);
    }
}
