//! Estimates how long a scenario takes, before it runs.

use super::model::{Knee, Load, Open, Plan, Restart, Shape};

/// Time to measure the machine's limits.
const MACHINE_S: f64 = 3.0;
/// Time to bring up a network: the first node, and each further one.
const NETWORK_S: f64 = 1.5;
const NODE_S: f64 = 0.3;
/// Time to prepare the work, and to audit the network afterwards.
const PREPARE_S: f64 = 2.0;
const AUDIT_S: f64 = 2.0;
/// Upper limit on the time of an audit that reads files back: it reads a sample of more.
const FILES_AUDIT_S_MAX: f64 = 30.0;
/// Time after each stretch, until all nodes have caught up.
const SETTLE_S: f64 = 0.3;
/// The smallest share by which a search may end, so that the estimate is finite.
const WITHIN_MIN: f64 = 0.001;

impl Plan {
    /// Returns about how many seconds it takes on a machine that keeps up, with bring-up, preparation and audits. The
    /// estimate is rough: it helps people decide whether to wait.
    pub fn seconds_expected(&self) -> f64 {
        let points = self.points().unwrap_or_default();
        // Each stretch on a chain has nodes of its own, and waits for a few blocks after the load.
        let chain_s = self.chain.as_ref().map_or(0.0, |chain| {
            NETWORK_S + NODE_S * f64::from(chain.nodes) + 3.0 * f64::from(chain.block_s) + AUDIT_S
        });
        let up_s = match self.network.target {
            None if self.network.banks > 0 => NETWORK_S + NODE_S * f64::from(self.network.banks),
            _ => 0.0,
        };
        let mut seconds = up_s + PREPARE_S + AUDIT_S;
        if self.monitors.machine {
            seconds += MACHINE_S;
        }
        let mut shared_audit_s = 0.0;
        for point in &points {
            let (plan, run) = (&point.plan, &point.plan.run);
            let repeats = f64::from(run.repeats);
            let warm_ups = if run.interleave { repeats } else { 1.0 };
            let stretch_s = plan.stretch_seconds_expected();
            seconds += warm_ups * run.warm_up_s + repeats * (stretch_s + SETTLE_S + chain_s);
            // Stretches share a preparation that is copied. Without a count, units have no preparation of their own.
            seconds += run.count.unwrap_or(0) as f64 * plan.unit_prepare_s();
            let audit_s = run.count.unwrap_or(0) as f64 * plan.unit_audit_s();
            match run.fresh {
                // Each stretch begins with the prepared network, so the one before it is audited.
                true => seconds += repeats * audit_s.min(FILES_AUDIT_S_MAX),
                false => shared_audit_s += repeats * audit_s,
            }
            let starts = match run.restart {
                Restart::Needed => 0.0,
                Restart::Points => 1.0,
                Restart::Repeats => repeats,
            };
            seconds += starts * up_s;
        }
        seconds + f64::min(shared_audit_s, FILES_AUDIT_S_MAX)
    }

    /// Returns about how many seconds one stretch measures: until its units are done if it counts them, or else its set
    /// time. A search repeats its warm-up and that time for each rate.
    pub fn stretch_seconds_expected(&self) -> f64 {
        let per_s = match &self.load {
            Load::Knee(knee) => {
                let (trials, warm_up_s) = (trials_expected(knee), self.run.warm_up_s);
                // The caller counts the warm-up of the first trial.
                return trials * (self.run.seconds + warm_up_s) - warm_up_s;
            }
            Load::Closed(closed) => self.pace_per_s(closed),
            Load::Open(open) => mean_per_s(open),
        };
        let counted_s = self.run.count.map(|count| count as f64 / per_s);
        counted_s.map_or(self.run.seconds, |seconds| seconds.min(self.run.seconds))
    }
}

/// Returns the number of rates that a search is expected to try: it doubles the rate, then halves the interval.
fn trials_expected(knee: &Knee) -> f64 {
    let doublings = (knee.to_per_s / knee.from_per_s.max(f64::MIN_POSITIVE)).log2();
    let halvings = (2f64.ln() / (1.0 + knee.within.max(WITHIN_MIN)).ln()).log2();
    2.0 + doublings.max(0.0) + halvings.max(0.0)
}

/// Returns the mean rate of an open loop. It is above 0, since a scenario without arrivals is refused.
fn mean_per_s(open: &Open) -> f64 {
    match &open.shape {
        Shape::Constant(per_s) => *per_s,
        Shape::Ramp { from, to } => f64::midpoint(*from, *to),
        Shape::Steps(steps) => {
            let units: f64 = steps.iter().map(|step| step.per_s * step.seconds).sum();
            units / steps.iter().map(|step| step.seconds).sum::<f64>()
        }
    }
}
