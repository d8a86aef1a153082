//! The shipped scenarios.

use crate::plan::{NoChecks, Options, SHIPPED, open};

#[test]
fn every_shipped_scenario_loads_small_and_full_and_has_its_points() {
    for shipped in SHIPPED {
        for full in [false, true] {
            let options = Options {
                full,
                set: Vec::new(),
            };
            let plan = open(shipped.name, &options, &NoChecks)
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
