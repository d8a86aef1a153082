//! The closed-loop driver: a set number of units of work outstanding, a new one as soon as one ends.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::live::Live;
use crate::measure::Latencies;

/// Pause of a slot after a refusal, so that a busy node is not called again at once.
const REST_AFTER_FAULT: Duration = Duration::from_millis(20);

/// A kind of work that is run repeatedly.
pub trait Work: Send + Sync + 'static {
    /// The result of a completed (delivered) unit.
    type Done: Send + 'static;

    /// Runs unit `number` to its end.
    fn run(&self, number: u64) -> impl Future<Output = Result<Self::Done, Fault>> + Send;
}

/// A unit that did not complete.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Fault {
    /// A stable code.
    pub code: String,
    /// A message for people.
    pub message: String,
}

impl Fault {
    /// Creates a fault.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
        }
    }
}

/// The intensity and duration of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Units outstanding at any moment.
    pub outstanding: usize,
    /// No unit starts after this long.
    pub duration: Duration,
    /// No more units than this are started.
    pub most: u64,
}

/// The result of one stretch of load.
#[derive(Debug)]
pub struct Window<D> {
    /// From the first start until everything started had ended and the last caller had caught up.
    pub elapsed: Duration,
    /// Results of the completed units, ordered by their end.
    pub done: Vec<D>,
    /// Units that failed, by code, with one message each.
    pub faults: BTreeMap<String, (u64, String)>,
    /// From just before the start of a unit to its completion.
    pub latencies: Latencies,
}

impl<D> Window<D> {
    /// Returns the completed units per second.
    pub fn per_s(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 {
            self.done.len() as f64 / seconds
        } else {
            0.0
        }
    }

    /// Returns the number of failed units.
    pub fn failed(&self) -> u64 {
        self.faults.values().map(|(count, _)| count).sum()
    }
}

struct DriverState<W: Work> {
    work: Arc<W>,
    live: Arc<Live>,
    next: AtomicU64,
    most: u64,
    until: Instant,
    window: Mutex<Window<W::Done>>,
}

/// Keeps `load.outstanding` units of `work` going, lets all of them end, then waits for `catch_up`; numbers count from `first`.
pub async fn window<W: Work>(
    work: Arc<W>,
    live: Arc<Live>,
    load: Load,
    first: u64,
    catch_up: impl Future<Output = ()>,
) -> Window<W::Done> {
    let start = Instant::now();
    let shared = Arc::new(DriverState {
        work,
        live,
        next: AtomicU64::new(first),
        // Without a limit `load.most` is the largest number.
        most: first.saturating_add(load.most),
        until: start + load.duration,
        window: Mutex::new(Window {
            elapsed: Duration::ZERO,
            done: Vec::new(),
            faults: BTreeMap::new(),
            latencies: Latencies::new(),
        }),
    });
    let slots: Vec<_> = (0..load.outstanding)
        .map(|_| tokio::spawn(slot(Arc::clone(&shared))))
        .collect();
    for slot in slots {
        // A slot cannot return an error. If it panicked, its unit is lost, which the audit detects.
        let _ = slot.await;
    }
    catch_up.await;
    let mut window = shared.window.lock().unwrap_or_else(PoisonError::into_inner);
    let empty = Window {
        elapsed: Duration::ZERO,
        done: Vec::new(),
        faults: BTreeMap::new(),
        latencies: Latencies::new(),
    };
    let mut result = std::mem::replace(&mut *window, empty);
    result.elapsed = start.elapsed();
    result
}

async fn slot<W: Work>(shared: Arc<DriverState<W>>) {
    while Instant::now() < shared.until {
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        if number >= shared.most {
            return;
        }
        let start = Instant::now();
        let outcome = shared.work.run(number).await;
        let took = start.elapsed();
        let failed = outcome.is_err();
        {
            let mut window = shared.window.lock().unwrap_or_else(PoisonError::into_inner);
            match outcome {
                Ok(done) => {
                    window.done.push(done);
                    window.latencies.record(took);
                    shared.live.completed(took);
                }
                Err(fault) => {
                    let entry = window
                        .faults
                        .entry(fault.code)
                        .or_insert((0, fault.message));
                    entry.0 += 1;
                    shared.live.failed();
                }
            }
        }
        if failed {
            tokio::time::sleep(REST_AFTER_FAULT).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[derive(Default)]
    struct Fake {
        now: AtomicUsize,
        peak: AtomicUsize,
    }

    impl Work for Fake {
        type Done = u64;

        async fn run(&self, number: u64) -> Result<u64, Fault> {
            let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.peak.fetch_max(now, Ordering::SeqCst);
            tokio::task::yield_now().await;
            self.now.fetch_sub(1, Ordering::SeqCst);
            if number % 10 == 9 {
                return Err(Fault {
                    code: "fake.ninth".into(),
                    message: "every tenth fails".into(),
                });
            }
            Ok(number)
        }
    }

    #[tokio::test]
    async fn keeps_the_set_number_outstanding_and_counts_everything() {
        let fake = Arc::new(Fake::default());
        let live = Arc::new(Live::default());
        let load = Load {
            outstanding: 7,
            duration: Duration::from_secs(60),
            most: 100,
        };
        let caught_up = AtomicUsize::new(0);
        let window = window(Arc::clone(&fake), Arc::clone(&live), load, 1000, async {
            caught_up.store(1, Ordering::SeqCst);
        })
        .await;
        assert_eq!(fake.peak.load(Ordering::SeqCst), 7);
        assert_eq!((window.done.len(), window.failed()), (90, 10));
        assert_eq!(window.latencies.count(), 90);
        assert!(
            window
                .done
                .iter()
                .all(|number| (1000..1100).contains(number))
        );
        assert_eq!(caught_up.load(Ordering::SeqCst), 1);
        let reading = live.read();
        assert_eq!((reading.completed, reading.failed), (90, 10));
        assert!(window.per_s() > 0.0);
    }

    #[tokio::test]
    async fn starts_nothing_after_the_end() {
        let load = Load {
            outstanding: 3,
            duration: Duration::ZERO,
            most: u64::MAX,
        };
        let window = window(Arc::new(Fake::default()), Arc::default(), load, 0, async {}).await;
        assert!(window.done.is_empty());
    }
}
