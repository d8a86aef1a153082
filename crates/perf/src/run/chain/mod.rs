//! The course of a scenario about a chain. Each stretch has its own chain, from its genesis to its audit. A target's
//! chain goes on.
//!
//! ```text
//! nodes up -> balances noted -> load, look-outs on every node -> pools empty -> forging stops -> one tip -> audit -> result
//!          -> size of the first node's database: exported, after a shutdown, after a restart
//! ```
//! The steps after the load belong to every stretch, even after a failure.

mod ground;
mod settle;
mod sizes;
mod stretch;
mod sync;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use super::error::RunError;
use super::event::Events;
use super::schedule::turns;
use super::{Options, label, samples_labels};
use crate::plan::{Plan, PointPlan};
use crate::report::Jtl;
use crate::results::Point;
use ground::Ground;
use stretch::Measure;
pub use sync::{Synced, sync};

/// The name of payments among kinds of work.
const LABEL: &str = "payment";

/// A scenario in progress.
pub(super) struct Course<'a> {
    pub plan: &'a Plan,
    pub options: &'a Options,
    pub events: &'a Events,
    pub points: &'a [PointPlan],
    /// Executables of points that have their own.
    pub binaries: &'a [Option<PathBuf>],
    /// The origin of the time axis.
    pub epoch: Instant,
    /// The results, point by point.
    pub results: &'a mut [Point],
    /// The destination of every unit, if samples are written.
    pub jtl: Option<&'a mut Jtl>,
}

impl Course<'_> {
    /// Runs every turn, or as many as can be.
    pub async fn run(mut self) -> Result<(), RunError> {
        let run = &self.plan.run;
        let units = Arc::new(AtomicU64::new(0));
        let all = turns(
            self.points.len(),
            run.repeats,
            run.interleave,
            self.plan.seed,
        );
        let count = all.len();
        for (at, turn) in all.into_iter().enumerate() {
            if self.options.stop.is_asked() {
                break;
            }
            let point = &self.points[turn.point];
            let Some(chain) = &point.plan.chain else {
                // A sweep cannot take the chain out of a scenario.
                continue;
            };
            let binary = self.binaries.get(turn.point).cloned().flatten();
            let binary = binary.unwrap_or_else(|| self.options.binary.clone());
            let mut ground = Ground::begin(chain, binary, self.events).await?;
            let repeat = (run.repeats > 1).then_some(turn.repeat);
            let labels = [LABEL.to_owned()];
            let outstanding = super::stretch::outstanding(&point.plan.load);
            let called = samples_labels(&labels, &point.at);
            let samples = self
                .jtl
                .as_mut()
                .map(|jtl| jtl.stretch(&called, outstanding));
            let measure = Measure {
                plan: &point.plan,
                chain,
                ground: &ground,
                label: label(&point.at, repeat),
                labels: labels.to_vec(),
                epoch: self.epoch,
                units: Arc::clone(&units),
                seed: self
                    .plan
                    .seed
                    .wrapping_add(u64::from(turn.repeat) << 32 | turn.point as u64),
                stop: self.options.stop.clone(),
                samples,
                events: self.events,
            };
            let measured = measure.run().await;
            let died = ground.died();
            let keep = self.options.keep && at + 1 == count;
            if let Ok(mut measured) = measured {
                // A network that is kept stays as the load left it.
                if let Some(chain) = measured.stretch.chain.as_mut()
                    && died.is_none()
                    && !keep
                {
                    chain.sizes = ground.store_sizes(chain.transactions, self.events).await?;
                }
                let results = &mut self.results[turn.point];
                results.stretches.push(measured.stretch);
                results.audits.push(measured.audit);
            } else if let Err(error) = measured {
                // A node that ended explains more than the failure that followed.
                return Err(died.unwrap_or(error));
            }
            ground.end(keep, self.events).await;
            if let Some(died) = died {
                return Err(died);
            }
        }
        Ok(())
    }
}
