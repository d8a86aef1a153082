//! Samples on one time axis, thinned out when they become many.

use std::collections::BTreeMap;

use super::scrape::Counters;
use crate::results::{MetricSeries, Process, ProcessSample};

/// Upper limit on samples kept per series. Above it, every second one is dropped, and from then on only every second one
/// is taken.
pub(super) const LOOKS_MAX: usize = 1200;

/// All samples so far.
#[derive(Debug, Default)]
pub(super) struct Looks {
    times: Vec<u64>,
    processes: Vec<Process>,
    /// Whether readings of each process are expected.
    is_expected: Vec<bool>,
    metrics: BTreeMap<(String, String), Vec<(u64, f64)>>,
}

impl Looks {
    /// Creates empty series for these processes, each with whether readings of it are expected.
    pub fn of(subjects: impl IntoIterator<Item = (String, bool)>) -> Self {
        let mut looks = Self::default();
        for (name, is_expected) in subjects {
            looks.processes.push(Process {
                name,
                samples: Vec::new(),
            });
            looks.is_expected.push(is_expected);
        }
        looks
    }

    /// Begins a round of samples. Returns true if they were thinned out: rounds should then be twice as far apart.
    pub fn round(&mut self, at_ms: u64) -> bool {
        let full = self.times.len() >= LOOKS_MAX;
        if full {
            self.times = self.times.iter().copied().step_by(2).collect();
            let times = &self.times;
            let kept = |at: &u64| times.binary_search(at).is_ok();
            for process in &mut self.processes {
                process.samples.retain(|sample| kept(&sample.at_ms));
            }
            for values in self.metrics.values_mut() {
                values.retain(|(at, _)| kept(at));
            }
        }
        self.times.push(at_ms);
        full
    }

    /// Adds a round's sample of a process.
    pub fn process(&mut self, position: usize, sample: ProcessSample) {
        if let Some(process) = self.processes.get_mut(position) {
            process.samples.push(sample);
        }
    }

    /// Sets the counters of a node's first answer in all its earlier samples, so that no growth shows for the time before
    /// it.
    pub fn counted_from(&mut self, position: usize, counters: Counters) {
        let samples = self.processes.get_mut(position).into_iter();
        for sample in samples.flat_map(|process| &mut process.samples) {
            sample.commits = counters.commits;
            sample.sent_bytes = counters.sent_bytes;
            sample.received_bytes = counters.received_bytes;
            sample.to_clients_bytes = counters.to_clients_bytes;
            sample.from_clients_bytes = counters.from_clients_bytes;
            sample.missing.counters = !counters.is_counted;
        }
    }

    /// Adds a round's value of a node's metric.
    pub fn metric(&mut self, node: &str, name: String, at_ms: u64, value: f64) {
        let values = self.metrics.entry((node.to_owned(), name)).or_default();
        values.push((at_ms, value));
    }

    /// Returns all samples. A process without any stays if readings were expected, so that a sum over all is known to lack it.
    pub fn into_results(self) -> (Vec<Process>, Vec<MetricSeries>) {
        let processes = self.processes.into_iter().zip(self.is_expected);
        let kept =
            processes.filter(|(process, is_expected)| *is_expected || !process.samples.is_empty());
        let processes = kept.map(|(process, _)| process).collect();
        let metrics = self
            .metrics
            .into_iter()
            .map(|((node, name), values)| MetricSeries { node, name, values });
        (processes, metrics.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::MissingReadings;

    #[test]
    fn a_node_that_answers_late_has_not_grown_before() {
        let mut looks = Looks::of([("bank-1".to_owned(), true)]);
        for at_ms in [0, 500] {
            looks.round(at_ms);
            looks.process(
                0,
                ProcessSample {
                    at_ms,
                    cpu_ms: 7,
                    missing: MissingReadings {
                        counters: true,
                        ..MissingReadings::default()
                    },
                    ..ProcessSample::default()
                },
            );
        }
        looks.counted_from(
            0,
            Counters {
                is_counted: true,
                commits: 90,
                ..Counters::default()
            },
        );
        let (processes, _) = looks.into_results();
        let seen = processes[0]
            .samples
            .iter()
            .map(|sample| (sample.cpu_ms, sample.commits, sample.missing.counters));
        assert_eq!(seen.collect::<Vec<_>>(), [(7, 90, false), (7, 90, false)]);
    }

    #[test]
    fn a_process_that_was_never_read_stays_if_it_was_expected() {
        let looks = Looks::of([("bank-1".to_owned(), true), ("connector".to_owned(), false)]);
        let (processes, _) = looks.into_results();
        let found = processes.iter();
        let found = found.map(|process| (process.name.as_str(), process.samples.len()));
        assert_eq!(found.collect::<Vec<_>>(), [("bank-1", 0)]);
    }

    #[test]
    fn hours_of_looks_stay_bounded_and_evenly_spread() {
        let mut looks = Looks::of([("bank-1".to_owned(), true), ("gone".to_owned(), false)]);
        let (mut at_ms, mut step, mut rounds) = (0, 500, 0);
        while at_ms < 24 * 3_600_000 {
            if looks.round(at_ms) {
                step *= 2;
            }
            looks.process(
                0,
                ProcessSample {
                    at_ms,
                    ..ProcessSample::default()
                },
            );
            looks.metric("bank-1", "x".to_owned(), at_ms, 1.0);
            at_ms += step;
            rounds += 1;
        }
        assert!(rounds < 12_000, "{rounds}");
        let (processes, metrics) = looks.into_results();
        assert_eq!(processes.len(), 1, "who was never seen is left out");
        let times: Vec<u64> = processes[0]
            .samples
            .iter()
            .map(|sample| sample.at_ms)
            .collect();
        assert!(
            times.len() <= LOOKS_MAX && times.len() > LOOKS_MAX / 3,
            "{}",
            times.len()
        );
        assert_eq!(times[0], 0, "the first look stays");
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] <= step));
        assert_eq!(metrics[0].values.len(), times.len());
    }
}
