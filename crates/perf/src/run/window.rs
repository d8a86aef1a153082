//! Keeps the readings that belong to the measurement of a stretch.

use crate::results::{Process, Stretch};
use crate::stats::folder_growth;

/// Drops the readings from before the measurement. The last of them stays, because counters grow from there.
pub(super) fn trim(stretch: &mut Stretch) {
    let began_ms = stretch.started_ms;
    for process in &mut stretch.processes {
        let samples = &mut process.samples;
        let earlier = before(samples, |sample| sample.at_ms, began_ms);
        samples.drain(..earlier);
    }
    for series in &mut stretch.metrics {
        let values = &mut series.values;
        let earlier = before(values, |value| value.0, began_ms);
        values.drain(..earlier);
    }
}

/// Returns how many readings precede the last one that was taken at or before the start of measuring.
fn before<T>(readings: &[T], at_ms: impl Fn(&T) -> u64, began_ms: u64) -> usize {
    let earlier = readings.partition_point(|reading| at_ms(reading) <= began_ms);
    // Without an earlier reading all are kept.
    earlier.saturating_sub(1)
}

/// Returns the growth of the files of all nodes and database servers; `None` if that of one is unknown, or if there is none.
pub(super) fn grown_files(processes: &[Process]) -> Option<u64> {
    let measured = processes.iter().filter(|process| !process.is_generator());
    let grown: Option<Vec<u64>> = measured.map(folder_growth).collect();
    grown?.into_iter().reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{MetricSeries, MissingReadings, ProcessSample};

    #[test]
    fn files_are_those_of_all_nodes() {
        let process = |name: &str, sizes: [u64; 2], is_missing| Process {
            name: name.to_owned(),
            samples: sizes
                .map(|disk_bytes| ProcessSample {
                    disk_bytes,
                    missing: MissingReadings {
                        disk: is_missing,
                        ..MissingReadings::default()
                    },
                    ..ProcessSample::default()
                })
                .into(),
        };
        let generator = process("generator", [0, 0], true);
        for (notary, is_missing, expected) in [
            ([10, 14], false, Some(9)),
            // Files that shrink have not grown by their whole size.
            ([14, 10], false, Some(5)),
            ([0, 0], true, None),
        ] {
            let bank = process("bank-1", [20, 25], false);
            let notary = process("notary", notary, is_missing);
            let found = grown_files(&[notary, bank, generator.clone()]);
            assert_eq!(found, expected);
        }
        assert_eq!(grown_files(&[generator]), None, "nothing was watched");
    }

    #[test]
    fn the_last_reading_before_measuring_is_the_first_one_kept() {
        for (times, started_ms, kept) in [
            (&[][..], 5, &[][..]),
            (&[1, 2, 3], 0, &[1, 2, 3]),
            (&[1, 2, 3], 1, &[1, 2, 3]),
            (&[1, 2, 3], 2, &[2, 3]),
            (&[1, 3, 5], 4, &[3, 5]),
            (&[1, 2, 3], 9, &[3]),
        ] {
            let sample = |at_ms: &u64| ProcessSample {
                at_ms: *at_ms,
                ..ProcessSample::default()
            };
            let mut stretch = Stretch {
                started_ms,
                processes: vec![Process {
                    name: "bank-1".to_owned(),
                    samples: times.iter().map(sample).collect(),
                }],
                metrics: vec![MetricSeries {
                    values: times.iter().map(|at_ms| (*at_ms, 1.0)).collect(),
                    ..MetricSeries::default()
                }],
                ..Stretch::default()
            };
            trim(&mut stretch);
            let samples = stretch.processes[0].samples.iter();
            let samples: Vec<u64> = samples.map(|sample| sample.at_ms).collect();
            let values = stretch.metrics[0].values.iter();
            let values: Vec<u64> = values.map(|value| value.0).collect();
            assert_eq!(samples, kept, "{times:?} {started_ms}");
            assert_eq!(values, kept, "{times:?} {started_ms}");
        }
    }
}
