//! The next stretch of a run, as a target sees it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::RunError;
use super::event::{Event, Events, Step};
use super::options::Options;
use super::prepared::Prepared;
use super::shown::Shown;
use crate::plan::Plan;
use crate::workload::{Mix, Site};

/// Interval between two checks for a requested stop during a preparation.
const LOOK_EVERY: Duration = Duration::from_millis(50);

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

/// Waits until a stop is requested.
pub(super) async fn asked_to_stop(options: &Options) {
    while !options.stop.is_asked() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
