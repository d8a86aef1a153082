//! Measures how often per second something can be done.

use std::time::{Duration, Instant};

/// Repeats `work`, which returns the amount done, for `slice` after one unmeasured call. Returns the amount per second.
pub(super) fn rate(slice: Duration, mut work: impl FnMut() -> u64) -> f64 {
    work();
    let start = Instant::now();
    let mut done = 0u64;
    while start.elapsed() < slice {
        done += work();
    }
    done as f64 / start.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_counts_what_was_done() {
        let mut calls = 0u64;
        let measured = rate(Duration::from_millis(20), || {
            calls += 1;
            2
        });
        assert!(measured > 0.0 && calls > 1);
    }
}
