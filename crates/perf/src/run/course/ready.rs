//! The steps before a stretch: settings, restarts and preparation.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::Course;
use super::life::Life;
use super::shown::Shown;
use crate::plan::{Plan, Restart};
use crate::run::Options;
use crate::run::error::RunError;
use crate::run::event::{Event, Step};
use crate::run::ground::Ground;
use crate::run::prepared::Prepared;
use crate::run::schedule::Turn;
use crate::run::stretch::outstanding;

/// Interval between two checks for a requested stop during a preparation.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Upper limit on units prepared ahead for several stretches. A few units are quicker to prepare than a copy of a whole
/// network is to restore; many are not.
const AHEAD_MAX: u64 = 256;

impl Course<'_> {
    /// Applies settings, restarts and preparation. Afterwards there is a life, unless a stop was requested.
    pub(super) async fn make_ready(
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
            self.end_life().await?;
            self.begin_life(plan, turn, prepared, left).await?;
        } else {
            self.keep_life(plan, other_point).await?;
        }
        if ahead {
            self.take_ahead(turn, prepared, left).await?;
        }
        Ok(())
    }

    /// Continues the life: applies settings and restarts.
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

    /// Takes a stretch's units from those prepared ahead. If they are too few, prepares for the remaining stretches
    /// first.
    async fn take_ahead(
        &mut self,
        turn: Turn,
        prepared: &Prepared,
        left: &[Turn],
    ) -> Result<(), RunError> {
        let Some(life) = &mut self.life else {
            // A stop was requested before it began.
            return Ok(());
        };
        let there = life.ahead.entry(prepared.key.clone()).or_default();
        if *there < prepared.units {
            let same = |turn: &&Turn| self.prepared[turn.point].key == prepared.key;
            let stretches = left.iter().filter(same).count() as u64;
            // Clipped: the limit below is far lower.
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
                // Units already begun are in the books as in doubt.
                () = asked_to_stop(self.options) => {
                    step.end("interrupted");
                    return Ok(());
                }
            }
            life.site.caught_up().await?;
            *there += units;
            step.end(&format!("{units} units"));
        }
        *there -= prepared.units;
        Ok(())
    }

    /// Prepares a network that is not ours in its current state, or another system anew.
    async fn make_ready_elsewhere(
        &mut self,
        plan: &Plan,
        turn: Turn,
        prepared: &Prepared,
    ) -> Result<(), RunError> {
        let is_other = matches!(self.grounds[self.here].1, Ground::Other(_));
        if is_other && self.life.as_ref().is_some_and(|life| !life.has(prepared)) {
            // A connector may discard at its preparation what was there before.
            self.end_life().await?;
        }
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
            tokio::select! {
                done = preparing => done.map_err(|failed| RunError::Work {
                    what: "the preparation",
                    failed,
                })?,
                // Units already begun are in the books as in doubt.
                () = asked_to_stop(self.options) => {
                    life.prepared = None;
                    step.end("interrupted");
                    return Ok(());
                }
            }
            step.end("done");
        }
        Ok(())
    }

    /// Begins a prepared life of our own network: from a copy if there is one, otherwise from an empty network.
    async fn begin_life(
        &mut self,
        plan: &Plan,
        turn: Turn,
        prepared: &Prepared,
        left: &[Turn],
    ) -> Result<(), RunError> {
        let ahead = is_made_ahead(plan, prepared);
        // A copy is useful only if this same preparation is needed again after another one has replaced it.
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
                // Nothing has been measured yet: the network is discarded with the units begun.
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
}

/// Returns whether a point's units are few enough to be prepared for several stretches at once, together with those of
/// other points.
fn is_made_ahead(plan: &Plan, prepared: &Prepared) -> bool {
    prepared.is_used_up() && prepared.units <= AHEAD_MAX && !plan.run.fresh
}

pub(super) async fn asked_to_stop(options: &Options) {
    while !options.stop.is_asked() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
