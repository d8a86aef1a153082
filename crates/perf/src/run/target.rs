//! The systems that stretches run on, behind one trait.
//!
//! A *life* is the time of a system between two beginnings: from a bootstrap, a wipe or a restored copy until the next of
//! them, or the end. Everything that ran in a life is audited at its end, once, with the books kept through all of it.
//!
//! ```text
//! open ──► prepare ──► units through the site ──► end_life (with the audit) ──► tear_down
//!             ▲ ▲ another stretch │                   │
//!             │ └─────────────────┘                   │
//!             └──────────── another life ─────────────┘
//! ```
//! Architecture invariant: the course and the measurement know this trait only. Which systems there are,
//! [`open`](super::open::open) alone knows.

use std::sync::Arc;
use std::time::Duration;

use super::error::RunError;
use super::event::Events;
use super::life::LifeEnd;
use super::next_stretch::NextStretch;
use crate::agent::ChainTask;
use crate::monitor::Subject;
use crate::topology::PlacedProcess;
use crate::workload::{Boxed, Site, done};

/// A system that stretches run on. Units reach it through its site alone.
pub(super) trait Target: Send {
    /// Returns the site of the present life; `None` outside a life.
    fn site(&self) -> Option<&Arc<Site>>;

    /// Returns whether the present life can serve a stretch too. If not, it is ended first.
    fn can_continue(&self, next: &NextStretch<'_>) -> bool;

    /// Makes it ready for a stretch: brings it up, configures, restarts and prepares it. Begins a life if there is none.
    /// Afterwards there is a life, unless a stop was requested.
    fn prepare<'a>(&'a mut self, next: &'a NextStretch<'a>) -> Boxed<'a, Result<(), RunError>>;

    /// Returns how long the slowest node took to start, if the last preparation restarted all nodes.
    fn restart_time(&self) -> Option<Duration> {
        None
    }

    /// Returns the subjects to monitor.
    fn subjects(&self) -> Result<Vec<Subject>, RunError>;

    /// Returns the bytes on all disks together; `None` if they are not accessible.
    fn disk_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns the process of a node that this run has started, by the node's name, if it runs.
    fn process(&self, node: &str) -> Option<PlacedProcess> {
        let _ = node;
        None
    }

    /// Returns the chain and how agents reach its nodes; `None` for other systems.
    fn chain_for_agents(&self) -> Option<ChainTask> {
        None
    }

    /// Starts a node again that a fault has killed.
    fn revive<'a>(&'a mut self, node: &'a str) -> Boxed<'a, Result<(), RunError>> {
        let _ = node;
        done(Ok(()))
    }

    /// Returns an error if a part of it has ended by itself.
    fn died(&mut self) -> Option<RunError> {
        None
    }

    /// Ends the life: lets the work come to rest, takes back changes that would outlast the load, and audits. An error is a
    /// change that could not be taken back, or a part that has ended by itself.
    fn end_life<'a>(&'a mut self, end: LifeEnd<'a>) -> Boxed<'a, Result<(), RunError>>;

    /// Stops it while another system is measured.
    fn set_aside(&mut self) -> Boxed<'_, Result<(), RunError>> {
        done(Ok(()))
    }

    /// Takes down what was brought up, or leaves it running.
    fn tear_down(self: Box<Self>, keep: bool, events: &Events) -> Boxed<'_, ()>;
}
