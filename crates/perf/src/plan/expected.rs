//! About how long a scenario takes, before it has run.

use super::model::{Plan, Restart};

/// Measuring the machine's limits.
const MACHINE_S: f64 = 3.0;
/// A network comes up: the first node, and each further one.
const NETWORK_S: f64 = 1.5;
const NODE_S: f64 = 0.3;
/// Preparing the work, and an audit of what it left.
const PREPARE_S: f64 = 2.0;
const AUDIT_S: f64 = 2.0;
/// After each stretch, until all have seen all.
const SETTLE_S: f64 = 0.3;

impl Plan {
    /// Seconds that it takes at most on a machine that keeps up, with bring-up, preparation and audits; what is counted,
    /// not timed, may end earlier. Rough: it is for people who wonder whether to wait.
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
        for point in &points {
            let run = &point.plan.run;
            let repeats = f64::from(run.repeats);
            let warm_ups = if run.interleave { repeats } else { 1.0 };
            seconds += warm_ups * run.warm_up_s + repeats * (run.seconds + SETTLE_S + chain_s);
            let starts = match run.restart {
                Restart::Needed => 0.0,
                Restart::Points => 1.0,
                Restart::Repeats => repeats,
            };
            seconds += starts * up_s;
        }
        seconds
    }
}
