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
//! Architecture invariant: the course and the measurement know this trait only. Which systems there are, [`open`] alone
//! knows.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Options;
use super::care::Shape;
use super::chain::ChainUnderLoad;
use super::error::RunError;
use super::event::{Event, Events, Step};
use super::life::LifeEnd;
use super::other_system::OtherSystem;
use super::own_ledger::OwnLedger;
use super::prepared::Prepared;
use super::running_ledger::RunningLedger;
use super::shown::Shown;
use crate::monitor::Subject;
use crate::plan::{self, ChainPlan, Plan};
use crate::topology::PlacedProcess;
use crate::workload::{Boxed, Mix, Site, done};

/// Interval between two checks for a requested stop during a preparation.
const LOOK_EVERY: Duration = Duration::from_millis(50);

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

/// The run that a target serves.
#[derive(Clone, Copy)]
pub(super) struct RunContext<'a> {
    pub options: &'a Options,
    pub events: &'a Events,
    /// The scenario's seed.
    pub seed: u64,
    /// The origin of the scenario's time axis.
    pub epoch: Instant,
}

/// The next stretch, and those after it.
pub(super) struct NextStretch<'a> {
    pub run: RunContext<'a>,
    /// The point's plan.
    pub plan: &'a Plan,
    pub mix: &'a Arc<Mix>,
    /// The preparation that it needs.
    pub prepared: Arc<Prepared>,
    /// The preparations of the stretches after it, in order.
    pub later: Vec<Arc<Prepared>>,
    /// Whether it is of another point than the stretch before.
    pub is_other_point: bool,
}

impl NextStretch<'_> {
    /// Returns whether its units are prepared for several stretches at once, together with those of other points.
    pub fn is_made_ahead(&self) -> bool {
        self.prepared.is_made_ahead() && !self.plan.run.fresh
    }

    /// Has the work prepare a site, and waits for the views. Returns false if a stop was requested before the end. The units
    /// begun are then in the books as in doubt.
    pub async fn prepare(
        &self,
        site: &Arc<Site>,
        units: u64,
        words: &str,
    ) -> Result<bool, RunError> {
        let RunContext {
            options, events, ..
        } = self.run;
        events(Event::Preparing(Arc::clone(site)));
        let step = Shown::begin(events, Step::Preparation);
        tokio::select! {
            done = self.mix.prepare(site, units) => done.map_err(RunError::of("the preparation"))?,
            () = asked_to_stop(options) => {
                step.end("interrupted");
                return Ok(false);
            }
        }
        site.caught_up().await?;
        step.end(words);
        Ok(true)
    }
}

/// The identity of a target: points with equal keys share one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TargetKey {
    chain: Option<ChainPlan>,
    /// An existing network or another system.
    existing: Option<plan::Target>,
    shape: Shape,
}

impl TargetKey {
    /// Returns the key of the target that a scenario needs. `binary` is the executable of its nodes, if it has its own.
    pub fn of(plan: &Plan, binary: Option<PathBuf>) -> Self {
        Self {
            chain: plan.chain.clone(),
            existing: plan.network.target.clone(),
            shape: Shape::of(&plan.network, binary),
        }
    }
}

/// Creates a target. Nodes of our own do not run yet.
pub(super) async fn open(key: &TargetKey, options: &Options) -> Result<Box<dyn Target>, RunError> {
    let usual = options.binary.clone();
    Ok(match (&key.chain, &key.existing) {
        (Some(chain), _) => {
            let binary = key.shape.binary.clone().unwrap_or(usual);
            if key.shape.binary.is_some() {
                options.hosts.refuse_other_binary()?;
            }
            Box::new(ChainUnderLoad::new(chain, binary))
        }
        (None, Some(plan::Target::Connector(program))) => {
            Box::new(OtherSystem::start(program, &usual).await?)
        }
        (None, Some(plan::Target::Nodes { banks, notary })) => {
            Box::new(RunningLedger::open(banks, notary.as_deref())?)
        }
        (None, None) if key.shape.banks == 0 => Box::new(RunningLedger::open(&[], None)?),
        (None, None) => Box::new(OwnLedger::bootstrap(usual, &key.shape, &options.hosts).await?),
    })
}

/// Waits until a stop is requested.
pub(super) async fn asked_to_stop(options: &Options) {
    while !options.stop.is_asked() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
