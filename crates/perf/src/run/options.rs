//! The options of a run.

use std::path::PathBuf;

use crate::agent::Agents;
use crate::load::engine::Stop;
use crate::topology::Placement;
use crate::workload::Workloads;

/// Options of a run.
#[derive(Clone)]
pub struct Options {
    /// The `tally` executable of the nodes.
    pub binary: PathBuf,
    /// The available kinds of work.
    pub workloads: Workloads,
    /// The title of the whole report, one line.
    pub title: String,
    /// The version of `tally`.
    pub version: String,
    /// Whether the scenarios have their published size.
    pub full: bool,
    /// Whether the last network is left running.
    pub keep: bool,
    /// Ends it early: nothing more starts, and completed work is audited.
    pub stop: Stop,
    /// The folder for the samples of every unit, a file for each scenario ([`samples_names`](super::samples_names)); no samples if `None`.
    pub samples: Option<PathBuf>,
    /// The agents that generate the load; this process if `None`.
    pub agents: Option<Agents>,
    /// The hosts of the networks that the run starts.
    pub hosts: Placement,
}
