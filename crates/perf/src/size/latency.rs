//! The highest rate at which the 99th percentile of latency stays below a bound.

use serde::Serialize;

/// The bound on latency, and the rates that meet it on this machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatencyAnswer {
    /// The bound on the 99th percentile, milliseconds.
    pub bound_ms: f64,
    /// The highest rate within the bound, units a second, interpolated between two levels; absent if no level meets it, or if
    /// none has enough samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// The level with the highest rate that meets it: units outstanding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outstanding: Option<String>,
    /// The 99th percentile with one unit outstanding, milliseconds; absent without enough samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowest_p99_ms: Option<f64>,
    /// Whether the target meets the bound.
    pub verdict: LatencyVerdict,
}

/// Whether a rate meets a bound on latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LatencyVerdict {
    /// It does, on this machine.
    Met,
    /// Only lower rates do, on this machine.
    Missed,
    /// Even one unit at a time takes longer.
    Never,
    /// Too few units were measured for the percentile.
    Unknown,
}

/// A measured level of load.
pub(super) struct LatencyLevel<'a> {
    pub(super) outstanding: &'a str,
    pub(super) rate: f64,
    pub(super) p99_ms: Option<f64>,
}

impl LatencyAnswer {
    /// Compares a target with the levels, in the order of their load. The first one has one unit outstanding.
    pub(super) fn of(levels: &[LatencyLevel], target: f64, bound_ms: f64) -> Self {
        let known: Vec<(&LatencyLevel, f64)> = levels
            .iter()
            .filter_map(|level| Some((level, level.p99_ms?)))
            .collect();
        let lowest_p99_ms = levels.first().and_then(|level| level.p99_ms);
        let within = known
            .iter()
            .enumerate()
            .filter(|(_, (_, p99))| *p99 <= bound_ms);
        let best = within.max_by(|one, other| one.1.0.rate.total_cmp(&other.1.0.rate));
        let mut answer = Self {
            bound_ms,
            rate_per_s: None,
            outstanding: None,
            lowest_p99_ms,
            verdict: LatencyVerdict::Unknown,
        };
        let Some((at, (level, p99_ms))) = best else {
            if lowest_p99_ms.is_some() {
                answer.verdict = LatencyVerdict::Never;
            }
            return answer;
        };
        // Between this level and the next one, the percentile passes the bound.
        let next = known.get(at + 1).filter(|(next, _)| next.rate > level.rate);
        let beyond = next.map_or(0.0, |(next, next_ms)| {
            (next.rate - level.rate) * (bound_ms - p99_ms) / (next_ms - p99_ms)
        });
        let rate = level.rate + beyond;
        answer.rate_per_s = Some(rate);
        answer.outstanding = Some(level.outstanding.to_owned());
        answer.verdict = match target <= rate {
            true => LatencyVerdict::Met,
            false => LatencyVerdict::Missed,
        };
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LatencyVerdict::{Met, Missed, Never, Unknown};

    #[test]
    fn rates_within_a_bound() {
        let rising = [
            (100.0, Some(10.0)),
            (500.0, Some(20.0)),
            (1_000.0, Some(120.0)),
        ];
        // At the highest level the rate falls.
        let falling = [
            (100.0, Some(10.0)),
            (500.0, Some(20.0)),
            (400.0, Some(120.0)),
        ];
        let few = [(10.0, None), (500.0, Some(20.0)), (600.0, Some(120.0))];
        let none = [(10.0, None), (20.0, None)];
        for (levels, target, bound, rate, outstanding, verdict) in [
            (&rising[..], 400.0, 20.0, Some(500.0), Some("1"), Met),
            (&rising, 700.0, 70.0, Some(750.0), Some("1"), Met),
            (&rising, 800.0, 70.0, Some(750.0), Some("1"), Missed),
            (&rising, 900.0, 500.0, Some(1_000.0), Some("2"), Met),
            (&rising, 1_100.0, 500.0, Some(1_000.0), Some("2"), Missed),
            (&rising, 10.0, 9.0, None, None, Never),
            (&falling, 500.0, 70.0, Some(500.0), Some("1"), Met),
            (&few, 100.0, 30.0, Some(510.0), Some("1"), Met),
            // One unit at a time may still meet it.
            (&few, 100.0, 15.0, None, None, Unknown),
            (&none, 1.0, 1_000.0, None, None, Unknown),
            (&[], 1.0, 1_000.0, None, None, Unknown),
        ] {
            let names: Vec<String> = (0..levels.len()).map(|at| at.to_string()).collect();
            let levels: Vec<LatencyLevel> = levels
                .iter()
                .zip(&names)
                .map(|((rate, p99_ms), outstanding)| LatencyLevel {
                    outstanding,
                    rate: *rate,
                    p99_ms: *p99_ms,
                })
                .collect();
            let found = LatencyAnswer::of(&levels, target, bound);
            let (of, at) = (found.rate_per_s, found.outstanding.as_deref());
            assert_eq!(
                (of, at, found.verdict),
                (rate, outstanding, verdict),
                "{target} {bound}"
            );
        }
    }
}
