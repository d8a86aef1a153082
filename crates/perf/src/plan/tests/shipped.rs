//! The shipped scenarios.

use crate::plan::{Checks, KnobError, Network, Options, SHIPPED, Work, open};
use crate::workload::Workloads;

/// Checks knobs with the shipped kinds of work.
struct Shipped(Workloads);

impl Checks for Shipped {
    fn work(&self, work: &Work, network: &Network) -> Result<(), KnobError> {
        let wrong = |key: &str, message: String| KnobError {
            key: Some(key.to_owned()),
            message,
        };
        let made = self.0.make(&work.kind, &work.knobs);
        let made = made.map_err(|error| wrong(&error.knob, error.message.clone()))?;
        match made.banks_min() <= network.banks {
            true => Ok(()),
            false => Err(wrong("kind", format!("{} banks", made.banks_min()))),
        }
    }
}

#[test]
fn every_shipped_scenario_loads_small_and_full_and_has_its_points() {
    for shipped in SHIPPED {
        for full in [false, true] {
            let options = Options {
                full,
                set: Vec::new(),
            };
            let plan = open(shipped.name, &options, &Shipped(Workloads::shipped()))
                .unwrap_or_else(|error| panic!("{}: {error}", shipped.name));
            assert_eq!(plan.name, shipped.name);
            assert!(
                !plan.about.is_empty() && plan.title != plan.name,
                "{}",
                shipped.name
            );
            assert!(!plan.points().expect("points").is_empty());
        }
    }
}

/// Scenarios with published figures whose full size has fewer repeats or units than others, and why.
const EXCEPTIONS: [(&str, &str); 7] = [
    ("chain-demo", "it is one minute at any size"),
    (
        "chain-published",
        "each run was published once, and takes an hour",
    ),
    (
        "chain-rate",
        "a repeat takes ten minutes on chains of its own",
    ),
    ("chain-soak", "one run takes 17 days"),
    ("attachments-gateway", "files fill the disk"),
    ("attachments-limits", "files fill the disk"),
    ("attachments-sizes", "files fill the disk"),
];

#[test]
fn published_figures_are_measured_long_enough_at_full_size() {
    const REPEATS_MIN: u32 = 5;
    const SECONDS_MIN: f64 = 60.0;
    const UNITS_MIN: u64 = 1_000;
    let mut excepted = Vec::new();
    for shipped in SHIPPED {
        let options = Options {
            full: true,
            set: Vec::new(),
        };
        let plan = open(shipped.name, &options, &Shipped(Workloads::shipped()));
        let plan = plan.unwrap_or_else(|error| panic!("{}: {error}", shipped.name));
        if plan.published.is_empty() {
            continue;
        }
        let points = plan.points().expect("points");
        let is_long = points.iter().all(|point| {
            let run = &point.plan.run;
            let has_units = run.count.is_none_or(|count| count >= UNITS_MIN);
            run.repeats >= REPEATS_MIN && run.seconds >= SECONDS_MIN && has_units
        });
        let exception = EXCEPTIONS.iter().find(|(name, _)| *name == shipped.name);
        assert_eq!(is_long, exception.is_none(), "{}", shipped.name);
        excepted.extend(exception.map(|(name, _)| *name));
    }
    assert_eq!(excepted.len(), EXCEPTIONS.len(), "{excepted:?}");
}
