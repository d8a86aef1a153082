//! Counters of processes over a stretch. A sum with an unknown part is unknown.

use crate::results::{MissingReadings, Process, ProcessSample};

/// A counter of a process, and the group of readings that it belongs to.
#[derive(Clone, Copy)]
pub struct Counter {
    /// Returns its value in a sample.
    of: fn(&ProcessSample) -> u64,
    /// Returns whether a sample lacks it.
    lacks: fn(&MissingReadings) -> bool,
}

impl Counter {
    /// Processor time, milliseconds.
    pub const CPU_MS: Self = Self {
        of: |sample| sample.cpu_ms,
        lacks: |missing| missing.process,
    };
    /// Bytes written.
    pub const WRITTEN_BYTES: Self = Self {
        of: |sample| sample.written_bytes,
        lacks: |missing| missing.io,
    };
    /// Durable commits. Only nodes count them.
    pub const COMMITS: Self = Self {
        of: |sample| sample.commits,
        lacks: |missing| missing.counters,
    };
    /// Bytes sent to nodes.
    pub const SENT_BYTES: Self = Self {
        of: |sample| sample.sent_bytes,
        lacks: |missing| missing.counters,
    };
    /// Bytes sent to clients.
    pub const TO_CLIENTS_BYTES: Self = Self {
        of: |sample| sample.to_clients_bytes,
        lacks: |missing| missing.counters,
    };

    /// Returns the growth over a process's samples. `None` with fewer than two samples, or if one lacks it.
    pub fn growth(self, process: &Process) -> Option<u64> {
        let samples = &process.samples;
        let is_known = samples.len() > 1 && !samples.iter().any(|one| (self.lacks)(&one.missing));
        is_known.then(|| growth(samples, self.of))
    }

    /// Returns the sum of the growths; `None` without a process, or if one is unknown. It is clipped, since a report that was read
    /// from a file may hold any numbers.
    pub fn sum<'a>(self, processes: impl Iterator<Item = &'a Process>) -> Option<u64> {
        let mut grown = processes.map(|process| self.growth(process));
        let first = grown.next()??;
        grown.try_fold(first, |sum, one| Some(sum.saturating_add(one?)))
    }

    /// Returns [`sum`](Self::sum); also `None` if all still count 0 at the end: then nothing was observed.
    pub fn observed_sum<'a>(
        self,
        processes: impl Iterator<Item = &'a Process> + Clone,
    ) -> Option<u64> {
        let mut ends = processes.clone().filter_map(|one| one.samples.last());
        let is_observed = ends.any(|last| (self.of)(last) > 0);
        self.sum(processes).filter(|_| is_observed)
    }
}

/// Returns the growth of a process's folder. It is a level and no counter: files that shrink are no restart, and no growth. `None` if an end
/// of the time was not read.
pub fn folder_growth(process: &Process) -> Option<u64> {
    let [first, .., last] = &process.samples[..] else {
        return None;
    };
    let is_known = !first.missing.disk && !last.missing.disk;
    is_known.then(|| last.disk_bytes.saturating_sub(first.disk_bytes))
}

/// Returns the largest resident memory of some processes, bytes. `None` if a reading is missing, because that process may be the
/// largest.
pub fn largest_memory<'a>(processes: impl Iterator<Item = &'a Process>) -> Option<u64> {
    let mut largest = 0;
    for process in processes {
        let is_known = !process.samples.iter().any(|one| one.missing.process);
        let most = process.samples.iter().map(|one| one.rss_bytes).max();
        largest = largest.max(most.filter(|_| is_known)?);
    }
    (largest > 0).then_some(largest)
}

/// Returns the growth of a counter from the first sample to the last. A restarted process counts from 0 again. The sum is clipped,
/// since a report that was read from a file may hold any numbers.
pub fn growth(samples: &[ProcessSample], of: fn(&ProcessSample) -> u64) -> u64 {
    let steps = samples.windows(2).map(|pair| {
        let (before, after) = (of(&pair[0]), of(&pair[1]));
        after.checked_sub(before).unwrap_or(after)
    });
    steps.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(values: &[(u64, bool)]) -> Process {
        let sample = |(value, is_missing): &(u64, bool)| ProcessSample {
            cpu_ms: *value,
            rss_bytes: *value,
            disk_bytes: *value,
            missing: MissingReadings {
                process: *is_missing,
                disk: *is_missing,
                ..MissingReadings::default()
            },
            ..ProcessSample::default()
        };
        Process {
            name: "bank-1".to_owned(),
            samples: values.iter().map(sample).collect(),
        }
    }

    #[test]
    fn one_unknown_process_makes_a_sum_unknown() {
        let known: &[(u64, bool)] = &[(5, false), (8, false)];
        for (processes, sum, largest) in [
            (&[][..], None, None),
            (&[known], Some(3), Some(8)),
            (&[known, &[(0, false), (0, false)]], Some(3), Some(8)),
            (&[&[(0, false), (0, false)]], None, None),
            // A restarted process counts from 0 again.
            (&[known, &[(9, false), (4, false)]], Some(7), Some(9)),
            (&[known, &[(2, true), (8, false)]], None, None),
            (&[known, &[(2, false), (0, true), (8, false)]], None, None),
            (&[known, &[(2, false)]], None, Some(8)),
            (&[known, &[]], None, None),
        ] {
            let all: Vec<Process> = processes.iter().map(|values| process(values)).collect();
            assert_eq!(
                Counter::CPU_MS.observed_sum(all.iter()),
                sum,
                "{processes:?}"
            );
            assert_eq!(largest_memory(all.iter()), largest, "{processes:?}");
        }
    }

    #[test]
    fn a_folder_that_shrinks_has_not_grown() {
        for (values, expected) in [
            (&[(5, false), (8, false)][..], Some(3)),
            (&[(8, false), (5, false)], Some(0)),
            (&[(8, true), (5, false)], None),
            (&[(8, false)], None),
        ] {
            assert_eq!(folder_growth(&process(values)), expected, "{values:?}");
        }
    }
}
