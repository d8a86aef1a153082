//! Estimates how long a scenario takes, before it runs.

use super::model::{Plan, Restart};

/// Time to measure the machine's limits.
const MACHINE_S: f64 = 3.0;
/// Time to bring up a network: the first node, and each further one.
const NETWORK_S: f64 = 1.5;
const NODE_S: f64 = 0.3;
/// Time to prepare the work, and to audit the network afterwards.
const PREPARE_S: f64 = 2.0;
const AUDIT_S: f64 = 2.0;
/// Time after each stretch, until all nodes have caught up.
const SETTLE_S: f64 = 0.3;

impl Plan {
    /// Returns the maximum seconds that it takes on a machine that keeps up, with bring-up, preparation and audits.
    /// Stretches that count units may end earlier. The estimate is rough: it helps people decide whether to wait.
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
