//! What a point needs prepared, and whether another point has needed the same.

use crate::plan::{Load, Plan, Shape};
use crate::workload::Mix;

/// Units a second that a closed loop may come to, for all that is known before it runs.
const PER_S_GUESSED: f64 = 200.0;

/// See the module.
pub(super) struct Prepared {
    /// The same for points that can share a preparation.
    pub key: String,
    /// Units that a stretch will run, about.
    pub units: u64,
    needed: bool,
}

impl Prepared {
    /// Of a point.
    pub fn of(plan: &Plan, mix: &Mix) -> Self {
        let units = units(plan);
        let key = mix.preparation(units);
        Self {
            needed: key.is_some(),
            key: format!("{} {}", plan.seed, key.unwrap_or_default()),
            units,
        }
    }

    /// Whether there is something to prepare, which then begins on an empty network.
    pub fn needs_clean(&self) -> bool {
        self.needed
    }
}

/// Units that a stretch of this scenario runs, about, its warm-up included.
fn units(plan: &Plan) -> u64 {
    let run = &plan.run;
    let seconds = run.warm_up_s + run.seconds;
    let of_shape = |shape: &Shape| match shape {
        Shape::Constant(per_s) => per_s * seconds,
        Shape::Ramp { from, to } => from * run.warm_up_s + (from + to) / 2.0 * run.seconds,
        Shape::Steps(steps) => {
            let first = steps.first().map_or(0.0, |step| step.per_s);
            let all: f64 = steps.iter().map(|step| step.per_s * step.seconds).sum();
            first * run.warm_up_s + all
        }
    };
    let by_time = match &plan.load {
        Load::Open(open) => of_shape(&open.shape),
        Load::Knee(knee) => knee.to_per_s * seconds,
        Load::Closed(_) => PER_S_GUESSED * seconds,
    };
    let by_time = by_time.ceil().max(1.0) as u64;
    match run.count {
        None => by_time,
        Some(count) if run.warm_up_s <= 0.0 => count,
        // How many the warm-up runs nobody knows; a quarter again is what it usually stays under.
        Some(count) => count.saturating_add(count / 4).saturating_add(100),
    }
}
