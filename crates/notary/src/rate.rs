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
    /// When the first request came after a pause, if nothing has been committed since.
    asked: Option<Monotonic>,
}

impl Rate {
    /// Records that a request came.
    pub(crate) fn asked(&mut self, now: Monotonic) {
        self.forget_old(now);
        if self.commits.is_empty() {
            self.asked.get_or_insert(now);
        }
    }

    /// Records that `states` states were committed.
    pub(crate) fn committed(&mut self, now: Monotonic, states: usize) {
        self.forget_old(now);
        if self.commits.is_empty() {
            // The first commit after a pause took the time since the first request.
            self.since = self.asked.take().unwrap_or(now);
        }
        if self.commits.len() == COMMITS_MAX {
            self.drop_oldest();
        }
        let states = states as u64;
        self.states += states;
        self.commits.push_back((now, states));
    }

    /// Returns the time that `queued` states take at the recent rate; `None` if there is no rate.
    pub(crate) fn eta_ms(&mut self, now: Monotonic, queued: usize) -> Option<u64> {
        self.forget_old(now);
        if self.states == 0 {
            return None;
        }
        let span_ms = u128::from(now.passed_ms(self.since).max(1));
        let eta = (queued as u128) * span_ms / u128::from(self.states);
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
    fn the_wait_is_the_queue_at_the_recent_rate() {
        let at = Monotonic::from_ms;
        // (commits as (time, states), now, queued, eta)
        type Row<'a> = (&'a [(u64, usize)], u64, usize, Option<u64>);
        let table: &[Row<'_>] = &[
            (&[], 50_000, 10, None),
            (&[(10_000, 0)], 10_000, 10, None),
            (&[(10_000, 1_000)], 10_000, 500, Some(500)),
            (
                &[(10_000, 1_000), (11_000, 3_000)],
                11_000,
                1_000,
                Some(500),
            ),
            // A commit that does not come makes the wait longer.
            (&[(10_000, 1_000)], 13_000, 500, Some(2_000)),
            (&[(10_000, 1_000)], 20_001, 500, None),
            (&[(10_000, 1)], 10_000, 1_000_000_000, Some(600_000)),
            (&[(10_000, 1_000_000)], 10_000, 0, Some(1)),
        ];
        for (commits, now, queued, eta) in table {
            let mut rate = Rate::default();
            // The first request came at 9 s.
            rate.asked(at(9_000));
            rate.asked(at(9_500));
            for (time, states) in *commits {
                rate.committed(at(*time), *states);
            }
            assert_eq!(rate.eta_ms(at(*now), *queued), *eta, "{commits:?} at {now}");
        }
    }

    #[test]
    fn a_pause_does_not_lower_the_rate() {
        let at = Monotonic::from_ms;
        let mut rate = Rate::default();
        rate.asked(at(1_000));
        rate.committed(at(1_100), 100);
        // Nothing for a minute, then a batch within 200 ms.
        rate.asked(at(60_000));
        rate.committed(at(60_200), 2_000);
        assert_eq!(rate.eta_ms(at(60_200), 50_000), Some(5_000));
    }
}
