//! The self-test on the fake target, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use super::outcome::{COMPARISONS, Planted, Tried};
use crate::fake::{Behaviour, ServiceTime, Target};
use crate::load::engine::{Chance, LoadEnvironment, Settings, UNFINISHED_AFTER, Virtual, stretch};
use crate::plan::{Closed, Load, Think};
use crate::results::Stretch;
use crate::stats::{Case, CompareError, Comparison, Design, Side, Verdict, compare};

/// Pairs of each comparison.
const PAIRS: u32 = 12;
/// Units of a stretch: their mean latency is then about 2 % uncertain.
const UNITS: u64 = 2_500;
const OUTSTANDING: u32 = 8;
const SERVICE_MS: f64 = 5.0;
/// Approximate random variation of stretches due to the machine.
const WEATHER: f64 = 0.02;
/// The share of that variation that carries over to the next stretch.
const STAYS: f64 = 0.9;
/// Separates this use of a seed from others.
const COINS: u64 = 0x7365_6c66_0000;

/// Compares identical targets twenty times.
pub fn on_fake(seed: u64) -> Tried {
    let mut tried = Tried {
        comparisons: COMPARISONS,
        pairs: PAIRS,
        ..Tried::default()
    };
    for number in 0..u64::from(COMPARISONS) {
        tried.note(number + 1, &compared(seed.wrapping_add(number), 1.0));
    }
    tried
}

/// Compares a target with one whose service takes `planted` times as long.
pub fn planted(seed: u64, planted: f64) -> Planted {
    let comparison = compared(seed.wrapping_add(u64::from(COMPARISONS)), planted);
    let metrics = comparison.iter().flat_map(|comparison| &comparison.metrics);
    let mean = metrics
        .into_iter()
        .find(|metric| metric.metric == "mean_ms");
    let right = if planted >= 1.0 {
        Verdict::Higher
    } else {
        Verdict::Lower
    };
    Planted {
        planted,
        measured: mean.map_or(0.0, |mean| mean.change.value),
        found: mean.is_some_and(|mean| mean.verdict == right),
        seen_from: mean.and_then(|mean| mean.seen_from),
    }
}

fn compared(seed: u64, factor: f64) -> Result<Comparison, CompareError> {
    let mut chance = Chance::new(seed, COINS);
    let mut weather = 0.0;
    let mut stretches = vec![Vec::new(), Vec::new()];
    for _ in 0..PAIRS {
        let first = usize::from(chance.share() < 0.5);
        for side in [first, 1 - first] {
            // The sum of two uniform shares, less one: centred on zero with a standard deviation of 0.41.
            let fresh = (chance.share() + chance.share() - 1.0) / 0.41;
            weather = STAYS * weather + (1.0 - STAYS * STAYS).sqrt() * fresh;
            let slower = if side == 1 { factor } else { 1.0 };
            let ms = SERVICE_MS * slower * (WEATHER * weather).exp();
            stretches[side].push(one(ms, chance.next_u64()));
        }
    }
    let side = |name: &str| Side {
        name: name.to_owned(),
        about: "the fake target".to_owned(),
    };
    let case = Case {
        at: String::new(),
        stretches,
    };
    compare(vec![side("A"), side("B")], &[case], Design::Random, seed)
}

/// Runs a stretch on its own target.
fn one(ms: f64, seed: u64) -> Stretch {
    let behaviour = Behaviour {
        service: ServiceTime::Exponential(ms),
        slots: Some(OUTSTANDING),
        seed,
        ..Behaviour::default()
    };
    let load = Load::Closed(Closed {
        outstanding: OUTSTANDING,
        think: Think::Fixed(0.0),
    });
    let settings = Settings {
        warm_up: Duration::ZERO,
        measured: Duration::from_secs(3600),
        count: Some(UNITS),
        seed,
        labels: vec!["fake".to_owned()],
        unfinished_after: UNFINISHED_AFTER,
    };
    let clock = Virtual::default();
    clock.run(async {
        let target = Arc::new(Target::new(&clock, behaviour));
        stretch(
            &clock,
            &target,
            &load,
            &settings,
            &LoadEnvironment::default(),
            async {},
        )
        .await
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_comparisons_of_the_same_find_nothing_and_five_percent_are_found() {
        let tried = on_fake(1);
        assert_eq!(
            (tried.comparisons, tried.false_findings),
            (20, 0),
            "{:?}",
            tried.found
        );
        let five = planted(1, 1.05);
        assert!(five.found, "{five:?}");
        assert!((five.measured - 1.05).abs() < 0.03, "{five:?}");
        assert!(five.seen_from.is_some_and(|ratio| ratio < 1.05), "{five:?}");
    }
}
