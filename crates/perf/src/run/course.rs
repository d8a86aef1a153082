//! The course of one scenario: from stretch to stretch, with whatever the network needs between them, and the audits.
//!
//! A *life* is the time of a network between two beginnings: from its bootstrap, a wipe or a restored copy until the next of
//! them, or the end. Everything that ran in a life is audited at its end, once, with the books kept through all of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use super::error::RunError;
use super::event::{Event, Events, Step};
use super::ground::{Ground, GroundKey};
use super::prepared::Prepared;
use super::schedule::{Turn, turns};
use super::stretch::{Measure, outstanding};
use super::{Options, label};
use crate::plan::{Plan, PointPlan, Restart};
use crate::report::Jtl;
use crate::results::{AuditResult, Point};
use crate::workload::{Mix, Site};

/// Between two looks at whether somebody asked to stop, while something is prepared.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Units that are prepared ahead for several stretches at most. To make a few is quicker than to put a copy of a whole
/// network back; to make many is not.
const AHEAD_MAX: u64 = 512;

/// One scenario on its way.
pub(super) struct Course<'a> {
    pub plan: &'a Plan,
    pub options: &'a Options,
    pub events: &'a Events,
    pub points: &'a [PointPlan],
    /// Executables of points that have their own.
    pub binaries: &'a [Option<PathBuf>],
    pub mixes: &'a [Arc<Mix>],
    /// Where the time axis begins.
    pub epoch: Instant,
    /// What was measured, point by point.
    pub results: &'a mut [Point],
    /// Where every unit goes, if somebody wants it.
    pub jtl: Option<&'a mut Jtl>,
    /// What each point needs prepared.
    prepared: Vec<Arc<Prepared>>,
    grounds: Vec<(GroundKey, Ground)>,
    /// The ground that the last stretch ran on.
    here: usize,
    life: Option<Life>,
    last: Option<Turn>,
    units: Arc<AtomicU64>,
}

/// See the module.
struct Life {
    site: Arc<Site>,
    /// Points of which something ran in it, in order.
    ran: Vec<usize>,
    /// What was prepared at its beginning, or since; nothing if `None`.
    prepared: Option<String>,
    /// Units prepared ahead that are still there, by what they are.
    ahead: BTreeMap<String, u64>,
}

impl Life {
    fn new(site: Arc<Site>, prepared: &Prepared) -> Self {
        Self {
            site,
            ran: Vec::new(),
            prepared: prepared.is_needed().then(|| prepared.key.clone()),
            ahead: BTreeMap::new(),
        }
    }

    /// Whether what a point needs is there.
    fn has(&self, prepared: &Prepared) -> bool {
        !prepared.is_needed() || self.prepared.as_ref() == Some(&prepared.key)
    }
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

    /// Runs every turn, or as many as can be; then audits what is not audited yet and cleans up, whatever happened.
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
        self.end_life().await;
        self.close().await;
        ended
    }

    /// The first of the turns that are left.
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
            // Somebody asked to stop before it was ready.
            return Ok(());
        };
        if self.options.stop.is_asked() {
            return Ok(());
        }
        let repeat = (self.plan.run.repeats > 1).then_some(turn.repeat);
        let labels = self.mixes[turn.point].labels();
        let threads = outstanding(&plan.load);
        let samples = self.jtl.as_mut().map(|jtl| jtl.stretch(&labels, threads));
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
        let measured = measured?;
        self.results[turn.point].stretches.push(measured.stretch);
        let died = match &mut self.grounds[self.here].1 {
            Ground::Ours(ours) => ours.died(),
            Ground::Nothing | Ground::Theirs(_) => None,
        };
        match died.or(measured.failure) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Moves to the ground of a point; the one that is left is audited and rests.
    async fn go_to(&mut self, key: &GroundKey) -> Result<(), RunError> {
        let known = self.grounds.iter().position(|(known, _)| known == key);
        if known == Some(self.here) {
            return Ok(());
        }
        self.end_life().await;
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

    /// Settings, restarts, and what has to be prepared: afterwards there is a life, unless somebody asked to stop.
    async fn make_ready(
        &mut self,
        turn: Turn,
        prepared: &Prepared,
        left: &[Turn],
    ) -> Result<(), RunError> {
        let plan = &self.points[turn.point].plan;
        let other_point = self.last.is_none_or(|last| last.point != turn.point);
        if !matches!(self.grounds[self.here].1, Ground::Ours(_)) {
            return self.make_ready_elsewhere(plan, turn, prepared).await;
        }
        let there = self.life.as_ref().is_some_and(|life| life.has(prepared));
        let ahead = is_made_ahead(plan, prepared);
        let renew = match (&self.life, ahead) {
            (Some(_), true) => false,
            _ => !there || prepared.is_used_up() || (plan.run.fresh && other_point),
        };
        if renew {
            self.end_life().await;
            self.begin_life(plan, turn, prepared, left).await?;
        } else {
            self.keep_life(plan, other_point).await?;
        }
        if ahead {
            self.take_ahead(turn, prepared, left).await?;
        }
        Ok(())
    }

    /// The life goes on: settings and restarts.
    async fn keep_life(&mut self, plan: &Plan, other_point: bool) -> Result<(), RunError> {
        let must_restart = match plan.run.restart {
            Restart::Needed => false,
            Restart::Points => other_point,
            Restart::Repeats => true,
        };
        let (_, Ground::Ours(ours)) = &mut self.grounds[self.here] else {
            return Ok(());
        };
        let step = Shown::begin(self.events, Step::Restart);
        let mut restarted = ours.configure(&plan.network).await?;
        if must_restart && !restarted {
            ours.restart().await?;
            restarted = true;
        }
        step.end(if restarted { "done" } else { "" });
        if restarted && let Some(life) = &mut self.life {
            let site = ours.site(self.plan.seed, outstanding(&plan.load))?;
            site.restore(life.site.books());
            life.site = Arc::new(site);
        }
        Ok(())
    }

    /// Takes what one stretch uses up from what was prepared ahead, and prepares for the stretches to come where that is not enough.
    async fn take_ahead(
        &mut self,
        turn: Turn,
        prepared: &Prepared,
        left: &[Turn],
    ) -> Result<(), RunError> {
        let Some(life) = &mut self.life else {
            // Somebody asked to stop before it began.
            return Ok(());
        };
        let there = life.ahead.entry(prepared.key.clone()).or_default();
        if *there < prepared.units {
            let same = |turn: &&Turn| self.prepared[turn.point].key == prepared.key;
            let stretches = left.iter().filter(same).count() as u64;
            let units = prepared.units.saturating_mul(stretches.max(1));
            let units = units.min(AHEAD_MAX.max(prepared.units));
            (self.events)(Event::Preparing(Arc::clone(&life.site)));
            let step = Shown::begin(self.events, Step::Preparation);
            let preparing = self.mixes[turn.point].prepare(&life.site, units);
            tokio::select! {
                done = preparing => done.map_err(|failed| RunError::Work {
                    what: "the preparation",
                    failed,
                })?,
                // What was begun stands in the books as in doubt.
                () = asked_to_stop(self.options) => {
                    step.end("interrupted");
                    return Ok(());
                }
            }
            life.site.caught_up().await?;
            *there = there.saturating_add(units);
            step.end(&format!("{units} units"));
        }
        *there = there.saturating_sub(prepared.units);
        Ok(())
    }

    /// What is not ours is prepared where it stands.
    async fn make_ready_elsewhere(
        &mut self,
        plan: &Plan,
        turn: Turn,
        prepared: &Prepared,
    ) -> Result<(), RunError> {
        if self.life.is_none() {
            let ground = &self.grounds[self.here].1;
            let site = ground.site(self.plan.seed, outstanding(&plan.load))?;
            if matches!(ground, Ground::Theirs(_)) {
                site.begin_among_others().await?;
            }
            self.life = Some(Life {
                site: Arc::new(site),
                ran: Vec::new(),
                prepared: None,
                ahead: BTreeMap::new(),
            });
        }
        if let Some(life) = &mut self.life
            && (prepared.is_used_up() || !life.has(prepared))
        {
            life.prepared = Some(prepared.key.clone());
            (self.events)(Event::Preparing(Arc::clone(&life.site)));
            let step = Shown::begin(self.events, Step::Preparation);
            let preparing = self.mixes[turn.point].prepare(&life.site, prepared.units);
            preparing.await.map_err(|failed| RunError::Work {
                what: "the preparation",
                failed,
            })?;
            step.end("done");
        }
        Ok(())
    }

    /// A network of ours as prepared: from a copy if there is one, else from nothing.
    async fn begin_life(
        &mut self,
        plan: &Plan,
        turn: Turn,
        prepared: &Prepared,
        left: &[Turn],
    ) -> Result<(), RunError> {
        let ahead = is_made_ahead(plan, prepared);
        // A copy is of use if this very preparation is needed again, and not there any more by then.
        let later = || left[1..].iter().map(|other| &self.prepared[other.point]);
        let others = || later().any(|other| other.is_needed() && other.key != prepared.key);
        let again = later().any(|other| other.key == prepared.key)
            && (prepared.is_used_up() || plan.run.fresh || others());
        let (_, Ground::Ours(ours)) = &mut self.grounds[self.here] else {
            return Ok(());
        };
        if ours.is_up() && (ours.is_used() || ours.has(&prepared.key)) {
            ours.stop().await?;
        }
        ours.configure(&plan.network).await?;
        if ours.has(&prepared.key) {
            let step = Shown::begin(self.events, Step::Restore);
            let books = ours.restore(&prepared.key).await?;
            let site = ours.site(self.plan.seed, outstanding(&plan.load))?;
            site.restore(books.unwrap_or_default());
            step.end("as prepared before");
            self.life = Some(Life::new(Arc::new(site), prepared));
            return Ok(());
        }
        if ours.is_used() {
            let step = Shown::begin(self.events, Step::Wipe);
            ours.wipe().await?;
            step.end("done");
        } else {
            let step = Shown::begin(self.events, Step::Network);
            ours.start().await?;
            step.end(&format!("{} banks and a notary", plan.network.banks));
        }
        ours.use_it();
        let mut site = Arc::new(ours.site(self.plan.seed, outstanding(&plan.load))?);
        if prepared.is_needed() && !ahead {
            (self.events)(Event::Preparing(Arc::clone(&site)));
            let step = Shown::begin(self.events, Step::Preparation);
            let preparing = self.mixes[turn.point].prepare(&site, prepared.units);
            tokio::select! {
                done = preparing => done.map_err(|failed| RunError::Work {
                    what: "the preparation",
                    failed,
                })?,
                // Nothing was measured yet: what was begun goes with the network.
                () = asked_to_stop(self.options) => {
                    step.end("interrupted");
                    return Ok(());
                }
            }
            site.caught_up().await?;
            step.end("done");
            if again {
                let step = Shown::begin(self.events, Step::Snapshot);
                let books = site.books();
                ours.snapshot(&prepared.key, books.clone()).await?;
                site = Arc::new(ours.site(self.plan.seed, outstanding(&plan.load))?);
                site.restore(books);
                step.end("kept for later");
            }
        }
        let mut life = Life::new(site, prepared);
        if ahead {
            life.prepared = None;
        }
        self.life = Some(life);
        Ok(())
    }

    /// Audits a life in which something ran, and ends it. A failed audit is a result, not an error.
    async fn end_life(&mut self) {
        let Some(life) = self.life.take() else {
            return;
        };
        let Some(point) = life.ran.last().copied() else {
            return;
        };
        let step = Shown::begin(self.events, Step::Audit);
        let read_max = self.points[point].plan.audit.read_max;
        let nobody = life.site.banks() == 0;
        let result = match life.site.audit(read_max).await {
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
        step.close(result.clean, &result.words);
        (self.events)(Event::Audited(result.clone()));
        self.results[point].audits.push(result);
    }

    /// Takes networks down, or leaves the last one up if that was asked for.
    async fn close(mut self) {
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

/// A step that is shown as begun; dropped before its end, it is shown as gone wrong.
struct Shown<'a> {
    events: &'a Events,
    ended: bool,
}

impl<'a> Shown<'a> {
    fn begin(events: &'a Events, step: Step) -> Self {
        events(Event::Began(step));
        Self {
            events,
            ended: false,
        }
    }

    fn end(self, words: &str) {
        self.close(true, words);
    }

    fn close(mut self, well: bool, words: &str) {
        self.ended = true;
        (self.events)(Event::Ended {
            well,
            words: words.to_owned(),
        });
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if !self.ended {
            (self.events)(Event::Ended {
                well: false,
                words: "failed".to_owned(),
            });
        }
    }
}

/// Whether a point's units are few enough to be prepared for several stretches at once, beside those of other points.
fn is_made_ahead(plan: &Plan, prepared: &Prepared) -> bool {
    prepared.is_used_up() && prepared.units <= AHEAD_MAX && !plan.run.fresh
}

async fn asked_to_stop(options: &Options) {
    while !options.stop.is_asked() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Stretches differ in chance, and are the same from run to run.
fn stretch_seed(seed: u64, turn: Turn) -> u64 {
    let turn = (turn.point as u64) << 32 | u64::from(turn.repeat);
    seed ^ turn.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
