//! The due times of units in an open loop. They are fixed before anything starts, independent of the system's behaviour.

use std::time::Duration;

use super::chance::Chance;
use crate::plan::{Open, Shape};

/// A part of a schedule with a linearly changing rate.
#[derive(Clone, Copy, Debug)]
struct Leg {
    seconds: f64,
    from: f64,
    to: f64,
}

impl Leg {
    /// Returns the units due within it.
    fn units(&self) -> f64 {
        (self.from + self.to) / 2.0 * self.seconds
    }

    /// Returns the seconds into it at which `units` of it are due: the inverse of `from t + (to - from) t^2 / (2
    /// seconds)`.
    fn seconds_at(&self, units: f64) -> f64 {
        let slope = (self.to - self.from) / self.seconds;
        if slope.abs() < f64::EPSILON * self.from.abs().max(1.0) {
            return units / self.from;
        }
        let root = (self.from * self.from + 2.0 * slope * units).max(0.0);
        // This form of the root loses no digits when the slope is small.
        2.0 * units / (self.from + root.sqrt())
    }
}

/// Due times, counted from the schedule's beginning, in order.
#[derive(Clone, Debug)]
pub struct Schedule {
    legs: Vec<Leg>,
    leg: usize,
    /// Units of earlier legs, and seconds of them.
    units_before: f64,
    seconds_before: f64,
    /// Units due before the next one, were they evenly spaced.
    units: f64,
    poisson: Option<Chance>,
}

impl Schedule {
    /// Creates the schedule of an open loop's measured time, at most `seconds`. Steps may end earlier.
    pub fn measured(open: &Open, seconds: f64, seed: u64) -> Self {
        let legs = match &open.shape {
            Shape::Constant(per_s) => vec![flat(seconds, *per_s)],
            Shape::Ramp { from, to } => vec![Leg {
                seconds,
                from: *from,
                to: *to,
            }],
            Shape::Steps(steps) => {
                let mut left = seconds;
                let mut legs = Vec::new();
                for step in steps {
                    legs.push(flat(step.seconds.min(left), step.per_s));
                    left = (left - step.seconds).max(0.0);
                }
                legs
            }
        };
        Self::new(legs, open.poisson.then(|| Chance::new(seed, 1)))
    }

    /// Creates the schedule of the warm-up: the initial rate of the measured time.
    pub fn warm_up(open: &Open, seconds: f64, seed: u64) -> Self {
        let per_s = match &open.shape {
            Shape::Constant(per_s) => *per_s,
            Shape::Ramp { from, .. } => *from,
            Shape::Steps(steps) => steps.first().map_or(0.0, |step| step.per_s),
        };
        let chance = open.poisson.then(|| Chance::new(seed, 2));
        Self::new(vec![flat(seconds, per_s)], chance)
    }

    fn new(legs: Vec<Leg>, poisson: Option<Chance>) -> Self {
        let legs = legs.into_iter();
        let mut schedule = Self {
            // Legs without units or time, and legs with NaN values, have no due units.
            legs: legs
                .filter(|leg| leg.seconds > 0.0 && leg.from >= 0.0 && leg.to >= 0.0)
                .collect(),
            leg: 0,
            units_before: 0.0,
            seconds_before: 0.0,
            units: 0.0,
            poisson,
        };
        // With random arrivals, the first unit also comes after a gap.
        if let Some(chance) = &mut schedule.poisson {
            schedule.units = chance.exponential(1.0);
        }
        schedule
    }

    /// Returns its length.
    pub fn length(&self) -> Duration {
        seconds(self.legs.iter().map(|leg| leg.seconds).sum())
    }
}

impl Iterator for Schedule {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        loop {
            let leg = self.legs.get(self.leg)?;
            let within = self.units - self.units_before;
            // A unit due at the very end of a leg belongs to the next one. The tolerance ignores rounding errors.
            if within + 1e-9 < leg.units() {
                let at = self.seconds_before + leg.seconds_at(within.max(0.0));
                self.units += match &mut self.poisson {
                    Some(chance) => chance.exponential(1.0),
                    None => 1.0,
                };
                return Some(seconds(at));
            }
            self.units_before += leg.units();
            self.seconds_before += leg.seconds;
            self.leg += 1;
        }
    }
}

fn flat(seconds: f64, per_s: f64) -> Leg {
    Leg {
        seconds,
        from: per_s,
        to: per_s,
    }
}

/// Converts a float to a time. A plan holds no negative or infinite number of seconds; such a value would give zero.
pub(super) fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value.max(0.0)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Step;

    fn due(shape: Shape, poisson: bool, length: f64) -> Vec<f64> {
        let open = Open {
            shape,
            poisson,
            outstanding_max: 1,
        };
        let schedule = Schedule::measured(&open, length, 42);
        schedule.map(|at| at.as_secs_f64()).collect()
    }

    #[test]
    fn counts_and_times_of_shapes() {
        assert_eq!(
            due(Shape::Constant(4.0), false, 1.0),
            [0.0, 0.25, 0.5, 0.75]
        );
        for (per_s, length, count) in [(1000.0, 3.0, 3000), (7.0, 10.0, 70), (0.5, 3.0, 2)] {
            assert_eq!(due(Shape::Constant(per_s), false, length).len(), count);
        }
        let ramp = due(
            Shape::Ramp {
                from: 0.0,
                to: 100.0,
            },
            false,
            10.0,
        );
        assert_eq!(ramp.len(), 500);
        // A quarter of the units in the first half of the time.
        assert_eq!(ramp.iter().filter(|at| **at < 5.0).count(), 125);
        let down = due(
            Shape::Ramp {
                from: 30.0,
                to: 10.0,
            },
            false,
            10.0,
        );
        assert_eq!(down.len(), 200);
        assert_eq!(down.iter().filter(|at| **at < 5.0).count(), 125);
        for nothing in [0.0, -1.0, f64::NAN] {
            assert!(due(Shape::Constant(nothing), false, 1.0).is_empty());
        }
    }

    #[test]
    fn steps_follow_each_other_and_end_with_the_time() {
        let step = |per_s, seconds| Step { per_s, seconds };
        let shape = Shape::Steps(vec![step(10.0, 2.0), step(0.0, 1.0), step(100.0, 1.0)]);
        let all = due(shape.clone(), false, 100.0);
        let between = |from, to| all.iter().filter(|at| **at >= from && **at < to).count();
        assert_eq!(all.len(), 120);
        assert_eq!(
            (between(0.0, 2.0), between(2.0, 3.0), between(3.0, 4.0)),
            (20, 0, 100)
        );
        assert_eq!(due(shape, false, 3.5).len(), 70);
    }

    /// Compares the gaps' distribution with the exponential one (Kolmogorov-Smirnov): the largest distance stays below
    /// the value that 1 % of true samples exceed.
    #[test]
    fn gaps_at_random_are_exponential() {
        let at = due(Shape::Constant(100.0), true, 100.0);
        let mut gaps: Vec<f64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_by(f64::total_cmp);
        let count = gaps.len() as f64;
        assert!((count - 10_000.0).abs() < 3.0 * 100.0);
        let mut distance = 0f64;
        for (place, gap) in gaps.iter().enumerate() {
            let expected = 1.0 - (-gap * 100.0).exp();
            let (below, above) = (place as f64 / count, (place + 1) as f64 / count);
            distance = distance
                .max((expected - below).abs())
                .max((above - expected).abs());
        }
        assert!(distance < 1.63 / count.sqrt(), "{distance}");
    }

    #[test]
    fn at_random_the_counts_of_seconds_vary_as_they_should() {
        let at = due(Shape::Constant(50.0), true, 1000.0);
        let mut counts = vec![0.0f64; 1000];
        for time in &at {
            counts[*time as usize] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / 1000.0;
        let variance = counts
            .iter()
            .map(|count| (count - mean).powi(2))
            .sum::<f64>()
            / 999.0;
        // The variance of a Poisson count is its mean; of 1,000 of them its own spread is 4.5 %.
        assert!((mean - 50.0).abs() < 0.7 && (variance / mean - 1.0).abs() < 0.15);
    }
}
