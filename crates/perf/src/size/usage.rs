//! The resources that one process used in one stretch.

use crate::results::{MissingReadings, Process, ProcessSample, Stretch};
use crate::stats::growth;

pub(super) const MB: f64 = 1e6;

/// A process's use in one stretch; `None` for what could not be observed.
pub(super) struct Usage {
    pub(super) rate: f64,
    pub(super) cores: Option<f64>,
    pub(super) memory_mb: Option<f64>,
    pub(super) commits_per_s: Option<f64>,
    pub(super) written_mb_per_s: Option<f64>,
    pub(super) sent_mbit_per_s: Option<f64>,
    pub(super) received_mbit_per_s: Option<f64>,
    pub(super) to_clients_mbit_per_s: Option<f64>,
    pub(super) from_clients_mbit_per_s: Option<f64>,
}

/// Returns the measured system's processes in a stretch: nodes and databases, without the load.
pub(super) fn processes(stretch: &Stretch) -> impl Iterator<Item = &Process> {
    let all = stretch.processes.iter();
    all.filter(|process| !process.is_generator())
}

/// Returns the first and the last reading of a process. Each stretch is monitored separately, so they are its beginning
/// and its end.
pub(super) fn window(process: &Process) -> Option<(&ProcessSample, &ProcessSample)> {
    let (first, last) = (process.samples.first()?, process.samples.last()?);
    (last.at_ms > first.at_ms).then_some((first, last))
}

impl Usage {
    /// Returns the use of a process; `None` if it was not watched.
    pub(super) fn of(process: &Process, stretch: &Stretch) -> Option<Self> {
        let (first, last) = window(process)?;
        let seconds = (last.at_ms - first.at_ms) as f64 / 1_000.0;
        let samples = &process.samples;
        let knows =
            |lacks: fn(&MissingReadings) -> bool| !samples.iter().any(|one| lacks(&one.missing));
        let per_s = |of: fn(&ProcessSample) -> u64, lacks: fn(&MissingReadings) -> bool| {
            knows(lacks).then(|| growth(samples, of) as f64 / seconds)
        };
        let bits = |of: fn(&ProcessSample) -> u64| {
            per_s(of, |missing| missing.counters).map(|bytes| bytes * 8.0 / MB)
        };
        let rss = samples.iter().map(|sample| sample.rss_bytes).max();
        let rss = rss.filter(|_| knows(|missing| missing.process));
        Some(Self {
            rate: stretch.per_s(),
            cores: per_s(|sample| sample.cpu_ms, |missing| missing.process).map(|ms| ms / 1_000.0),
            memory_mb: rss.map(|bytes| bytes as f64 / MB),
            commits_per_s: per_s(|sample| sample.commits, |missing| missing.counters),
            written_mb_per_s: per_s(|sample| sample.written_bytes, |missing| missing.io)
                .map(|bytes| bytes / MB),
            sent_mbit_per_s: bits(|sample| sample.sent_bytes),
            received_mbit_per_s: bits(|sample| sample.received_bytes),
            to_clients_mbit_per_s: bits(|sample| sample.to_clients_bytes),
            from_clients_mbit_per_s: bits(|sample| sample.from_clients_bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::synthetic::stretch;

    #[test]
    fn counters_of_a_restarted_node_add_up() {
        let mut restarted = stretch(1_000);
        let samples = &mut restarted.processes[0].samples;
        let (cpu_ms, sent_bytes) = (samples[8].cpu_ms, samples[8].sent_bytes);
        for sample in &mut samples[9..] {
            sample.cpu_ms -= cpu_ms;
            sample.sent_bytes -= sent_bytes;
        }
        let whole = stretch(1_000);
        let of = |stretch: &Stretch| {
            let usage = Usage::of(&stretch.processes[0], stretch).expect("two samples");
            (usage.cores, usage.sent_mbit_per_s)
        };
        assert_eq!(of(&restarted), of(&whole));
    }

    #[test]
    fn what_was_not_observed_is_unknown() {
        // The marks are: processor, writes, commits, network.
        for (missing, known) in [
            (MissingReadings::default(), [true, true, true, true]),
            (
                MissingReadings {
                    process: true,
                    ..MissingReadings::default()
                },
                [false, true, true, true],
            ),
            (
                MissingReadings {
                    io: true,
                    ..MissingReadings::default()
                },
                [true, false, true, true],
            ),
            (
                MissingReadings {
                    counters: true,
                    ..MissingReadings::default()
                },
                [true, true, false, false],
            ),
            (
                MissingReadings {
                    disk: true,
                    ..MissingReadings::default()
                },
                [true, true, true, true],
            ),
        ] {
            let mut stretch = stretch(1_000);
            stretch.processes[0].samples[0].missing = missing;
            let usage = Usage::of(&stretch.processes[0], &stretch).expect("two samples");
            assert_eq!(usage.memory_mb.is_some(), usage.cores.is_some());
            let found = [
                usage.cores.is_some(),
                usage.written_mb_per_s.is_some(),
                usage.commits_per_s.is_some(),
                usage.sent_mbit_per_s.is_some(),
            ];
            assert_eq!(found, known, "{missing:?}");
        }
    }
}
