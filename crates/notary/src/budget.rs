//! The rate at which one requester may consume states that no transaction has consumed before.

use primitives::Monotonic;

const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;
/// Maximum wait sent to a requester, in milliseconds.
const ETA_MAX_MS: u64 = 600_000;

/// A rate limit with a burst: a token bucket whose level is stored as a single time (generic cell rate algorithm).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StateBudget {
    /// The time at which a requester that consumes at exactly the rate would have consumed all states so far, in nanoseconds.
    paid_until_ns: u64,
}

impl StateBudget {
    /// Charges newly consumed states. The budget may go into debt, because every queued request is decided.
    pub(crate) fn charge(&mut self, now: Monotonic, states: usize, per_s: u64) {
        if per_s == 0 || states == 0 {
            return;
        }
        // All times and costs here are clipped at the end of time, where the requester waits for as long as a wait can be.
        let now_ns = now.as_ms().saturating_mul(NS_PER_MS);
        let cost_ns = (states as u64).saturating_mul(NS_PER_S) / per_s;
        self.paid_until_ns = self.paid_until_ns.max(now_ns).saturating_add(cost_ns);
    }

    /// Returns the milliseconds until the requester is within its rate and burst again; 0 if it is within them now.
    pub(crate) fn wait_ms(&self, now: Monotonic, per_s: u64, burst: u64) -> u64 {
        if per_s == 0 {
            return 0;
        }
        // Clipped at the end of time, as in `charge`.
        let now_ns = now.as_ms().saturating_mul(NS_PER_MS);
        let burst_ns = burst.saturating_mul(NS_PER_S) / per_s;
        // Clipped at 0: states within the burst leave no debt.
        let debt_ns = self
            .paid_until_ns
            .saturating_sub(now_ns)
            .saturating_sub(burst_ns);
        debt_ns.div_ceil(NS_PER_MS).min(ETA_MAX_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_then_the_rate_holds() {
        let at = |ms: u64| Monotonic::from_ms(1_000_000 + ms);
        // (states charged at ms, ..), asked at ms, rate, burst: wait.
        type Row<'a> = (&'a [(u64, usize)], u64, u64, u64, u64);
        let table: &[Row<'_>] = &[
            (&[], 0, 100, 50, 0),
            (&[(0, 50)], 0, 100, 50, 0),
            (&[(0, 51)], 0, 100, 50, 10),
            (&[(0, 150)], 0, 100, 50, 1_000),
            (&[(0, 150)], 400, 100, 50, 600),
            (&[(0, 150)], 1_000, 100, 50, 0),
            // An idle time earns no more than the burst.
            (&[(0, 50), (100_000, 60)], 100_000, 100, 50, 100),
            // Many small charges cost as much as one large charge.
            (&[(0, 30), (0, 30), (0, 30)], 0, 100, 50, 400),
            // A rate of 0 is unlimited.
            (&[(0, usize::MAX)], 0, 0, 0, 0),
            (&[(0, usize::MAX)], 0, 1, 0, ETA_MAX_MS),
        ];
        for (charges, asked, per_s, burst, wait) in table {
            let mut budget = StateBudget::default();
            for (ms, states) in *charges {
                budget.charge(at(*ms), *states, *per_s);
            }
            assert_eq!(
                budget.wait_ms(at(*asked), *per_s, *burst),
                *wait,
                "{charges:?} at {asked}"
            );
        }
    }
}
