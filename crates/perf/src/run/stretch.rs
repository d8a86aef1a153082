//! One measured stretch of load: workers set up, warm-up, load with everything watched, workers torn down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::error::RunError;
use super::event::Event;
use super::next_stretch::NextStretch;
use super::own_network::streams;
use super::target::Target;
use super::window::{grown_files, trim};
use super::works::works;
use crate::agent::{Task, TeamOutcome};
use crate::load::Live;
use crate::load::engine::{self, LoadEnvironment, Real, SampleSink, Settings, UNFINISHED_AFTER};
use crate::monitor::{Monitor, Options as Watching};
use crate::plan::{FaultKind, Load, Plan};
use crate::results::Stretch;
use crate::topology::{PlacedProcess, Signal};
use crate::workload::{Failed, Site};

/// Upper limit on workers of an open loop. Arrivals use them in turn.
const OPEN_WORKERS_MAX: u32 = 64;
/// Interval between two checks for the end of a warm-up or a requested stop.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The input of a stretch.
pub(super) struct Measure<'a> {
    pub next: &'a NextStretch<'a>,
    pub site: &'a Arc<Site>,
    pub target: &'a dyn Target,
    /// Its point and repeat, for people.
    pub label: String,
    /// The next unit's number.
    pub units: Arc<AtomicU64>,
    /// The seed of all its random choices.
    pub seed: u64,
    pub samples: Option<SampleSink>,
}

/// A process that is stopped. It goes on when this is dropped.
struct Frozen(PlacedProcess);

impl Frozen {
    fn freeze(process: PlacedProcess) -> Self {
        process.signal(Signal::STOP);
        Self(process)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        self.0.signal(Signal::CONT);
    }
}

/// The result of a stretch. It has figures even if there was a failure after it.
pub(super) struct Measured {
    pub stretch: Stretch,
    pub failure: Option<RunError>,
    /// Whether the scenario's fault has struck.
    pub has_struck: bool,
}

impl Measure<'_> {
    /// Sets up, measures and tears down.
    pub async fn run(self) -> Result<Measured, RunError> {
        // Agents have workers of their own.
        if self.next.run.options.agents.is_none() {
            let set_up = self
                .next
                .mix
                .set_up(self.site, workers(&self.next.plan.load))
                .await;
            set_up.map_err(RunError::of("setting a worker up"))?;
        }
        let live = Arc::new(Live::default());
        (self.next.run.events)(Event::Load {
            label: self.label.clone(),
            seconds: expected_seconds(self.next.plan),
            live: Arc::clone(&live),
        });
        let struck = AtomicBool::new(false);
        let (stretch, mut failure) = self.measured(live, &struck).await?;
        let has_struck = struck.into_inner();
        if let (Some(fault), None, false, false) = (
            &self.next.plan.run.fault,
            &failure,
            has_struck,
            self.next.run.options.stop.is_asked(),
        ) {
            failure = Some(RunError::FaultMissed(fault.node.clone()));
        }
        let torn_down = self.next.mix.tear_down().await;
        let torn_down = torn_down.map_err(RunError::of("tearing a worker down"));
        failure = failure.or(torn_down.err());
        (self.next.run.events)(Event::Loaded {
            label: self.label.clone(),
            stretch: Arc::new(stretch.clone()),
        });
        Ok(Measured {
            stretch,
            failure,
            has_struck,
        })
    }

    async fn measured(
        &self,
        live: Arc<Live>,
        struck: &AtomicBool,
    ) -> Result<(Stretch, Option<RunError>), RunError> {
        let mut settings = self.settings();
        let mut around = self.around();
        if let Some(warm_up) = self.warm_up_apart(&mut settings)
            && let (_, Some(failed)) = self.load(&warm_up, &around, async {}).await
        {
            return Err(failed);
        }
        around.live = live;
        around.samples = self.samples.clone();
        let mut behind = Ok(());
        let caught_up = async { behind = self.site.caught_up().await };
        let loaded = self.load(&settings, &around, caught_up);
        let measured = async {
            if settings.warm_up > Duration::ZERO {
                tokio::join!(loaded, self.watch(settings.warm_up))
            } else {
                let watch = self.watch(Duration::ZERO).await;
                (loaded.await, watch)
            }
        };
        let disturbed = async {
            self.disturb(settings.warm_up, struck).await;
            std::future::pending::<std::convert::Infallible>().await
        };
        // A stretch that ends early does not wait for its fault.
        let ((mut stretch, failure), watch) = tokio::select! {
            measured = measured => measured,
            never = disturbed => match never {},
        };
        // A search's figures are those of its last trial. Agents begin when all of them are ready.
        let began_later =
            matches!(self.next.plan.load, Load::Knee(_)) || self.next.run.options.agents.is_some();
        let unwatched = watch.end(self.target, &mut stretch, began_later).await;
        let behind = behind.err().map(RunError::from);
        Ok((stretch, unwatched.or(behind).or(failure)))
    }

    /// Puts the load on the system, from here or from agents, and waits for `caught_up`.
    async fn load(
        &self,
        settings: &Settings,
        around: &LoadEnvironment,
        caught_up: impl Future<Output = ()>,
    ) -> (Stretch, Option<RunError>) {
        let (clock, load) = (Real::since(self.next.run.epoch), &self.next.plan.load);
        let Some(agents) = &self.next.run.options.agents else {
            let loaded = engine::stretch(&clock, self.next.mix, load, settings, around, caught_up);
            return (loaded.await, None);
        };
        let failed = RunError::of::<Failed>("load from agents");
        let task = match self.task() {
            Ok(task) => task,
            Err(reason) => return (Stretch::default(), Some(failed(reason))),
        };
        let loaded = agents.stretch(&clock, &task, load, settings, around, self.site);
        let TeamOutcome {
            mut stretch,
            failure,
        } = loaded.await;
        let ended = Instant::now();
        caught_up.await;
        stretch.seconds += ended.elapsed().as_secs_f64();
        (stretch, failure.map(failed))
    }

    /// Returns the work for agents.
    fn task(&self) -> Result<Task, Failed> {
        let bank = |at| {
            let name = self.site.name(at)?.to_owned();
            Ok((name, self.site.endpoint(at)?.clone()))
        };
        let banks: Result<_, Failed> = (0..self.site.banks()).map(bank).collect();
        Ok(Task {
            banks: banks?,
            streams: streams(outstanding(&self.next.plan.load)),
            work: works(self.next.plan).into_owned(),
            chain: self.target.chain_for_agents(),
            mix_seed: self.next.plan.seed,
            workers_max: OPEN_WORKERS_MAX,
        })
    }

    /// Performs the scenario's fault, if it has one, at its moment after the warm-up, and notes that it struck. A frozen process goes on when this returns or is dropped.
    async fn disturb(&self, warm_up: Duration, struck: &AtomicBool) {
        let Some(fault) = &self.next.plan.run.fault else {
            return;
        };
        tokio::time::sleep(warm_up + seconds(fault.at_s)).await;
        let Some(process) = self.target.process(&fault.node) else {
            return;
        };
        struck.store(true, Ordering::Relaxed);
        match fault.kind {
            FaultKind::Kill => process.signal(Signal::KILL),
            FaultKind::Freeze(for_s) => {
                let _frozen = Frozen::freeze(process);
                tokio::time::sleep(seconds(for_s)).await;
            }
        }
    }

    /// Returns the engine's settings, including the warm-up.
    fn settings(&self) -> Settings {
        let run = &self.next.plan.run;
        let counts = [run.count, self.next.prepared.measured_max()];
        Settings {
            warm_up: seconds(run.warm_up_s),
            measured: seconds(run.seconds),
            count: counts.into_iter().flatten().min(),
            seed: self.seed,
            labels: self.next.mix.labels(),
            unfinished_after: UNFINISHED_AFTER,
        }
    }

    /// Returns the engine's connections for a warm-up, which is not recorded.
    fn around(&self) -> LoadEnvironment {
        LoadEnvironment {
            live: Arc::default(),
            stop: self.next.run.options.stop.clone(),
            samples: None,
            slices: None,
            units: Arc::clone(&self.units),
        }
    }

    /// Returns the settings of a separate warm-up for a closed loop, so that monitoring can begin after it. An open
    /// loop's warm-up continues into the measurement without a pause.
    fn warm_up_apart(&self, settings: &mut Settings) -> Option<Settings> {
        if !matches!(self.next.plan.load, Load::Closed(_)) || settings.warm_up == Duration::ZERO {
            return None;
        }
        let warm_up = Settings {
            warm_up: Duration::ZERO,
            measured: settings.warm_up,
            count: self.next.prepared.warm_up_max(),
            ..settings.clone()
        };
        settings.warm_up = Duration::ZERO;
        Some(warm_up)
    }

    /// Starts to monitor after `wait`.
    async fn watch(&self, wait: Duration) -> Watch {
        let until = Instant::now() + wait;
        while Instant::now() < until && !self.next.run.options.stop.is_asked() {
            // Zero if the time came since the check.
            let left = until.saturating_duration_since(Instant::now());
            tokio::time::sleep(LOOK_EVERY.min(left)).await;
        }
        let disk_bytes = self.target.disk_bytes();
        let monitors = &self.next.plan.monitors;
        let (monitor, failure) = match self.target.subjects() {
            Ok(_) if monitors.every_ms == 0 => (None, None),
            Ok(subjects) => {
                let options = Watching {
                    every: Duration::from_millis(monitors.every_ms),
                    metrics: monitors.metrics.clone(),
                    epoch: self.next.run.epoch,
                };
                (Some(Monitor::start(subjects, options).await), None)
            }
            Err(error) => (None, Some(error)),
        };
        Watch {
            disk_bytes,
            monitor,
            failure,
        }
    }
}

/// The monitoring of a stretch.
struct Watch {
    /// Bytes on all disks when it began, if they could be read.
    disk_bytes: Option<u64>,
    monitor: Option<Monitor>,
    failure: Option<RunError>,
}

impl Watch {
    /// Ends it and adds its results. `began_later` says whether the measurement began some time after the monitoring.
    async fn end(
        self,
        target: &dyn Target,
        stretch: &mut Stretch,
        began_later: bool,
    ) -> Option<RunError> {
        if let Some(monitor) = self.monitor {
            let watched = monitor.stop().await;
            stretch.processes = watched.processes;
            stretch.metrics = watched.metrics;
        }
        stretch.disk_bytes = growth(self.disk_bytes, target.disk_bytes());
        trim(stretch);
        if began_later {
            stretch.disk_bytes = stretch
                .disk_bytes
                .and_then(|_| grown_files(&stretch.processes));
        }
        self.failure
    }
}

/// Returns the growth of the files between two readings; `None` if one of them failed. It is 0 if old files were removed faster than new ones
/// grew.
fn growth(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    let (before, after) = before.zip(after)?;
    Some(after.saturating_sub(before))
}

/// Returns the workers that a load needs.
fn workers(load: &Load) -> u32 {
    match load {
        Load::Closed(closed) => closed.outstanding.max(1),
        Load::Open(open) => open.outstanding_max.clamp(1, OPEN_WORKERS_MAX),
        Load::Knee(knee) => knee.outstanding_max.clamp(1, OPEN_WORKERS_MAX),
    }
}

/// Returns the upper limit on outstanding units.
pub(super) fn outstanding(load: &Load) -> u32 {
    match load {
        Load::Closed(closed) => closed.outstanding,
        Load::Open(open) => open.outstanding_max,
        Load::Knee(knee) => knee.outstanding_max,
    }
}

/// Returns the approximate duration of a stretch with its warm-up, for progress display.
fn expected_seconds(plan: &Plan) -> f64 {
    plan.run.warm_up_s + plan.stretch_seconds_expected()
}

/// Converts seconds to a duration. A time that is too long to express never ends.
pub(super) fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_unknown_if_a_reading_of_files_failed() {
        for (before, after, expected) in [
            (Some(5), Some(7), Some(2)),
            (Some(7), Some(5), Some(0)),
            (None, Some(7), None),
            (Some(5), None, None),
        ] {
            assert_eq!(growth(before, after), expected, "{before:?} {after:?}");
        }
    }
}
