//! The time of a chain: milliseconds since its genesis, on the machine's monotonic clock.
//!
//! The wall clock sets the time at the start, and small corrections of it are followed. A larger step is a jump: the time goes on steadily, so
//! that no deadline is skipped or frozen, and no block is forged in the future. The jump is logged and shown until the clocks agree again. A
//! forward jump that lasts is followed. If it is taken back later, the time is ahead and never steps back, so the node has to start again.

use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use chain::port::StoreFailure;
use chain::{BlockTimestamp, ChainTime};
use kernel::errors::CLOCK_JUMPED;
use primitives::storage::FailureKind;
use rustix::time::{ClockId, clock_gettime};

/// The greatest step of the wall clock that is followed, milliseconds.
const STEP_MS_MAX: u64 = 2_000;
/// Time after which a forward jump of the wall clock is accepted: after a pause of a virtual machine, the monotonic clock is behind.
const FORWARD_ACCEPTED_MS: u64 = 300_000;

/// The clock of one chain, shared by its threads.
#[derive(Debug)]
pub(super) struct ChainClock {
    genesis_ms: u64,
    /// The monotonic clock at the start.
    began_ms: u64,
    time: Mutex<SteadyTime>,
}

impl ChainClock {
    pub(super) fn new(genesis_ms: u64) -> Self {
        Self {
            genesis_ms,
            began_ms: monotonic_ms(),
            // Clipped at 0: genesis is to come, as in `now_ms`.
            time: Mutex::new(SteadyTime::new(unix_ms().saturating_sub(genesis_ms))),
        }
    }

    /// Returns the milliseconds since genesis, or 0 before it.
    pub(super) fn now_ms(&self) -> u64 {
        let mut time = self.time.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed_ms = monotonic_ms().checked_sub(self.began_ms);
        let steady_ms = elapsed_ms.expect("a monotonic clock");
        let wall_ms = unix_ms().saturating_sub(self.genesis_ms);
        let before = time.jump_ms();
        let now_ms = time.read(steady_ms, wall_ms);
        let after = time.jump_ms();
        drop(time);
        match (before, after) {
            (None, Some(by_ms)) => tracing::warn!(
                code = "node.clock_jumped",
                by_ms,
                "the machine's clock was set; the chain goes on by the time before"
            ),
            (Some(_), None) => tracing::info!("the chain goes by the machine's clock again"),
            _ => {}
        }
        now_ms
    }

    /// Returns the time of the chain. Before genesis, this is the time of genesis.
    pub(super) fn time(&self) -> ChainTime {
        ChainTime::from_ms(self.now_ms())
    }

    /// Returns the current second of the chain.
    pub(super) fn now(&self) -> BlockTimestamp {
        BlockTimestamp::at(self.time())
    }

    /// Returns the failure of a clock that went back after the chain had followed it forward. The chain is ahead then: its blocks
    /// would be in the future.
    pub(super) fn failure(&self) -> Option<StoreFailure> {
        let time = self.time.lock().unwrap_or_else(PoisonError::into_inner);
        let ahead_ms = time.taken_back_ms()?;
        Some(StoreFailure {
            kind: FailureKind::Access,
            code: CLOCK_JUMPED.code,
            message: format!(
                "the machine's clock was set back by {ahead_ms} ms after the chain had followed it forward"
            ),
            hint: "Start the node again: it takes the time of the machine's clock.",
        })
    }

    /// The offset of the wall clock from the chain's time, if the wall clock has jumped.
    pub(super) fn jump_ms(&self) -> Option<i64> {
        let time = self.time.lock().unwrap_or_else(PoisonError::into_inner);
        time.jump_ms()
    }
}

/// The time by two clocks: it goes with the monotonic one, and follows small steps of the wall clock.
#[derive(Debug)]
struct SteadyTime {
    /// The accepted offset of the wall clock from the monotonic clock.
    lead_ms: i64,
    /// The last reading. Readings never step back.
    last_ms: u64,
    jump: Option<Jump>,
    /// The size of the last accepted forward jump; 0 if there was none.
    followed_ms: i64,
}

/// A step of the wall clock that is not followed.
#[derive(Clone, Copy, Debug)]
struct Jump {
    by_ms: i64,
    /// The monotonic clock at its beginning.
    since_ms: u64,
}

impl SteadyTime {
    /// Begins at a reading of the wall clock, with the monotonic clock at zero.
    fn new(wall_ms: u64) -> Self {
        Self {
            // No clock of 64-bit milliseconds since genesis comes near the limit.
            lead_ms: i64::try_from(wall_ms).unwrap_or(i64::MAX),
            last_ms: 0,
            jump: None,
            followed_ms: 0,
        }
    }

    fn jump_ms(&self) -> Option<i64> {
        self.jump.map(|jump| jump.by_ms)
    }

    /// Returns how far the time is ahead because of a forward jump that was followed and is taken back, at least by half.
    fn taken_back_ms(&self) -> Option<u64> {
        let back_ms = self.jump?.by_ms.checked_neg()?;
        let is_taken_back = self.followed_ms > 0
            && back_ms >= self.followed_ms / 2
            // A clipped bound is above every jump.
            && back_ms <= self.followed_ms.saturating_mul(2);
        is_taken_back.then_some(back_ms.unsigned_abs())
    }

    /// Reads the time.
    fn read(&mut self, steady_ms: u64, wall_ms: u64) -> u64 {
        // Clipped at 0: no time is before genesis.
        let expected_ms = steady_ms.saturating_add_signed(self.lead_ms);
        // Only a clock that is ahead can be beyond the range: the expected time is far below it.
        let by_ms = wall_ms.checked_signed_diff(expected_ms).unwrap_or(i64::MAX);
        let since_ms = self.jump.map_or(steady_ms, |jump| jump.since_ms);
        // Clipped at 0: the jump is of this moment.
        let lasts_ms = steady_ms.saturating_sub(since_ms);
        let is_small = by_ms.unsigned_abs() <= STEP_MS_MAX;
        if is_small || (by_ms > 0 && lasts_ms >= FORWARD_ACCEPTED_MS) {
            if !is_small {
                self.followed_ms = by_ms;
            }
            // Clipped at the end of the range, where the time stands still.
            self.lead_ms = self.lead_ms.saturating_add(by_ms);
            self.jump = None;
        } else {
            self.jump = Some(Jump { by_ms, since_ms });
        }
        // Clipped at 0: no time is before genesis.
        let now_ms = steady_ms.saturating_add_signed(self.lead_ms);
        self.last_ms = self.last_ms.max(now_ms);
        self.last_ms
    }
}

/// Milliseconds of a clock that never steps. It goes on while the machine is suspended.
fn monotonic_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let ms = now.tv_sec * 1_000 + now.tv_nsec / 1_000_000;
    u64::try_from(ms).expect("a machine's uptime")
}

/// Milliseconds since the Unix epoch.
pub(super) fn unix_ms() -> u64 {
    // A clock before 1970 shows the epoch.
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    primitives::whole_ms(since)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: u64 = 86_400_000;

    /// Reads at each step, given as monotonic and wall clock, and compares time and jump.
    fn check(steps: &[(u64, u64, u64, Option<i64>)]) {
        let mut time = SteadyTime::new(DAY_MS);
        for (at, (steady_ms, wall_ms, now_ms, jump_ms)) in steps.iter().enumerate() {
            assert_eq!(time.read(*steady_ms, *wall_ms), *now_ms, "step {at}");
            assert_eq!(time.jump_ms(), *jump_ms, "step {at}");
        }
    }

    #[test]
    fn small_steps_are_followed() {
        check(&[
            (0, DAY_MS, DAY_MS, None),
            (1_000, DAY_MS + 1_000, DAY_MS + 1_000, None),
            (2_000, DAY_MS + 3_500, DAY_MS + 3_500, None),
            // Back: the time stands still until the clock has caught up.
            (3_000, DAY_MS + 3_000, DAY_MS + 3_500, None),
            (4_000, DAY_MS + 4_000, DAY_MS + 4_000, None),
        ]);
    }

    #[test]
    fn a_day_forward_and_back_changes_nothing() {
        let day = DAY_MS as i64;
        check(&[
            (1_000, DAY_MS + 1_000, DAY_MS + 1_000, None),
            (2_000, 2 * DAY_MS + 2_000, DAY_MS + 2_000, Some(day)),
            (60_000, 2 * DAY_MS + 60_000, DAY_MS + 60_000, Some(day)),
            (61_000, DAY_MS + 61_000, DAY_MS + 61_000, None),
            (62_000, 62_000, DAY_MS + 62_000, Some(-day)),
            (4_000_000, 4_000_000, DAY_MS + 4_000_000, Some(-day)),
            (4_001_000, DAY_MS + 4_001_000, DAY_MS + 4_001_000, None),
        ]);
    }

    #[test]
    fn a_forward_jump_that_lasts_is_followed() {
        let jump = 600_000;
        let after = 1_000 + FORWARD_ACCEPTED_MS;
        let wall = |steady: u64| DAY_MS + jump + steady;
        check(&[
            (1_000, wall(1_000), DAY_MS + 1_000, Some(jump as i64)),
            (after, wall(after), wall(after), None),
            (after + 1, wall(after + 1), wall(after + 1), None),
        ]);
    }

    #[test]
    fn a_followed_jump_that_is_taken_back_is_a_failure() {
        let hour = 3_600_000;
        // The size of the step back in milliseconds, and the failure that it is.
        let table = [
            (1_000, None),
            (hour / 2 - 1, None),
            (hour / 2, Some(hour / 2)),
            (hour, Some(hour)),
            (2 * hour, Some(2 * hour)),
            // The machine's clock is wrong in another way: a start would take a wrong time.
            (2 * hour + 1, None),
        ];
        for followed in [true, false] {
            for (back_ms, expected) in table {
                let mut time = SteadyTime::new(DAY_MS);
                let wall = |steady: u64| DAY_MS + hour + steady;
                time.read(1_000, wall(1_000));
                let after = 1_000 + FORWARD_ACCEPTED_MS;
                if followed {
                    time.read(after, wall(after));
                }
                assert_eq!(time.taken_back_ms(), None);
                time.read(after + 1, wall(after + 1) - back_ms);
                let expected = expected.filter(|_| followed);
                assert_eq!(time.taken_back_ms(), expected, "{back_ms}, {followed}");
            }
        }
    }
}
