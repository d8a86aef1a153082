//! The rate at which the deciding thread of a node fills one core.

use serde::Serialize;

use super::usage::processes;
use crate::results::{Estimate, Scenario};
use crate::stats::{ceiling, mean_interval, serial_times};

/// The ceiling of one node, on any number of cores.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ceiling {
    /// The node.
    pub node: String,
    /// Processor time of its deciding thread for a unit, without jobs that other threads could do, microseconds.
    pub serial_us_per_unit: Estimate,
    /// The rate at which this fills a core, units a second.
    pub per_s: Estimate,
}

impl Ceiling {
    /// Returns the ceiling of a node at the level at which a unit takes its thread the least time; `None` if no level knows it.
    /// The time falls with the load, because one round decides for many units.
    pub(super) fn of(node: &str, scenario: &Scenario) -> Option<Self> {
        let levels = scenario.points.iter().filter_map(|point| {
            let times = point.stretches.iter().filter_map(|stretch| {
                let process = processes(stretch).find(|process| process.name == node)?;
                let us = serial_times(process)?.serial_us() as f64;
                (stretch.done > 0 && us > 0.0).then(|| us / stretch.done as f64)
            });
            mean_interval(&times.collect::<Vec<f64>>())
        });
        let least = levels.min_by(|one, other| one.value.total_cmp(&other.value))?;
        Some(Self {
            node: node.to_owned(),
            per_s: ceiling(&least)?,
            serial_us_per_unit: least,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::synthetic::scenario;

    #[test]
    fn ceiling_is_that_of_the_cheapest_level() {
        let mut measured = scenario(&[1_000, 2_000]);
        // At the first level the same thread needs twice the time for a unit.
        for stretch in &mut measured.points[0].stretches {
            for sample in &mut stretch.processes[0].samples {
                sample.kernel_us = sample.kernel_us.map(|us| us * 2);
            }
        }
        let found = Ceiling::of("bank-1", &measured).expect("known");
        assert_eq!(
            (found.serial_us_per_unit.value, found.per_s.value),
            (40.0, 25_000.0)
        );
        assert_eq!(Ceiling::of("notary", &measured), None, "it was not watched");
        for point in &mut measured.points {
            for stretch in &mut point.stretches {
                stretch.processes[0].samples[0].kernel_us = None;
            }
        }
        assert_eq!(Ceiling::of("bank-1", &measured), None, "no reading");
    }
}
