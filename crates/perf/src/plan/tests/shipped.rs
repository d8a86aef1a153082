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
