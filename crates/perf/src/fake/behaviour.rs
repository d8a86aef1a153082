//! Settings of a fake target.

use std::time::Duration;

use crate::load::engine::Chance;

/// Upper limit on tries of one unit.
const TRIES_MAX: u32 = 10;

/// The service time of one attempt, without queueing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServiceTime {
    /// Always the same, milliseconds.
    Constant(f64),
    /// Exponentially distributed with this mean, milliseconds.
    Exponential(f64),
    /// Mostly one time, sometimes another, milliseconds.
    Bimodal {
        /// The usual time.
        fast_ms: f64,
        /// The time of the slow ones.
        slow_ms: f64,
        /// The share of the slow ones, 0 to 1.
        slow_share: f64,
    },
}

/// A periodic stall of the whole target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    /// Period of the stalls, seconds. The first begins after one period.
    pub every_s: f64,
    /// Length of each stall, milliseconds, less than the period.
    pub ms: f64,
}

/// The behaviour of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Behaviour {
    /// The service time of one attempt.
    pub service: ServiceTime,
    /// Units served concurrently; others wait in order. `None` serves all at once.
    pub slots: Option<u32>,
    /// Upper limit on waiting units. A further one is refused at once, with `fake.busy`.
    pub waiting_max: u32,
    /// The stalls, if any.
    pub stall: Option<Stall>,
    /// Error codes of units that fail at the end of their service, each with its share of all units, 0 to 1.
    pub errors: Vec<(String, f64)>,
    /// The share of tries that are repeated, up to ten tries per unit.
    pub retry_share: f64,
    /// The seed of all random choices.
    pub seed: u64,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            service: ServiceTime::Constant(1.0),
            slots: None,
            waiting_max: u32::MAX,
            stall: None,
            errors: Vec::new(),
            retry_share: 0.0,
            seed: 1,
        }
    }
}

/// The properties of one unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// All its tries together.
    pub service: Duration,
    pub retries: u32,
    /// The error code if it fails.
    pub error: Option<String>,
}

impl Behaviour {
    pub(super) fn unit(&self, number: u64) -> Unit {
        let mut chance = Chance::new(self.seed, number);
        let error = self.error(chance.share());
        let mut service = self.one_try(&mut chance);
        let mut retries = 0;
        while retries + 1 < TRIES_MAX && chance.share() < self.retry_share {
            retries += 1;
            service += self.one_try(&mut chance);
        }
        Unit {
            service,
            retries,
            error,
        }
    }

    fn one_try(&self, chance: &mut Chance) -> Duration {
        let ms = match self.service {
            ServiceTime::Constant(ms) => ms,
            ServiceTime::Exponential(mean_ms) => chance.exponential(mean_ms),
            ServiceTime::Bimodal {
                fast_ms,
                slow_ms,
                slow_share,
            } => {
                if chance.share() < slow_share {
                    slow_ms
                } else {
                    fast_ms
                }
            }
        };
        milliseconds(ms)
    }

    fn error(&self, mut share: f64) -> Option<String> {
        for (code, of_all) in &self.errors {
            if share < *of_all {
                return Some(code.clone());
            }
            share -= of_all;
        }
        None
    }
}

/// Converts a float to a time. Invalid values give zero.
pub(super) fn milliseconds(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms.max(0.0) / 1000.0).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_as_set_and_follow_from_the_number() {
        let behaviour = Behaviour {
            service: ServiceTime::Bimodal {
                fast_ms: 1.0,
                slow_ms: 100.0,
                slow_share: 0.1,
            },
            errors: vec![("fake.one".into(), 0.02), ("fake.two".into(), 0.05)],
            ..Behaviour::default()
        };
        let count = 100_000u64;
        let units: Vec<Unit> = (0..count).map(|number| behaviour.unit(number)).collect();
        let share = |is: &dyn Fn(&Unit) -> bool| {
            units.iter().filter(|unit| is(unit)).count() as f64 / count as f64
        };
        assert!((share(&|unit| unit.error.as_deref() == Some("fake.one")) - 0.02).abs() < 0.002);
        assert!((share(&|unit| unit.error.as_deref() == Some("fake.two")) - 0.05).abs() < 0.003);
        assert!((share(&|unit| unit.service > milliseconds(1.0)) - 0.1).abs() < 0.004);
        assert_eq!(units[77], behaviour.unit(77));
    }

    #[test]
    fn tries_are_bounded() {
        let behaviour = Behaviour {
            retry_share: 1.0,
            ..Behaviour::default()
        };
        let unit = behaviour.unit(1);
        assert_eq!((unit.retries, unit.service), (9, milliseconds(10.0)));
    }
}
