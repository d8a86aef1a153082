//! The course of one scenario: its stretches, the changes to the network between them, and the audits.
//!
//! A *life* is the time of a network between two beginnings: from its bootstrap, a wipe or a restored copy until the next of
//! them, or the end. Everything that ran in a life is audited at its end, once, with the books kept through all of it.

mod life;
mod ready;
pub(super) mod shown;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use super::each_unit::EachUnit;
use super::error::RunError;
use super::event::{Event, Events, Step};
use super::ground::{Ground, GroundKey};
use super::prepared::Prepared;
use super::schedule::{Turn, turns};
use super::stretch::{Measure, outstanding};
use super::{Options, label, samples_labels};
use crate::plan::{FaultKind, Plan, PointPlan};
use crate::report::Jtl;
use crate::results::{AuditResult, Point};
use crate::workload::{Mix, Site};
use life::Life;
use shown::Shown;

/// Time for an audit by a connector after the run was stopped.
const AUDIT_AFTER_STOP_MAX: Duration = Duration::from_secs(60);

/// A scenario in progress.
pub(super) struct Course<'a> {
    pub plan: &'a Plan,
    pub options: &'a Options,
    pub events: &'a Events,
    pub points: &'a [PointPlan],
    /// Executables of points that have their own.
    pub binaries: &'a [Option<PathBuf>],
    pub mixes: &'a [Arc<Mix>],
    /// The origin of the time axis.
    pub epoch: Instant,
    /// The results, point by point.
    pub results: &'a mut [Point],
    /// The destination of every unit, if samples are written.
    pub jtl: Option<&'a mut Jtl>,
    /// The preparation that each point needs.
    prepared: Vec<Arc<Prepared>>,
    grounds: Vec<(GroundKey, Ground)>,
    /// The index of the ground that the last stretch ran on.
    here: usize,
    life: Option<Life>,
    last: Option<Turn>,
    units: Arc<AtomicU64>,
}

impl<'a> Course<'a> {
    #[allow(clippy::too_many_arguments)] // what a scenario consists of, said once
    pub fn new(
        plan: &'a Plan,
        options: &'a Options,
        events: &'a Events,
        (points, binaries): (&'a [PointPlan], &'a [Option<PathBuf>]),
        mixes: &'a [Arc<Mix>],
        epoch: Instant,
        results: &'a mut [Point],
        jtl: Option<&'a mut Jtl>,
    ) -> Self {
        let prepared = points.iter().zip(mixes);
        Self {
            prepared: prepared
                .map(|(point, mix)| Arc::new(Prepared::of(&point.plan, mix)))
                .collect(),
            plan,
            options,
            events,
            points,
            binaries,
            mixes,
            epoch,
            results,
            jtl,
            grounds: Vec::new(),
            here: 0,
            life: None,
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
            if self.options.stop.is_asked() {
                break;
            }
            ended = self.turn(&all[at..]).await;
            if ended.is_err() {
                break;
            }
        }
        let undone = self.end_life().await;
        self.close().await;
        ended.and(undone)
    }

    /// Runs the first of the remaining turns.
    async fn turn(&mut self, left: &[Turn]) -> Result<(), RunError> {
        let Some(turn) = left.first().copied() else {
            return Ok(());
        };
        let plan = &self.points[turn.point].plan;
        let binary = self.binaries.get(turn.point).cloned().flatten();
        self.go_to(&GroundKey::of(&plan.network, binary)).await?;
        let prepared = Arc::clone(&self.prepared[turn.point]);
        self.make_ready(turn, &prepared, left).await?;
        let Some(life) = &self.life else {
            // A stop was requested before it was ready.
            return Ok(());
        };
        if self.options.stop.is_asked() {
            return Ok(());
        }
        let repeat = (self.plan.run.repeats > 1).then_some(turn.repeat);
        let labels = samples_labels(
            &self.mixes[turn.point].labels(),
            &self.points[turn.point].at,
        );
        let threads = outstanding(&plan.load);
        let file = self.jtl.as_mut().map(|jtl| jtl.stretch(&labels, threads));
        let (samples, each_unit) = match plan.run.each_unit {
            true => {
                let (sink, each_unit) = EachUnit::before(file);
                (Some(sink), Some(each_unit))
            }
            false => (file, None),
        };
        if let Ok(connector) = life.site.connector() {
            self.results[turn.point]
                .system
                .clone_from(&connector.hello().name);
        }
        let measure = Measure {
            plan,
            mix: &self.mixes[turn.point],
            prepared: &prepared,
            site: &life.site,
            ground: &self.grounds[self.here].1,
            label: label(&self.points[turn.point].at, repeat),
            epoch: self.epoch,
            units: Arc::clone(&self.units),
            seed: stretch_seed(self.plan.seed, turn),
            stop: self.options.stop.clone(),
            samples,
            agents: self.options.agents.as_ref(),
            events: self.events,
        };
        let measured = measure.run().await;
        if let Some(life) = &mut self.life {
            life.ran.push(turn.point);
        }
        self.last = Some(turn);
        let mut measured = measured?;
        if let Some(each_unit) = each_unit {
            each_unit.end(&mut measured.stretch);
        }
        if let (Some(fault), Ground::Ours(ours)) = (&plan.run.fault, &mut self.grounds[self.here].1)
            && fault.kind == FaultKind::Kill
            && measured.has_struck
        {
            let step = Shown::begin(self.events, Step::Restart);
            ours.revive(&fault.node).await?;
            step.end(&format!("{} was killed", fault.node));
        }
        // An interrupted stretch is not comparable with other repeats. It counts only if there is no other.
        let stretches = &mut self.results[turn.point].stretches;
        if !self.options.stop.is_asked() || (stretches.is_empty() && measured.stretch.done > 0) {
            stretches.push(measured.stretch);
        }
        let died = self.grounds[self.here].1.died();
        match died.or(measured.failure) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Moves to the ground of a point. The previous one is audited, and stopped if it is a network of ours.
    async fn go_to(&mut self, key: &GroundKey) -> Result<(), RunError> {
        let known = self.grounds.iter().position(|(known, _)| known == key);
        if known == Some(self.here) {
            return Ok(());
        }
        self.end_life().await?;
        if let Some((_, Ground::Ours(ours))) = self.grounds.get_mut(self.here) {
            ours.stop().await?;
        }
        self.here = match known {
            Some(at) => at,
            None => {
                let ground = Ground::new(key, self.options.binary.clone()).await?;
                self.grounds.push((key.clone(), ground));
                self.grounds.len() - 1
            }
        };
        Ok(())
    }

    /// Audits a life if any stretch ran in it, and ends it. A failed audit is a result, not an error. If changes to an
    /// existing network could not be undone, that is an error.
    async fn end_life(&mut self) -> Result<(), RunError> {
        let Some(life) = self.life.take() else {
            return Ok(());
        };
        let undone = self.take_back(&life.site).await;
        if let Some(point) = life.ran.last().copied() {
            self.audit(&life.site, point).await;
        }
        undone
    }

    /// Takes back changes to an existing network, which continues without us. Our own networks are discarded with
    /// everything in them.
    async fn take_back(&self, site: &Site) -> Result<(), RunError> {
        let ground = self.grounds.get(self.here);
        if !matches!(ground, Some((_, Ground::Theirs(_)))) {
            return Ok(());
        }
        let step = Shown::begin(self.events, Step::TakingBack);
        match site.take_back().await {
            Ok(taken) => {
                let words = match taken {
                    0 => String::new(),
                    taken => format!("{taken} standing rights"),
                };
                step.end(&words);
                Ok(())
            }
            Err(failed) => Err(RunError::Work {
                what: "taking back what was given for the load",
                failed,
            }),
        }
    }

    async fn audit(&mut self, site: &Site, point: usize) {
        let step = Shown::begin(self.events, Step::Audit);
        if let Ok(connector) = site.connector() {
            let result = tokio::select! {
                result = connector.audit() => result,
                () = asked_to_stop_long_ago(self.options) => AuditResult {
                    clean: false,
                    words: "the connector did not audit in time after the run was stopped".to_owned(),
                    transactions: 0,
                },
            };
            return self.audited(point, result, step);
        }
        let read_max = self.points[point].plan.audit.read_max;
        let nobody = site.banks() == 0;
        let result = match site.audit(read_max).await {
            Ok(_) if nobody => AuditResult {
                clean: true,
                words: "there is no node whose books could be read".to_owned(),
                transactions: 0,
            },
            Ok(verdict) => AuditResult {
                clean: verdict.is_clean(),
                words: verdict.to_string(),
                transactions: verdict.transactions as u64,
            },
            Err(error) => AuditResult {
                clean: false,
                words: format!("{}: {error}", error.code()),
                transactions: 0,
            },
        };
        self.audited(point, result, step);
    }

    fn audited(&mut self, point: usize, result: AuditResult, step: Shown<'a>) {
        step.close(result.clean, &result.words);
        (self.events)(Event::Audited(result.clone()));
        self.results[point].audits.push(result);
    }

    /// Takes networks down, or leaves the last one running if that was requested.
    async fn close(mut self) {
        for (_, ground) in &self.grounds {
            if let Ground::Other(connector) = ground {
                connector.end().await;
            }
        }
        if !self.options.keep || self.here >= self.grounds.len() {
            return;
        }
        let (_, ground) = self.grounds.swap_remove(self.here);
        if let Ground::Ours(ours) = ground
            && let Some((folder, pids)) = ours.keep()
        {
            (self.events)(Event::Kept { folder, pids });
        }
    }
}

/// Waits for a stop, and then for as long as an audit may take after it.
async fn asked_to_stop_long_ago(options: &Options) {
    ready::asked_to_stop(options).await;
    tokio::time::sleep(AUDIT_AFTER_STOP_MAX).await;
}

/// Returns the seed of a stretch. Seeds differ between stretches and are the same in every run.
fn stretch_seed(seed: u64, turn: Turn) -> u64 {
    let turn = (turn.point as u64) << 32 | u64::from(turn.repeat);
    seed ^ turn.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
