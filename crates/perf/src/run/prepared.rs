//! The preparation that a point needs, and whether points can share it.

use std::sync::Arc;

use crate::plan::pace::PER_S_GUESSED;
use crate::plan::{Load, Plan, Shape};
use crate::workload::Mix;

/// Upper limit on units prepared ahead for several stretches. A few units are quicker to prepare than a copy of a whole
/// network is to restore; many are not.
const AHEAD_MAX: u64 = 256;

/// The preparation of a point.
pub(super) struct Prepared {
    /// Equal for points that can share a preparation.
    pub key: String,
    /// Approximate number of units that a stretch will run, including its warm-up.
    pub units: u64,
    /// Approximate number of units of the warm-up.
    pub warm_up: u64,
    needed: bool,
    /// Whether it supports only a limited number of units.
    limited: bool,
}

impl Prepared {
    /// Determines the preparation of a point.
    pub fn of(plan: &Plan, mix: &Mix) -> Self {
        let (warm_up, measured) = (warm_up(plan), measured(plan));
        // Clipped: more units than 64 bits count are never run.
        let units = warm_up.saturating_add(measured);
        let key = mix.preparation(units);
        Self {
            needed: key.is_some(),
            // One unit more may leave the share of a kind in a mix as it is.
            limited: key != mix.preparation(units.saturating_mul(2).saturating_add(1)),
            key: format!("{} {}", plan.seed, key.unwrap_or_default()),
            units,
            warm_up,
        }
    }

    /// Returns the upper limit on units of a closed loop's warm-up, if units use up the preparation.
    pub fn warm_up_max(&self) -> Option<u64> {
        self.limited.then_some(self.warm_up)
    }

    /// Returns the upper limit on measured units, if units use up the preparation.
    pub fn measured_max(&self) -> Option<u64> {
        let measured = self.units - self.warm_up;
        self.limited.then_some(measured)
    }

    /// Returns whether there is anything to prepare.
    pub fn is_needed(&self) -> bool {
        self.needed
    }

    /// Returns whether a stretch uses it up, so that the next one needs another.
    pub fn is_used_up(&self) -> bool {
        self.needed && self.limited
    }

    /// Returns whether its units are few enough to be prepared for several stretches at once.
    pub fn is_made_ahead(&self) -> bool {
        self.is_used_up() && self.units <= AHEAD_MAX
    }

    /// Returns the number of units to prepare at once, for its stretch and those of `later` that can share them.
    pub fn units_ahead(&self, later: &[Arc<Self>]) -> u64 {
        let same = later.iter().filter(|later| later.key == self.key);
        // Clipped: the limit below is far lower.
        let units = self.units.saturating_mul(1 + same.count() as u64);
        units.min(AHEAD_MAX.max(self.units))
    }

    /// Returns whether a copy is useful: a later stretch needs it again after another preparation has replaced it. With `fresh`
    /// each point replaces it.
    pub fn is_needed_again(&self, later: &[Arc<Self>], fresh: bool) -> bool {
        let same = |later: &Arc<Self>| later.key == self.key;
        let others = later.iter().any(|later| later.needed && !same(later));
        let is_replaced = self.is_used_up() || fresh || others;
        self.needed && is_replaced && later.iter().any(same)
    }
}

/// Returns the approximate number of units of the warm-up.
fn warm_up(plan: &Plan) -> u64 {
    let run = &plan.run;
    if run.warm_up_s <= 0.0 {
        return 0;
    }
    match (&plan.load, run.count) {
        // The rate is unknown before the run. A quarter of the measured units is enough.
        (Load::Closed(_), Some(count)) => count.div_ceil(4),
        (Load::Closed(_), None) => whole(PER_S_GUESSED * run.warm_up_s),
        (Load::Open(open), _) => arrivals(rate_at_first(&open.shape) * run.warm_up_s),
        (Load::Knee(knee), _) => arrivals(knee.to_per_s * run.warm_up_s),
    }
}

/// Returns the approximate number of measured units.
fn measured(plan: &Plan) -> u64 {
    let run = &plan.run;
    let by_time = match &plan.load {
        Load::Closed(_) => whole(PER_S_GUESSED * run.seconds),
        Load::Open(open) => arrivals(match &open.shape {
            Shape::Constant(per_s) => per_s * run.seconds,
            Shape::Ramp { from, to } => (from + to) / 2.0 * run.seconds,
            Shape::Steps(steps) => steps.iter().map(|step| step.per_s * step.seconds).sum(),
        }),
        Load::Knee(knee) => arrivals(knee.to_per_s * run.seconds),
    };
    match (&plan.load, run.count) {
        (Load::Closed(_), Some(count)) => count,
        (_, Some(count)) => count.min(by_time),
        (_, None) => by_time,
    }
}

fn rate_at_first(shape: &Shape) -> f64 {
    match shape {
        Shape::Constant(per_s) => *per_s,
        Shape::Ramp { from, .. } => *from,
        Shape::Steps(steps) => steps.first().map_or(0.0, |step| step.per_s),
    }
}

/// Returns the mean number of arrivals plus six standard deviations, since arrivals may be random.
fn arrivals(mean: f64) -> u64 {
    whole(mean + 6.0 * mean.max(0.0).sqrt())
}

fn whole(units: f64) -> u64 {
    units.ceil().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{NoChecks, Options, parse};
    use crate::workload::Workloads;

    fn prepared(work: &str, load: &str, run: &str) -> Prepared {
        read(&format!("[work]\n{work}\n[load]\n{load}\n[run]\n{run}"))
    }

    fn read(text: &str) -> Prepared {
        let text = format!("title = 'x'\n[network]\nbanks = 2\n{text}\n");
        let plan = parse("x", "x", text.as_bytes(), &Options::default(), &NoChecks)
            .unwrap_or_else(|error| panic!("{error}"));
        let mix = Mix::new(&Workloads::shipped(), &plan.work, 1).expect("shipped kinds");
        Prepared::of(&plan, &mix)
    }

    #[test]
    fn units_of_each_load() {
        let closed = "outstanding = 8";
        for (load, run, warm_up, units) in [
            (closed, "count = 400\nwarm_up_s = 1", 100, 500),
            (closed, "count = 400\nwarm_up_s = 0", 0, 400),
            (closed, "seconds = 2\nwarm_up_s = 1", 200, 600),
            ("rate = 100", "seconds = 1\nwarm_up_s = 0", 0, 160),
        ] {
            let prepared = prepared("kind = 'transfer'\ndepth = 2", load, run);
            assert!(prepared.is_used_up());
            assert_eq!(
                (prepared.warm_up, prepared.units),
                (warm_up, units),
                "{load} {run}"
            );
            assert_eq!(prepared.measured_max(), Some(units - warm_up));
        }
    }

    #[test]
    fn one_kind_of_a_mix_that_is_used_up_limits_the_mix() {
        for count in 100..110 {
            let prepared = read(&format!(
                "[[work]]\nkind = 'transfer'\n[[work]]\nkind = 'pay'\nweight = 3\n\
                 [load]\noutstanding = 8\n[run]\ncount = {count}\nwarm_up_s = 0"
            ));
            assert!(prepared.is_used_up(), "{count}");
            assert_eq!(prepared.measured_max(), Some(count));
        }
    }

    #[test]
    fn what_is_not_used_up_is_shared_and_has_no_end() {
        let run = |seconds: u32| {
            prepared(
                "kind = 'pay'",
                "outstanding = 8",
                &format!("seconds = {seconds}"),
            )
        };
        assert_eq!(run(1).key, run(2).key);
        assert_eq!(run(1).measured_max(), None);
        let none = prepared("kind = 'issue'", "outstanding = 8", "seconds = 1");
        assert!(!none.is_needed() && none.warm_up_max().is_none());
        assert!(run(1).is_needed() && !run(1).is_used_up());
    }
    #[test]
    fn a_copy_is_kept_if_it_is_needed_after_another_preparation() {
        let of = |work: &str| {
            Arc::new(prepared(
                work,
                "outstanding = 1",
                "count = 100\nwarm_up_s = 0",
            ))
        };
        let (coins, chains) = ("kind = 'pay'", "kind = 'transfer'");
        let (dollars, none) = ("kind = 'pay'\ncurrency = 'USD'", "kind = 'issue'");
        for (work, later, fresh, expected) in [
            (coins, &[coins][..], false, false),
            (coins, &[coins], true, true),
            (coins, &[none, coins], false, false),
            (coins, &[dollars, coins], false, true),
            (coins, &[dollars], false, false),
            (chains, &[chains], false, true),
            (chains, &[coins], true, false),
            (none, &[coins, none], true, false),
        ] {
            let later: Vec<Arc<Prepared>> = later.iter().map(|work| of(work)).collect();
            let again = of(work).is_needed_again(&later, fresh);
            assert_eq!(again, expected, "{work} {fresh}");
        }
    }

    #[test]
    fn few_units_are_made_ahead_for_all_stretches_up_to_a_limit() {
        for (count, stretches, units) in
            [(100, 1, 100), (100, 2, 200), (100, 9, 256), (300, 2, 300)]
        {
            let run = format!("count = {count}\nwarm_up_s = 0");
            let of = || prepared("kind = 'transfer'", "outstanding = 1", &run);
            let later: Vec<Arc<Prepared>> = (1..stretches).map(|_| Arc::new(of())).collect();
            assert_eq!(of().units_ahead(&later), units, "{count} {stretches}");
            assert_eq!(of().is_made_ahead(), count <= AHEAD_MAX);
        }
    }
}
