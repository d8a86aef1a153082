//! Estimates how long a scenario takes, before it runs.

mod distance;

use super::model::{Closed, Knee, Load, Open, Plan, Restart, Shape, Think};
use super::network::Network;
use super::points::PointPlan;

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
/// Blocks after a load until the pools of a chain are empty and all nodes have one tip.
const CHAIN_SETTLE_BLOCKS: f64 = 4.0;
/// Time to stop and start a chain node in order to read the sizes of its database.
const CHAIN_SIZES_S: f64 = 2.0;
/// Payments a second that are written into a chain before its load: an assumption.
const HISTORY_PER_S: f64 = 20_000.0;
/// More units than these are not prepared for several stretches at once: each stretch begins with a copy.
const AHEAD_MAX: f64 = 256.0;
/// The smallest share by which a search may end, so that the estimate is finite.
const WITHIN_MIN: f64 = 0.001;

impl Plan {
    /// Returns about how many seconds it takes on a machine that keeps up, with bring-up, preparation and audits. The
    /// estimate is rough: it helps people decide whether to wait.
    pub fn seconds_expected(&self) -> f64 {
        let points = self.points().unwrap_or_default();
        let mut seconds = self.up_s() + PREPARE_S + AUDIT_S;
        if self.monitors.machine {
            seconds += MACHINE_S;
        }
        let mut shared_audit_s = 0.0;
        let mut lives: f64 = 0.0;
        for point in &points {
            let (plan, run) = (&point.plan, &point.plan.run);
            let repeats = f64::from(run.repeats);
            let stretch_s = plan.stretch_seconds_expected() + SETTLE_S + plan.distance_s();
            seconds += repeats * (run.warm_up_s + stretch_s + plan.chain_s());
            // Stretches share a preparation that is copied. Without a count, units have no preparation of their own.
            let units = run.count.unwrap_or(0) as f64;
            seconds += units * plan.unit_prepare_s() + plan.distant_preparation_s(units);
            let audit_s = units * plan.unit_audit_s();
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
            seconds += starts * plan.up_s();
            lives += plan.lives();
        }
        // The first life is that of the bring-up.
        seconds += (lives - 1.0).max(0.0) * (self.up_s() + AUDIT_S);
        seconds += self.moves_s(&points);
        seconds + f64::min(shared_audit_s, FILES_AUDIT_S_MAX)
    }

    /// Returns the seconds to bring the network up, or to restart it; 0 without one of our own.
    fn up_s(&self) -> f64 {
        match self.network.target {
            None if self.network.banks > 0 => {
                NETWORK_S + NODE_S * f64::from(self.network.banks) + self.connecting_s()
            }
            _ => 0.0,
        }
    }

    /// Returns the seconds around each stretch on a chain, which has nodes of its own and settles after the load.
    fn chain_s(&self) -> f64 {
        self.chain.as_ref().map_or(0.0, |chain| {
            let settle_s = CHAIN_SETTLE_BLOCKS * f64::from(chain.block_s);
            let up_s = NETWORK_S + NODE_S * f64::from(chain.nodes) + CHAIN_SIZES_S;
            let history_s = chain.history as f64 / HISTORY_PER_S;
            up_s + history_s + settle_s.min(chain.drain_s) + AUDIT_S
        })
    }

    /// Returns how many times a point begins a life of its network: from a copy if its units use up their preparation, or empty if it is
    /// to be fresh.
    fn lives(&self) -> f64 {
        let repeats = f64::from(self.run.repeats);
        let units = self.run.count.unwrap_or(0) as f64;
        let is_ahead = units <= AHEAD_MAX && !self.run.fresh;
        let is_copied = self.unit_prepare_s() > 0.0 && units > 0.0 && !is_ahead;
        match (is_copied, self.run.fresh) {
            (true, _) => repeats,
            (false, true) if self.run.interleave => repeats,
            (false, true) => 1.0,
            (false, false) => 0.0,
        }
    }

    /// Returns the seconds to move between networks of different kinds: each has nodes of its own, which are stopped and started.
    fn moves_s(&self, points: &[PointPlan]) -> f64 {
        let kind = |network: &Network| {
            (
                network.banks,
                network.notary,
                network.database,
                network.is_linked(),
                network.target.clone(),
            )
        };
        let pairs = points.iter().zip(points.iter().skip(1));
        let moved = pairs.filter(|(one, two)| kind(&one.plan.network) != kind(&two.plan.network));
        let moved_s: f64 = moved.map(|(_, two)| two.plan.up_s() + AUDIT_S).sum();
        match self.run.interleave {
            true => moved_s * f64::from(self.run.repeats),
            false => moved_s,
        }
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
            Load::Closed(closed) => self.distant_pace_per_s(closed),
            Load::Open(open) => mean_per_s(open),
        };
        let counted_s = self.run.count.map(|count| count as f64 / per_s);
        counted_s.map_or(self.run.seconds, |seconds| seconds.min(self.run.seconds))
    }
}

impl Plan {
    /// Returns the units a second that a closed loop is expected to complete with the delay of links.
    fn distant_pace_per_s(&self, closed: &Closed) -> f64 {
        let alone = Closed {
            outstanding: 1,
            think: Think::Fixed(0.0),
        };
        let think_s = match closed.think {
            Think::Fixed(ms) | Think::Random(ms) | Think::Uniform(ms) => ms / 1_000.0,
        };
        let latency_s = 1.0 / self.pace_per_s(&alone) + self.distance_s();
        let by_workers = f64::from(closed.outstanding) / (latency_s + think_s);
        by_workers.min(self.pace_per_s(closed))
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
