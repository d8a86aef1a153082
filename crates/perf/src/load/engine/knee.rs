//! The search for the highest rate that still meets a target, as pure decisions. The rate doubles until a trial fails.
//! Then the remaining interval is halved (geometrically). A repeat confirms the result; a rate that fails the repeat
//! counts as failed.

use crate::plan::Knee;
use crate::results::{Finding, Stretch};

/// Upper limit on trials.
const TRIALS_MAX: usize = 60;

/// The next step of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Next {
    /// Try a rate.
    Try(f64),
    /// Try the best rate again; if it meets the target, that is the result.
    Confirm(f64),
    /// Not even the lowest rate meets the target; it was the last one tried.
    Below,
}

/// The state of a search.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    from: f64,
    to: f64,
    within: f64,
    tried: Vec<(f64, bool)>,
    next: Next,
}

impl Search {
    pub fn new(knee: &Knee) -> Self {
        let from = knee.from_per_s.max(f64::MIN_POSITIVE);
        Self {
            from,
            to: knee.to_per_s.max(from),
            // Trials are not precise enough for a smaller interval.
            within: knee.within.max(0.001),
            tried: Vec::new(),
            next: Next::Try(from),
        }
    }

    pub fn next(&self) -> Next {
        self.next
    }

    pub fn tried(&self) -> &[(f64, bool)] {
        &self.tried
    }

    /// Records the outcome of the trial of [`Self::next`]. Returns whether the search is over.
    pub fn tell(&mut self, met: bool) -> bool {
        let (rate, confirmed) = match self.next {
            Next::Try(rate) => (rate, false),
            Next::Confirm(rate) => (rate, met),
            Next::Below => return true,
        };
        self.tried.push((rate, met));
        self.next = self.decide();
        confirmed || self.next == Next::Below || self.tried.len() >= TRIALS_MAX
    }

    fn decide(&self) -> Next {
        // If a rate failed once, it and every higher rate count as failed, even if other trials of them met the target.
        let failed = self.tried.iter().filter(|(_, met)| !met);
        let high = failed.map(|(rate, _)| *rate).reduce(f64::min);
        let met = self.tried.iter().filter(|(_, met)| *met);
        let low = met
            .map(|(rate, _)| *rate)
            .filter(|rate| high.is_none_or(|high| *rate < high))
            .reduce(f64::max);
        match (low, high) {
            (None, None) => Next::Try(self.from),
            (None, Some(high)) if high <= self.from => Next::Below,
            (None, Some(_)) => Next::Try(self.from),
            (Some(low), None) if low >= self.to => Next::Confirm(low),
            (Some(low), None) => Next::Try((low * 2.0).min(self.to)),
            (Some(low), Some(high)) if high <= low * (1.0 + self.within) => Next::Confirm(low),
            (Some(low), Some(high)) => Next::Try((low * high).sqrt()),
        }
    }
}

/// Returns whether a trial met the target: enough of all due units were fast enough, counting dropped and failed ones as
/// slow.
pub(crate) fn meets(knee: &Knee, trial: &Stretch) -> bool {
    let wanted = knee.percentile / 100.0 * trial.due as f64;
    let fast = trial.latencies.buckets.range(..=fast_us(knee));
    let fast: u64 = fast.map(|(_, count)| count).sum();
    trial.due > 0 && fast as f64 >= wanted
}

/// Returns the target in microseconds.
fn fast_us(knee: &Knee) -> u64 {
    (knee.latency_ms.max(0.0) * 1000.0) as u64
}

/// Returns a warning if a search did not end between its bounds.
pub(crate) fn finding(tried: &[(f64, bool)]) -> Option<Finding> {
    let (last, met) = tried.last()?;
    let finding = |code: &str, message| {
        Some(Finding {
            code: code.to_owned(),
            message,
        })
    };
    if !met && tried.iter().any(|(_, met)| *met) {
        return finding(
            "lab.knee_unsteady",
            format!(
                "the search ended after {} trials without a rate that met the target twice: measure longer (`run.seconds`)",
                tried.len()
            ),
        );
    }
    if !met {
        return finding(
            "lab.knee_below",
            format!(
                "no rate met the target, not even {last:.1}/s: begin lower (`from_per_s`) or allow more latency"
            ),
        );
    }
    if tried.iter().all(|(_, met)| *met) {
        return finding(
            "lab.knee_above",
            format!(
                "every rate met the target, up to {last:.1}/s: allow a higher one (`to_per_s`)"
            ),
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knee(from: f64, to: f64) -> Knee {
        Knee {
            from_per_s: from,
            to_per_s: to,
            percentile: 99.0,
            latency_ms: 100.0,
            within: 0.05,
            outstanding_max: 100,
        }
    }

    /// Searches with a target that is met up to `limit`. The trial numbered `flaky` fails at any rate.
    fn search(from: f64, to: f64, limit: f64, flaky: Option<usize>) -> Search {
        let mut search = Search::new(&knee(from, to));
        for trial in 0..TRIALS_MAX + 1 {
            let rate = match search.next() {
                Next::Try(rate) | Next::Confirm(rate) => rate,
                Next::Below => break,
            };
            if search.tell(rate <= limit && Some(trial) != flaky) {
                return search;
            }
        }
        panic!("it never ended: {search:?}");
    }

    #[test]
    fn the_knee_is_found_within_its_bound() {
        for limit in [10.0, 11.0, 99.0, 640.0, 777.7, 9_000.0] {
            let found = search(10.0, 10_000.0, limit, None);
            let (rate, met) = *found.tried().last().expect("something was tried");
            assert!(
                met && rate <= limit && limit < rate * 1.05 * 1.0001,
                "{limit}: {rate}"
            );
            assert!(found.tried().len() < 20 && finding(found.tried()).is_none());
        }
    }

    #[test]
    fn outside_of_the_bounds_it_says_so() {
        let below = search(10.0, 100.0, 5.0, None);
        assert_eq!(below.tried(), [(10.0, false)]);
        assert_eq!(
            finding(below.tried()).expect("a finding").code,
            "lab.knee_below"
        );
        let above = search(10.0, 100.0, 500.0, None);
        assert_eq!(above.tried().last(), Some(&(100.0, true)));
        assert_eq!(
            finding(above.tried()).expect("a finding").code,
            "lab.knee_above"
        );
        let point = search(50.0, 50.0, 500.0, None);
        assert_eq!(point.tried(), [(50.0, true), (50.0, true)]);
    }

    #[test]
    fn a_rate_that_fails_its_repeat_is_not_the_knee() {
        let steady = search(10.0, 10_000.0, 777.0, None);
        let confirming = steady.tried().len() - 1;
        let (best, _) = steady.tried()[confirming];
        let found = search(10.0, 10_000.0, 777.0, Some(confirming));
        let (rate, met) = *found.tried().last().expect("something was tried");
        assert!(met && rate < best && rate * 1.06 > best, "{rate} {best}");
    }
}
