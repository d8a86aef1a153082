//! Merges the stretches of several generators into one.

use std::collections::BTreeMap;

use crate::load::engine::Slice;
use crate::results::{Fault, Generator, Histogram, Second, Stretch, WorkResult};

/// Upper limit on seconds of a series: a week.
const SECONDS_MAX: u64 = 7 * 24 * 3_600;

/// The results of one generator, with the latencies of each second.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// On the coordinator's time axis.
    pub stretch: Stretch,
    /// Latencies by second of the series.
    pub seconds: Vec<(Second, Histogram)>,
    pub lost: bool,
}

impl Part {
    /// Returns the part of a generator that died: everything it had reported, and the units it had begun.
    pub fn of_lost(slices: Vec<Slice>, outstanding: u64, address: &str, code: &str) -> Self {
        let mut stretch = Stretch::default();
        if let Some(last) = slices.last() {
            stretch.faults = last.faults.clone();
            stretch.works = last.works.clone();
            stretch.retries = last.retries;
            stretch.late = last.late;
            stretch.dropped = last.dropped;
        }
        let mut seconds = Vec::with_capacity(slices.len());
        for slice in slices {
            stretch.done += slice.second.done;
            stretch.latencies.merge(&slice.latencies);
            seconds.push((slice.second, slice.latencies));
        }
        // Faults are reported each second too, and may be ahead of the seconds.
        if outstanding > 0 {
            stretch.faults.push(Fault {
                code: code.to_owned(),
                count: outstanding,
                message: format!("begun by agent {address} when it was lost"),
            });
        }
        stretch.due = stretch.done + stretch.failed() + stretch.dropped;
        if let (Some((first, _)), Some((last, _))) = (seconds.first(), seconds.last()) {
            stretch.started_ms = first.at_ms;
            stretch.seconds = (last.at_ms + 1000 - first.at_ms) as f64 / 1000.0;
        }
        Self {
            stretch,
            seconds,
            lost: true,
        }
    }
}

/// Puts parts together: sums, exact histograms, one time axis.
pub(super) fn merge(parts: Vec<Part>) -> Stretch {
    let measured = parts
        .iter()
        .filter(|part| part.stretch.due > 0 || !part.lost);
    // Without any result nothing has begun, and the stretch is empty.
    let started_ms = measured
        .map(|part| part.stretch.started_ms)
        .min()
        .unwrap_or(0);
    let mut all = Stretch {
        started_ms,
        generator: Generator {
            agents: count(parts.iter()),
            agents_lost: count(parts.iter().filter(|part| part.lost)),
            ..Generator::default()
        },
        ..Stretch::default()
    };
    let mut faults: BTreeMap<String, Fault> = BTreeMap::new();
    let mut works: Vec<WorkResult> = Vec::new();
    let mut seconds: BTreeMap<u64, (Second, Histogram)> = BTreeMap::new();
    for part in parts {
        let one = part.stretch;
        all.due += one.due;
        all.done += one.done;
        all.dropped += one.dropped;
        all.late += one.late;
        all.retries += one.retries;
        all.latencies.merge(&one.latencies);
        // A lost part without units does not count for the start, and may have begun earlier.
        let end = one.started_ms.saturating_sub(started_ms) as f64 / 1000.0 + one.seconds;
        all.seconds = all.seconds.max(end);
        for fault in one.faults {
            let sum = faults.entry(fault.code.clone()).or_insert(Fault {
                count: 0,
                ..fault.clone()
            });
            sum.count += fault.count;
        }
        add_works(&mut works, one.works);
        add_generator(&mut all.generator, &one.generator);
        for (second, latencies) in part.seconds {
            // The same: what began earlier joins the first second.
            let at = second.at_ms.saturating_sub(started_ms) / 1000;
            let (sum, all) = seconds.entry(at).or_default();
            sum.at_ms = started_ms + at * 1000;
            sum.done += second.done;
            sum.failed += second.failed;
            sum.outstanding += second.outstanding;
            all.merge(&latencies);
        }
    }
    all.faults = faults.into_values().collect();
    all.works = works;
    fill(&mut seconds, started_ms, all.seconds);
    all.series = seconds
        .into_values()
        .map(|(mut second, latencies)| {
            second.p50_ms = latencies.quantile_ms(0.5);
            second.p99_ms = latencies.quantile_ms(0.99);
            second
        })
        .collect();
    all
}

/// Adds the seconds of which no generator has a row, such as those after the last report of one that died. A series without them
/// would hide a stall.
fn fill(seconds: &mut BTreeMap<u64, (Second, Histogram)>, started_ms: u64, measured_s: f64) {
    let last = seconds.last_key_value().map_or(0, |(last, _)| last + 1);
    // Only whole seconds, as with one generator. Bounded and clipped, because a faulty agent may report any time.
    let count = last.max(measured_s as u64).min(SECONDS_MAX);
    for at in 0..count {
        let (second, _) = seconds.entry(at).or_default();
        second.at_ms = started_ms.saturating_add(at * 1000);
    }
}

fn count<'a>(parts: impl Iterator<Item = &'a Part>) -> u32 {
    u32::try_from(parts.count()).expect("a run has few agents")
}

fn add_works(all: &mut Vec<WorkResult>, works: Vec<WorkResult>) {
    for work in works {
        match all.iter_mut().find(|known| known.label == work.label) {
            None => all.push(work),
            Some(known) => {
                known.done += work.done;
                known.failed += work.failed;
                known.latencies.merge(&work.latencies);
            }
        }
    }
}

fn add_generator(all: &mut Generator, one: &Generator) {
    all.cpu_cores += one.cpu_cores;
    all.lag_p99_ms = all.lag_p99_ms.max(one.lag_p99_ms);
    all.lag_max_ms = all.lag_max_ms.max(one.lag_max_ms);
    all.behind_max_ms = all.behind_max_ms.max(one.behind_max_ms);
    all.late_after_ms = all.late_after_ms.max(one.late_after_ms);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(at_ms: u64, done: u64, latency_us: u64) -> Slice {
        Slice {
            second: Second {
                at_ms,
                done,
                ..Second::default()
            },
            latencies: Histogram {
                buckets: BTreeMap::from([(latency_us, done)]),
            },
            ..Slice::default()
        }
    }

    #[test]
    fn what_a_lost_agent_had_done_counts_and_what_it_had_begun_failed() {
        // Counts that are told so far: those of the last second hold.
        let dropped = |dropped, slice| Slice { dropped, ..slice };
        let lost = Part::of_lost(
            vec![
                dropped(4, slice(5_000, 10, 1_000)),
                dropped(7, slice(6_000, 20, 2_000)),
            ],
            3,
            "a:1",
            "lab.agent_lost",
        );
        let mut alive = Part::of_lost(vec![slice(5_010, 30, 4_000)], 0, "b:1", "");
        alive.lost = false;
        alive.stretch.seconds = 4.0;
        let all = merge(vec![lost, alive]);
        assert_eq!((all.due, all.done, all.failed()), (70, 60, 3));
        assert_eq!(all.dropped, 7);
        assert_eq!(all.faults[0].code, "lab.agent_lost");
        assert_eq!(all.latencies.count(), 60);
        assert_eq!((all.generator.agents, all.generator.agents_lost), (2, 1));
        assert_eq!(all.started_ms, 5_000);
        assert_eq!(all.seconds, 4.01);
        let series: Vec<(u64, u64)> = all.series.iter().map(|one| (one.at_ms, one.done)).collect();
        let stalled = [(7_000, 0), (8_000, 0)];
        assert_eq!(series[..2], [(5_000, 40), (6_000, 20)]);
        assert_eq!(series[2..], stalled, "until the end");
        assert_eq!(all.series[0].p50_ms, 4.0);
    }

    #[test]
    fn seconds_without_a_slice_are_zero() {
        for (times_ms, rows) in [
            (&[][..], &[][..]),
            (&[5_000], &[(5_000, 9)]),
            (
                &[5_000, 8_000],
                &[(5_000, 9), (6_000, 0), (7_000, 0), (8_000, 9)],
            ),
        ] {
            let slices = times_ms.iter().map(|at_ms| slice(*at_ms, 9, 1_000));
            let part = Part::of_lost(slices.collect(), 0, "a:1", "lab.agent_lost");
            let series = merge(vec![part]).series;
            let found: Vec<(u64, u64)> = series.iter().map(|one| (one.at_ms, one.done)).collect();
            assert_eq!(found, rows, "{times_ms:?}");
        }
    }
}
