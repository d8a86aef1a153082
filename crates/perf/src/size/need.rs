//! The needs of one process at a rate.

use serde::Serialize;

use super::ceiling::Ceiling;
use super::disk::{DiskNeed, DiskQuestion};
use super::fit::{Reading, line};
use super::flows::bytes_per_flow;
use super::role::Role;
use super::usage::{Usage, processes};
use crate::results::{Estimate, Scenario, Stretch};

/// The needs of one node or database server. What could not be observed is absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeNeed {
    /// `notary`, `bank-1`, `database`, ...
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Processor cores in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<Need>,
    /// Resident memory, megabytes (10^6). At least the largest measured value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<Need>,
    /// Memory of one live flow that a client has started, bytes, by the node's own accounting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live_flow_bytes: Option<Estimate>,
    /// Its files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskNeed>,
    /// Durable commits a second. Each is a write to the log and a sync, which the device must have finished. At least the largest
    /// value of a measured level below the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits_per_s: Option<Need>,
    /// Bytes written, megabytes a second: log, tables and merges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_mb_per_s: Option<Need>,
    /// Sent to other nodes, Mbit/s on the wire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_mbit_per_s: Option<Need>,
    /// Received from them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_mbit_per_s: Option<Need>,
    /// Sent to clients, Mbit/s on the wire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_clients_mbit_per_s: Option<Need>,
    /// Received from them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_clients_mbit_per_s: Option<Need>,
    /// The rate that it cannot exceed on any number of cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ceiling>,
}

/// A need at the target, and the line that it is computed from.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Need {
    /// At the target, with the 95 % interval for one further stretch at that rate.
    pub at_target: Estimate,
    /// At no load, by the line.
    pub at_zero: f64,
    /// The value for each unit per second.
    pub per_unit_per_s: f64,
}

impl NodeNeed {
    /// Computes the needs of a process from the stretches of a scenario's levels.
    pub(super) fn of(
        name: &str,
        levels: &Scenario,
        stretches: &[&Stretch],
        target: f64,
        disk: &DiskQuestion,
    ) -> Self {
        let uses: Vec<Usage> = stretches
            .iter()
            .flat_map(|stretch| processes(stretch).map(move |process| (process, *stretch)))
            .filter(|(process, _)| process.name == name)
            .filter_map(|(process, stretch)| Usage::of(process, stretch))
            .collect();
        let by_rate = |of: fn(&Usage) -> Option<f64>| {
            let points: Vec<(f64, f64)> = uses
                .iter()
                .filter_map(|usage| Some((usage.rate, of(usage)?)))
                .collect();
            line(&points, target).map(Need::from)
        };
        let largest = |of: fn(&Usage) -> Option<f64>, rate_max: f64| {
            let seen = uses.iter().filter(|usage| usage.rate <= rate_max);
            seen.filter_map(of).fold(0.0, f64::max)
        };
        let role = Role::of(name);
        let memory = |usage: &Usage| usage.memory_mb;
        let commits = |usage: &Usage| usage.commits_per_s;
        Self {
            name: name.to_owned(),
            role,
            cores: by_rate(|usage| usage.cores),
            memory_mb: by_rate(memory).map(|need| need.at_least(largest(memory, f64::INFINITY))),
            live_flow_bytes: bytes_per_flow(name, levels),
            disk: disk.of(name, role),
            // One commit serves many units at a high rate, so a lower rate may need more of them.
            commits_per_s: by_rate(commits).map(|need| need.at_least(largest(commits, target))),
            written_mb_per_s: by_rate(|usage| usage.written_mb_per_s),
            sent_mbit_per_s: by_rate(|usage| usage.sent_mbit_per_s),
            received_mbit_per_s: by_rate(|usage| usage.received_mbit_per_s),
            to_clients_mbit_per_s: by_rate(|usage| usage.to_clients_mbit_per_s),
            from_clients_mbit_per_s: by_rate(|usage| usage.from_clients_mbit_per_s),
            ceiling: Ceiling::of(name, levels),
        }
    }
}

impl Need {
    /// Raises the need to a value that was seen.
    fn at_least(mut self, seen: f64) -> Self {
        let at = &mut self.at_target;
        at.value = at.value.max(seen);
        at.low = at.low.map(|low| low.max(seen));
        at.high = at.high.map(|high| high.max(seen));
        self
    }
}

impl From<Reading> for Need {
    fn from(reading: Reading) -> Self {
        Self {
            at_target: reading.at,
            at_zero: reading.at_zero,
            per_unit_per_s: reading.slope.value,
        }
    }
}
