//! How fast states are committed of late.

use std::collections::VecDeque;

use primitives::Monotonic;

/// Commits remembered.
const COMMITS_MAX: usize = 64;
/// Commits older than this say nothing about now.
const OLDEST_MS: u64 = 10_000;
/// The longest wait that is announced.
const ETA_MAX_MS: u64 = 600_000;

/// The last commits.
#[derive(Debug, Default)]
pub(crate) struct Rate {
    commits: VecDeque<(Monotonic, u64)>,
    states: u64,
    /// When the span of the remembered commits began.
    since: Monotonic,
}

impl Rate {
    /// Records that `states` states were committed.
    pub(crate) fn committed(&mut self, now: Monotonic, states: usize) {
        self.forget_old(now);
        if self.commits.is_empty() {
            // The first commit after a pause took less than this, so the rate is not overstated.
            // Clipped at the start, where the span is only shorter.
            self.since = now.minus_ms(1_000).unwrap_or(Monotonic::START);
        }
        if self.commits.len() == COMMITS_MAX {
            self.drop_oldest();
        }
        let states = states as u64;
        self.states += states;
        self.commits.push_back((now, states));
    }

    /// Returns twice the time that `queued` states take at the recent rate; `None` if there is no
    /// rate.
    pub(crate) fn eta_ms(&mut self, now: Monotonic, queued: usize) -> Option<u64> {
        self.forget_old(now);
        if self.states == 0 {
            return None;
        }
        let span_ms = u128::from(now.passed_ms(self.since).max(1));
        let eta = 2 * (queued as u128) * span_ms / u128::from(self.states);
        Some(
            // Clipped at the longest wait that is announced.
            u64::try_from(eta)
                .unwrap_or(ETA_MAX_MS)
                .clamp(1, ETA_MAX_MS),
        )
    }

    fn forget_old(&mut self, now: Monotonic) {
        while let Some((at, _)) = self.commits.front()
            && now.since_ms(*at).is_some_and(|age| age > OLDEST_MS)
        {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((at, states)) = self.commits.pop_front() {
            self.states -= states;
            self.since = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_twice_the_queue_at_the_rate_of_late() {
        let at = Monotonic::from_ms;
        // (commits as (time, states), now, queued, eta)
        type Row<'a> = (&'a [(u64, usize)], u64, usize, Option<u64>);
        let table: &[Row<'_>] = &[
            (&[], 50_000, 10, None),
            (&[(10_000, 0)], 10_000, 10, None),
            (&[(10_000, 1_000)], 10_000, 500, Some(1_000)),
            (
                &[(10_000, 1_000), (11_000, 3_000)],
                11_000,
                1_000,
                Some(1_000),
            ),
            // A commit that does not come makes the wait longer.
            (&[(10_000, 1_000)], 13_000, 500, Some(4_000)),
            (&[(10_000, 1_000)], 20_001, 500, None),
            (&[(10_000, 1)], 10_000, 1_000_000_000, Some(600_000)),
            (&[(10_000, 1_000_000)], 10_000, 0, Some(1)),
        ];
        for (commits, now, queued, eta) in table {
            let mut rate = Rate::default();
            for (time, states) in *commits {
                rate.committed(at(*time), *states);
            }
            assert_eq!(rate.eta_ms(at(*now), *queued), *eta, "{commits:?} at {now}");
        }
    }
}
