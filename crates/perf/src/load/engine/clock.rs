//! The engine's clock: the real one, or a virtual one that makes tests exact and instantaneous.

use std::future::Future;
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use crate::measure::{ProcessReading, unix_now, whole_millis};

/// Interval between two checks for due units.
pub const TICK: Duration = Duration::from_millis(1);
/// Maximum time between reading the clock and setting the timer by it. It is set again if it took longer.
const SET_WITHIN: Duration = Duration::from_micros(50);

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

/// A timer of the operating system that wakes the engine each tick. The runtime's own timers come up to two milliseconds late, which
/// would be counted as the system's latency. The runtime waits for it as for its sockets, so a tick costs no switch between threads.
pub struct Pacer {
    /// The timer's descriptor. Like the end of a pipe, it is readable when there is something to read: the number of ticks.
    timer: Receiver,
    /// When the last consumed tick was due.
    last: Duration,
}

impl Pacer {
    fn start(clock: Real) -> Self {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags);
        let timer = timer.expect("a process that generates load may open a timer");
        let time = |duration: Duration| {
            Timespec::try_from(duration).expect("a few milliseconds are a time of the system")
        };
        let first = loop {
            let now = clock.now();
            let first = whole_tick(now + TICK);
            let ticking = Itimerspec {
                it_interval: time(TICK),
                // More than none, which would stop the timer: the first tick is at least one tick away.
                it_value: time(first - now),
            };
            timerfd_settime(&timer, TimerfdTimerFlags::empty(), &ticking)
                .expect("an open timer can be set");
            // An interruption in between would delay every tick.
            if clock.now() - now < SET_WITHIN {
                break first;
            }
        };
        Self {
            timer: Receiver::from_owned_fd_unchecked(timer)
                .expect("a runtime that generates load waits for input"),
            last: first - TICK,
        }
    }
}

impl Ticks for Pacer {
    async fn next(&mut self) -> Duration {
        let mut come = [0; size_of::<u64>()];
        let read = self.timer.read_exact(&mut come).await;
        read.expect("an open timer can be read");
        // The number of ticks since the last call, at least one.
        let come = u32::try_from(u64::from_ne_bytes(come)).expect("no stall takes weeks");
        let due = self.last + TICK;
        self.last += TICK * come;
        due
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
    async fn missed_ticks_count_as_one() {
        let clock = Real::since(Instant::now());
        let mut ticks = clock.ticks();
        ticks.next().await;
        let before = ticks.last;
        let until = clock.now() + 5 * TICK;
        while clock.now() < until {
            std::hint::spin_loop();
        }
        let missed = ticks.next().await;
        assert_eq!(missed, before + TICK, "due when the first was");
        assert!(
            ticks.next().await >= missed + 5 * TICK,
            "the others are over"
        );
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
