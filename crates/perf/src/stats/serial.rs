//! The serial processor time of a stretch, node by node.

use std::collections::BTreeMap;

use crate::measure::{SerialShare, SerialTimes, ceiling_per_s};
use crate::results::{Estimate, Process, ProcessSample, Stretch};

/// Returns the share of the stretch's busiest deciding thread; `None` if the time of any node is unknown.
pub fn serial_share(stretch: &Stretch) -> Option<SerialShare> {
    let nodes = stretch.processes.iter();
    let nodes = nodes.filter(|process| !process.is_generator() && !process.is_database());
    SerialShare::busiest(
        nodes.map(|node| (node.name.as_str(), serial_times(node))),
        stretch.done,
    )
}

/// Returns the times of a node's deciding thread between its first and its last sample. `None` if either lacks a reading.
pub fn serial_times(node: &Process) -> Option<SerialTimes> {
    let [first, .., last] = &node.samples[..] else {
        return None;
    };
    let of = |sample: &ProcessSample| {
        Some(SerialTimes {
            thread_us: sample.kernel_us?,
            jobs_us: sample.kernel_jobs_us?,
        })
    };
    of(last)?.since(&of(first)?)
}

/// Returns the node that had the busiest deciding thread in most of the stretches; `None` if it is unknown in all.
pub fn serial_node(stretches: &[Stretch]) -> Option<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for share in stretches.iter().filter_map(serial_share) {
        *counts.entry(share.node).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map(|(node, _)| node)
}

/// Returns the ceiling that follows from a serial time for each unit. The ends of the interval change places.
pub fn ceiling(serial_us: &Estimate) -> Option<Estimate> {
    if serial_us.value <= 0.0 {
        return None;
    }
    // An interval that reaches 0 would have no upper end.
    let ends = serial_us.low.zip(serial_us.high);
    let ends = ends.filter(|(low, _)| *low > 0.0);
    Some(Estimate {
        value: ceiling_per_s(serial_us.value),
        low: ends.map(|(_, high)| ceiling_per_s(high)),
        high: ends.map(|(low, _)| ceiling_per_s(low)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    type Reading = (Option<u64>, Option<u64>);

    fn process(name: &str, readings: &[Reading]) -> Process {
        let sample = |(kernel_us, kernel_jobs_us): &Reading| ProcessSample {
            kernel_us: *kernel_us,
            kernel_jobs_us: *kernel_jobs_us,
            ..ProcessSample::default()
        };
        Process {
            name: name.to_owned(),
            samples: readings.iter().map(sample).collect(),
        }
    }

    #[test]
    fn one_unknown_node_makes_the_share_unknown() {
        let (first, last) = ((Some(100), Some(40)), (Some(900), Some(340)));
        let notary = process("notary", &[first, (Some(300), Some(50))]);
        let generator = process("generator", &[(None, None), (None, None)]);
        let database = process("database", &[(None, None), (None, None)]);
        for (bank, expected) in [
            (&[first, last][..], Some(("bank-1", 50.0))),
            // A gap in between loses nothing.
            (&[first, (Some(500), None), last], Some(("bank-1", 50.0))),
            (&[first, (Some(150), Some(60))], Some(("notary", 19.0))),
            (&[first, (Some(900), None)], None),
            (&[(None, Some(40)), last], None),
            (&[last, first], None),
            (&[first], None),
            (&[], None),
        ] {
            let stretch = Stretch {
                done: 10,
                processes: vec![
                    notary.clone(),
                    process("bank-1", bank),
                    generator.clone(),
                    database.clone(),
                ],
                ..Stretch::default()
            };
            let found = serial_share(&stretch);
            let found = found.as_ref();
            let found = found.map(|share| (share.node.as_str(), share.us_per_unit));
            assert_eq!(found, expected, "{bank:?}");
        }
    }

    #[test]
    fn ceiling_follows_from_the_serial_time() {
        let estimate = |value, ends: Option<(f64, f64)>| Estimate {
            value,
            low: ends.map(|(low, _)| low),
            high: ends.map(|(_, high)| high),
        };
        for (serial_us, expected) in [
            (estimate(50.0, None), Some(estimate(20_000.0, None))),
            (
                estimate(50.0, Some((40.0, 100.0))),
                Some(estimate(20_000.0, Some((10_000.0, 25_000.0)))),
            ),
            (
                estimate(50.0, Some((-1.0, 101.0))),
                Some(estimate(20_000.0, None)),
            ),
            (estimate(0.0, None), None),
        ] {
            assert_eq!(ceiling(&serial_us), expected, "{serial_us:?}");
        }
    }
}
