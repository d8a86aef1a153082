//! The measurements behind an answer, level by level.

use serde::Serialize;

use super::usage::{MB, Usage, processes};
use crate::results::{Estimate, Histogram, Point, Stretch};
use crate::stats::{largest_memory, mean_interval};

/// The percentile that a bound on latency is for.
const P99: f64 = 0.99;

/// One measured level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// Units outstanding.
    pub outstanding: String,
    /// Rate, units a second.
    pub rate_per_s: Estimate,
    /// The 99th percentile of latency, milliseconds; absent with fewer than 1,000 units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<f64>,
    /// Cores of all nodes and database servers together; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<f64>,
    /// Resident memory of the largest node, megabytes; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mb_max: Option<f64>,
    /// Resident memory of the largest database server, megabytes; absent without one, or if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_memory_mb_max: Option<f64>,
}

/// Returns the cores of all processes in a stretch; `None` if one is unknown.
pub(super) fn cores(stretch: &Stretch) -> Option<f64> {
    let cores = processes(stretch).map(|process| Usage::of(process, stretch)?.cores);
    cores.sum()
}

impl Evidence {
    /// Returns the evidence of a point; `None` without a stretch.
    pub(super) fn of(point: &Point) -> Option<Self> {
        let stretches = &point.stretches;
        let rates: Vec<f64> = stretches.iter().map(Stretch::per_s).collect();
        let rate_per_s = mean_interval(&rates)?;
        let mut latencies = Histogram::default();
        for stretch in stretches {
            latencies.merge(&stretch.latencies);
        }
        let together: Option<Vec<f64>> = stretches.iter().map(cores).collect();
        let memory = |is_database: bool| {
            let all = stretches.iter().flat_map(processes);
            let bytes = largest_memory(all.filter(|one| one.is_database() == is_database));
            bytes.map(|bytes| bytes as f64 / MB)
        };
        Some(Self {
            outstanding: point
                .at
                .first()
                .map_or_else(String::new, |at| at.name.clone()),
            rate_per_s,
            p99_ms: latencies.percentile_ms(P99),
            cores: together.map(|cores| cores.iter().sum::<f64>() / cores.len() as f64),
            memory_mb_max: memory(false),
            database_memory_mb_max: memory(true),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::synthetic::scenario;

    #[test]
    fn databases_are_no_nodes_in_the_memory_of_a_level() {
        let mut measured = scenario(&[1_000]);
        let point = &mut measured.points[0];
        for stretch in &mut point.stretches {
            let mut database = stretch.processes[0].clone();
            database.name = "database".to_owned();
            database
                .samples
                .iter_mut()
                .for_each(|one| one.rss_bytes *= 9);
            stretch.processes.push(database);
        }
        let memory = |point: &Point| {
            let level = Evidence::of(point).expect("measured");
            (level.memory_mb_max, level.database_memory_mb_max)
        };
        assert_eq!(memory(point), (Some(51.0), Some(459.0)));
        // One reading that is missing: that node may be the largest.
        point.stretches[1].processes[0].samples[3].missing.process = true;
        assert_eq!(memory(point), (None, Some(459.0)));
    }
}
