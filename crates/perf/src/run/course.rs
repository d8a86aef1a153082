//! The course of one scenario: its stretches, the changes to the targets between them, and the audits.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::each_unit::EachUnit;
use super::error::RunError;
use super::event::Step;
use super::life::{LastStretch, LifeEnd};
use super::next_stretch::{NextStretch, RunContext};
use super::open::{TargetKey, open};
use super::prepared::Prepared;
use super::schedule::{Turn, turns};
use super::shown::Shown;
use super::stretch::{Measure, outstanding};
use super::target::Target;
use super::{label, samples_labels};
use crate::load::engine::SampleSink;
use crate::plan::{FaultKind, Plan, PointPlan};
use crate::report::Jtl;
use crate::results::Point;
use crate::topology::NetworkError;
use crate::workload::Mix;

/// A scenario in progress.
pub(super) struct Course<'a> {
    plan: &'a Plan,
    context: RunContext<'a>,
    points: &'a [PointPlan],
    /// Executables of points that have their own.
    binaries: &'a [Option<PathBuf>],
    mixes: &'a [Arc<Mix>],
    /// The results, point by point.
    results: &'a mut [Point],
    /// The destination of every unit, if samples are written.
    jtl: Option<&'a mut Jtl>,
    /// The preparation that each point needs.
    prepared: Vec<Arc<Prepared>>,
    targets: Vec<(TargetKey, Box<dyn Target>)>,
    /// The index of the target that the last stretch ran on.
    here: usize,
    /// The last stretch of the present life, which has not been audited.
    ran: Option<Ran>,
    last: Option<Turn>,
    units: Arc<AtomicU64>,
}

/// A stretch that ran.
struct Ran {
    point: usize,
    /// Its index among the point's results, if it is one.
    stretch: Option<usize>,
}

impl<'a> Course<'a> {
    pub fn new(
        plan: &'a Plan,
        context: RunContext<'a>,
        (points, binaries): (&'a [PointPlan], &'a [Option<PathBuf>]),
        mixes: &'a [Arc<Mix>],
        results: &'a mut [Point],
        jtl: Option<&'a mut Jtl>,
    ) -> Self {
        let prepared = points.iter().zip(mixes);
        Self {
            prepared: prepared
                .map(|(point, mix)| Arc::new(Prepared::of(&point.plan, mix)))
                .collect(),
            plan,
            context,
            points,
            binaries,
            mixes,
            results,
            jtl,
            targets: Vec::new(),
            here: 0,
            ran: None,
            last: None,
            units: Arc::default(),
        }
    }

    /// Runs every turn, or as many as possible. Then audits everything not audited yet and cleans up, even after a
    /// failure.
    pub async fn run(mut self) -> Result<(), RunError> {
        let run = &self.plan.run;
        let all = turns(
            self.points.len(),
            run.repeats,
            run.interleave,
            self.plan.seed,
        );
        let mut ended = Ok(());
        for at in 0..all.len() {
            if self.is_stopped() {
                break;
            }
            let hosts = &self.context.options.hosts;
            ended = tokio::select! {
                ended = self.turn(all[at], &all[at + 1..]) => ended,
                // Nothing that still waits for a node there would end in reasonable time.
                lost = hosts.until_lost() => Err(NetworkError::from(lost).into()),
            };
            if ended.is_err() {
                break;
            }
        }
        let keep = self.context.options.keep;
        let finished = self.end_life(keep).await;
        // The last network is the one to be left running.
        for (at, (_, target)) in self.targets.into_iter().enumerate() {
            let keep = keep && at == self.here;
            target.tear_down(keep, self.context.events).await;
        }
        ended.and(finished)
    }

    fn is_stopped(&self) -> bool {
        self.context.options.stop.is_asked()
    }

    /// Runs a turn. `later` are the turns after it.
    async fn turn(&mut self, turn: Turn, later: &[Turn]) -> Result<(), RunError> {
        self.go_to(turn.point).await?;
        let later = later.iter();
        let next = NextStretch {
            run: self.context,
            plan: &self.points[turn.point].plan,
            mix: &self.mixes[turn.point],
            prepared: Arc::clone(&self.prepared[turn.point]),
            later: later
                .map(|turn| Arc::clone(&self.prepared[turn.point]))
                .collect(),
            is_other_point: self.last.is_none_or(|last| last.point != turn.point),
        };
        if !self.targets[self.here].1.can_continue(&next) {
            self.end_life(false).await?;
        }
        self.targets[self.here].1.prepare(&next).await?;
        // Without a life a stop was requested before it was ready.
        if self.targets[self.here].1.site().is_none() || self.is_stopped() {
            return Ok(());
        }
        self.stretch(turn, &next).await
    }

    /// Measures a stretch on the target, which is ready, and adds it to the results.
    async fn stretch(&mut self, turn: Turn, next: &NextStretch<'_>) -> Result<(), RunError> {
        let (samples, each_unit) = self.sinks(turn.point);
        let target = &mut self.targets[self.here].1;
        let site = target.site().cloned().expect("the target is ready");
        if let Ok(connector) = site.connector() {
            let system = &mut self.results[turn.point].system;
            system.clone_from(&connector.hello().name);
        }
        let repeat = (self.plan.run.repeats > 1).then_some(turn.repeat);
        let measure = Measure {
            next,
            site: &site,
            target: &**target,
            label: label(&self.points[turn.point].at, repeat),
            units: Arc::clone(&self.units),
            seed: stretch_seed(self.plan.seed, turn),
            samples,
        };
        let measured = measure.run().await;
        self.last = Some(turn);
        let ran = self.ran.insert(Ran {
            point: turn.point,
            stretch: None,
        });
        let mut measured = measured?;
        measured.stretch.start_ms = target
            .restart_time()
            .map(|slowest| slowest.as_secs_f64() * 1_000.0);
        if let Some(each_unit) = each_unit {
            each_unit.end(&mut measured.stretch);
        }
        if let Some(fault) = &next.plan.run.fault
            && fault.kind == FaultKind::Kill
            && measured.has_struck
        {
            let step = Shown::begin(self.context.events, Step::Restart);
            target.revive(&fault.node).await?;
            step.end(&format!("{} was killed", fault.node));
        }
        // An interrupted stretch is not comparable with other repeats. It counts only if there is no other.
        let stretches = &mut self.results[turn.point].stretches;
        let is_stopped = self.context.options.stop.is_asked();
        if !is_stopped || (stretches.is_empty() && measured.stretch.done > 0) {
            ran.stretch = Some(stretches.len());
            stretches.push(measured.stretch);
        }
        match target.died().or(measured.failure) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Returns the sink of a stretch's units, and what keeps each unit for the report, if either is asked for.
    fn sinks(&mut self, point: usize) -> (Option<SampleSink>, Option<EachUnit>) {
        let (PointPlan { at, plan }, mix) = (&self.points[point], &self.mixes[point]);
        let labels = samples_labels(&mix.labels(), at);
        let threads = outstanding(&plan.load);
        let file = self.jtl.as_mut().map(|jtl| jtl.stretch(&labels, threads));
        if !plan.run.each_unit {
            return (file, None);
        }
        let (sink, each_unit) = EachUnit::before(file);
        (Some(sink), Some(each_unit))
    }

    /// Moves to the target of a point. The life of the previous one is ended, and it is set aside.
    async fn go_to(&mut self, point: usize) -> Result<(), RunError> {
        let binary = self.binaries.get(point).cloned().flatten();
        let key = TargetKey::of(&self.points[point].plan, binary);
        let known = self.targets.iter().position(|(known, _)| *known == key);
        if known == Some(self.here) {
            return Ok(());
        }
        self.end_life(false).await?;
        if let Some((_, target)) = self.targets.get_mut(self.here) {
            target.set_aside().await?;
        }
        self.here = match known {
            Some(at) => at,
            None => {
                let target = open(&key, self.context.options).await?;
                self.targets.push((key, target));
                self.targets.len() - 1
            }
        };
        Ok(())
    }

    /// Ends a life, with the audit if any stretch ran in it. With `keep`, its network is left running at the end of the run.
    async fn end_life(&mut self, keep: bool) -> Result<(), RunError> {
        let ran = self.ran.take();
        let Some((_, target)) = self.targets.get_mut(self.here) else {
            return Ok(());
        };
        if target.site().is_none() {
            return Ok(());
        }
        let last = ran.map(|ran| {
            let Point {
                stretches, audits, ..
            } = &mut self.results[ran.point];
            LastStretch {
                plan: &self.points[ran.point].plan,
                stretch: ran.stretch.and_then(|at| stretches.get_mut(at)),
                audits,
            }
        });
        let run = self.context;
        target.end_life(LifeEnd { run, last, keep }).await
    }
}

/// Returns the seed of a stretch. Seeds differ between stretches and are the same in every run.
fn stretch_seed(seed: u64, turn: Turn) -> u64 {
    let turn = (turn.point as u64) << 32 | u64::from(turn.repeat);
    seed ^ turn.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
