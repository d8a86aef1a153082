//! From values to places on an axis, with ticks that people would choose.

/// How an axis runs from its low end to its high end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    log: bool,
    /// The position of the low end.
    from: f64,
    /// The position of the high end.
    to: f64,
}

/// Ratio of the greatest to the least value above which a logarithmic axis is clearer.
const LOG_RATIO: f64 = 40.0;

impl Scale {
    /// Returns a linear axis from `low` to `high`, drawn between `from` and `to`.
    pub fn linear(low: f64, high: f64, from: f64, to: f64) -> Self {
        let high = if high > low {
            high
        } else {
            low + low.abs().max(1.0)
        };
        let log = false;
        Scale {
            low,
            high,
            log,
            from,
            to,
        }
    }

    /// Returns a logarithmic axis; `low` is above 0.
    pub fn log(low: f64, high: f64, from: f64, to: f64) -> Self {
        let low = low.max(f64::MIN_POSITIVE);
        let high = if high > low { high } else { low * 10.0 };
        let log = true;
        Scale {
            low,
            high,
            log,
            from,
            to,
        }
    }

    /// Returns an axis for values: from 0 up to a round number. If the values are far apart and none is 0, it is
    /// logarithmic between powers of ten.
    pub fn fitting(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = range_of(values);
        if low > 0.0 && high / low >= LOG_RATIO {
            return Scale::log(round_down(low * 0.9), round_up(high * 1.05), from, to);
        }
        Scale::from_zero([low, high].into_iter(), from, to)
    }

    /// Returns a linear axis for values: from 0, or from the least value if that is negative, up to a round number.
    pub fn from_zero(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = range_of(values);
        if !high.is_finite() || (high <= 0.0 && low >= 0.0) {
            return Scale::linear(0.0, 1.0, from, to);
        }
        let step = step(high.max(0.0) - low.min(0.0), 4);
        let top = ((high * 1.02).max(0.0) / step).ceil() * step;
        let bottom = (low.min(0.0) / step).floor() * step;
        Scale::linear(bottom, top, from, to)
    }

    /// Returns an axis for marks with intervals, which need no zero. If the values are close together, the axis covers
    /// only their surroundings, so that overlaps of intervals are visible.
    pub fn near(values: &[f64], from: f64, to: f64) -> Self {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !(low > 0.0 && high > low && low > 0.6 * high) {
            return Scale::fitting(values.iter().copied(), from, to);
        }
        let step = step((high - low) * 1.2, 4);
        let room = (high - low) * 0.1;
        let low = (((low - room) / step).floor() * step).max(0.0);
        Scale::linear(low, ((high + room) / step).ceil() * step, from, to)
    }

    /// Returns whether it is linear and contains zero.
    pub fn begins_at_zero(&self) -> bool {
        !self.log && self.low <= 0.0
    }

    /// Returns whether it is logarithmic.
    pub fn is_log(&self) -> bool {
        self.log
    }

    /// Returns whether a value lies within the axis.
    pub fn holds(&self, value: f64) -> bool {
        let room = match self.log {
            true => self.low * 1e-9,
            false => (self.high - self.low) * 1e-9,
        };
        (self.low - room..=self.high + room).contains(&value)
    }

    /// Returns the position of a value. One beyond an end is drawn at the end.
    pub fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(f64::MIN_POSITIVE).ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Returns round values along it, about `wanted` of them.
    pub fn ticks(&self, wanted: usize) -> Vec<f64> {
        if self.log {
            return self.log_ticks(wanted);
        }
        let step = step(self.high - self.low, wanted);
        if !step.is_finite() || step <= 0.0 {
            return vec![self.low];
        }
        let first = (self.low / step).ceil();
        (0..=2 * wanted.max(1))
            .map(|at| (first + at as f64) * step)
            .take_while(|tick| *tick <= self.high + step * 1e-6)
            // 0 comes out as -0 below it.
            .map(|tick| if tick.abs() < step * 1e-6 { 0.0 } else { tick })
            .collect()
    }

    fn log_ticks(&self, wanted: usize) -> Vec<f64> {
        let (first, last) = (
            self.low.log10().floor() as i32,
            self.high.log10().ceil() as i32,
        );
        let inside = |tick: &f64| *tick >= self.low * 0.999 && *tick <= self.high * 1.001;
        let with = |multiples: &[f64]| -> Vec<f64> {
            (first..=last)
                .flat_map(|power| multiples.iter().map(move |one| one * 10f64.powi(power)))
                .filter(inside)
                .collect()
        };
        let fine = with(&[1.0, 2.0, 5.0]);
        if fine.len() <= wanted + 2 {
            return fine;
        }
        let middle = with(&[1.0, 3.0]);
        if middle.len() <= wanted + 2 {
            return middle;
        }
        let coarse = with(&[1.0]);
        let every = coarse.len().div_ceil(wanted.max(1)).max(1);
        coarse.into_iter().step_by(every).collect()
    }
}

/// Returns whether numbers grow by factors, so that a logarithmic axis spaces them evenly:
/// `1, 5, 20, 40, 160`, but not `4, 6, 8, 10`.
pub fn is_geometric(numbers: &[f64]) -> bool {
    numbers.len() >= 3
        && numbers.iter().all(|number| *number > 0.0)
        && numbers.windows(2).all(|pair| pair[1] / pair[0] >= 1.45)
        && numbers[numbers.len() - 1] / numbers[0] >= 4.0
}

/// Returns the least and the greatest finite value. Without any, the first is greater than the second.
fn range_of(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let numbers = values.filter(|value| value.is_finite());
    numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}

/// Returns a step of 1, 2 or 5 times a power of ten that divides `range` into about `wanted` parts.
fn step(range: f64, wanted: usize) -> f64 {
    let rough = (range / wanted.max(1) as f64).max(f64::MIN_POSITIVE);
    let power = 10f64.powf(rough.log10().floor());
    match rough / power {
        part if part <= 1.0 => power,
        part if part <= 2.0 => 2.0 * power,
        part if part <= 5.0 => 5.0 * power,
        _ => 10.0 * power,
    }
}

fn round_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let part = value / power;
    let one_of = [1.0, 2.0, 5.0, 10.0];
    power
        * one_of
            .into_iter()
            .find(|round| *round >= part)
            // The part is below 10 except for rounding.
            .unwrap_or(10.0)
}

fn round_down(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let part = value / power;
    let one_of = [5.0, 2.0, 1.0];
    power
        * one_of
            .into_iter()
            .find(|round| *round <= part)
            // The part is at least 1 except for rounding.
            .unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        let scale = Scale::fitting([3.0, 870.0].into_iter(), 0.0, 100.0);
        assert!(scale.is_log());
        assert_eq!(scale.ticks(4), [3.0, 10.0, 30.0, 100.0, 300.0, 1000.0]);
        let scale = Scale::fitting([0.3, 8700.0].into_iter(), 0.0, 100.0);
        assert_eq!(scale.ticks(4), [1.0, 100.0, 10_000.0]);
        let scale = Scale::fitting([120.0, 870.0].into_iter(), 0.0, 100.0);
        assert_eq!(scale.ticks(4), [0.0, 500.0, 1000.0]);
        assert_eq!(
            (scale.at(0.0), scale.at(1000.0), scale.at(1e9)),
            (0.0, 100.0, 100.0)
        );
    }

    #[test]
    fn no_values_one_value_and_huge_ones_have_an_axis() {
        for values in [
            vec![],
            vec![0.0],
            vec![5.0],
            vec![1e300],
            vec![-4.0, 2.0],
            vec![1e-300, 1e300],
        ] {
            let scale = Scale::fitting(values.iter().copied(), 10.0, 0.0);
            let ticks = scale.ticks(4);
            assert!(
                !ticks.is_empty() && ticks.len() < 20,
                "{values:?} {ticks:?}"
            );
            for value in values.iter().chain(&ticks) {
                assert!((0.0..=10.0).contains(&scale.at(*value)), "{value}");
            }
        }
    }

    #[test]
    fn cases_that_double_are_geometric() {
        assert!(is_geometric(&[1.0, 5.0, 20.0, 40.0, 160.0]));
        assert!(is_geometric(&[1.0, 2.0, 4.0]));
        assert!(!is_geometric(&[4.0, 6.0, 8.0, 10.0]));
        assert!(!is_geometric(&[2.0, 4.0, 6.0, 8.0, 10.0]));
        assert!(!is_geometric(&[0.0, 1.0, 10.0]));
        assert!(!is_geometric(&[1.0, 100.0]));
    }
}
