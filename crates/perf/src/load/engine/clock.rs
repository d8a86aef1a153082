//! The engine's clock: the real one, or a virtual one that makes tests exact and instantaneous.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::measure::{ProcessReading, unix_now, whole_millis};

/// Interval between two checks for due units.
pub const TICK: Duration = Duration::from_millis(1);

/// A clock together with the operations that depend on it: waiting, and spawning tasks that may wait.
pub trait Clock: Clone + Send + Sync + 'static {
    /// Its ticks.
    type Ticks: Ticks;

    /// Returns the time since the clock's beginning. For a run that is the start of the scenario.
    fn now(&self) -> Duration;

    /// Waits until a time. Returns at once if it has passed.
    fn sleep_until(&self, at: Duration) -> impl Future<Output = ()> + Send;

    /// Spawns a task that runs concurrently.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static);

    /// Starts ticks, each at a whole [`TICK`] of the clock.
    fn ticks(&self) -> Self::Ticks;

    /// Returns the processor time of this process so far.
    fn processor_time(&self) -> Duration;

    /// Converts a time of this clock to milliseconds since 1970.
    fn unix_ms(&self, at: Duration) -> u64;
}

/// Regular wake-ups.
pub trait Ticks: Send {
    /// Waits for the next tick and returns when it was due. Missed ticks count as one, due when the first was.
    fn next(&mut self) -> impl Future<Output = Duration> + Send;
}

/// Returns the first whole tick at or after `at`, or the last time that 64 bits of nanoseconds express: no clock gets there.
pub(super) fn whole_tick(at: Duration) -> Duration {
    let tick = TICK.as_nanos();
    let nanos = at.as_nanos().div_ceil(tick) * tick;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// The machine's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Real {
    start: Instant,
    start_unix: Duration,
}

impl Real {
    /// Creates a clock that begins at `epoch`, which is now or a little earlier.
    pub fn since(epoch: Instant) -> Self {
        Self {
            start: epoch,
            // If the machine's clock was never set, its start counts as 1970 too.
            start_unix: unix_now().saturating_sub(epoch.elapsed()),
        }
    }
}

impl Clock for Real {
    type Ticks = Pacer;

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    async fn sleep_until(&self, at: Duration) {
        tokio::time::sleep_until((self.start + at).into()).await;
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(task);
    }

    fn ticks(&self) -> Pacer {
        Pacer::start(*self)
    }

    fn processor_time(&self) -> Duration {
        // A process can always read itself; without /proc its use is unknown, which reads as none.
        ProcessReading::of(std::process::id())
            .unwrap_or_default()
            .cpu
    }

    fn unix_ms(&self, at: Duration) -> u64 {
        // A warm-up begins to measure at `Duration::MAX`, which is never.
        whole_millis(self.start_unix.saturating_add(at))
    }
}

/// A thread that does nothing but wake the engine each tick. The runtime's own timers come up to two milliseconds late,
/// which would be counted as the system's latency.
pub struct Pacer {
    shared: Arc<Paced>,
}

#[derive(Default)]
struct Paced {
    woken: Notify,
    /// The due time of the first unconsumed tick, in nanoseconds; 0 if there is none.
    due: AtomicU64,
    ended: AtomicBool,
}

impl Pacer {
    fn start(clock: Real) -> Self {
        let shared = Arc::new(Paced::default());
        let paced = Arc::clone(&shared);
        let pace = move || {
            let mut due = whole_tick(clock.now() + TICK);
            while !paced.ended.load(Ordering::Relaxed) {
                // A tick that is due already needs no sleep.
                std::thread::sleep(due.saturating_sub(clock.now()));
                let nanos = u64::try_from(due.as_nanos());
                let nanos = nanos.expect("a whole tick is made of 64 bits");
                let first =
                    paced
                        .due
                        .compare_exchange(0, nanos, Ordering::AcqRel, Ordering::Relaxed);
                if first.is_ok() {
                    paced.woken.notify_one();
                }
                due = whole_tick(clock.now().max(due + TICK));
            }
        };
        std::thread::Builder::new()
            .name("lab-pacer".to_owned())
            .spawn(pace)
            .expect("a process that generates load may start a thread");
        Self { shared }
    }
}

impl Ticks for Pacer {
    async fn next(&mut self) -> Duration {
        loop {
            match self.shared.due.swap(0, Ordering::AcqRel) {
                0 => self.shared.woken.notified().await,
                nanos => return Duration::from_nanos(nanos),
            }
        }
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_whole() {
        for (at, expected) in [(0, 0), (1, 1_000), (1_000, 1_000), (1_001, 2_000)] {
            let tick = whole_tick(Duration::from_micros(at));
            assert_eq!(tick, Duration::from_micros(expected));
        }
    }

    #[tokio::test]
    async fn the_real_clock_ticks_in_order() {
        let clock = Real::since(Instant::now());
        let mut ticks = clock.ticks();
        let mut last = Duration::ZERO;
        for _ in 0..20 {
            let due = ticks.next().await;
            assert!(due > last && due == whole_tick(due) && clock.now() >= due);
            last = due;
        }
        assert!(clock.unix_ms(Duration::ZERO) > 1_600_000_000_000);
        clock.sleep_until(Duration::ZERO).await;
    }
}
