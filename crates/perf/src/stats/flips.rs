//! The paired test: random signs, and the largest statistic of all metrics.
//!
//! A pair is two stretches, one of each side, in an order that a coin decided. If the sides are the same, the coin alone
//! decided the sign of each pair's difference, in all metrics at once. The observed differences are then one of 2^n
//! equally likely arrangements of signs. So the exact chance of a false finding is the share of arrangements with a
//! statistic at least as large. This holds for any noise: skewed, heavy-tailed, or correlated between stretches.
//! Comparing with the *largest* statistic over all metrics bounds the chance of any false finding among them, and metrics
//! that move together cost little. Metrics are then tested step by step: one that is found is removed before the next is
//! tested (Westfall and Young's step-down).

use crate::load::engine::Chance;

/// Up to this many pairs, every arrangement of signs is enumerated.
pub(super) const EXACT_PAIRS_MAX: usize = 15;
/// With more pairs, this many arrangements are drawn.
const DRAWN: usize = 20_000;
/// Separates this use of a seed from others.
const SIGNS: u64 = 0x7369_676e_7300;
/// Sums that differ by less are equal up to rounding.
const EQUAL: f64 = 1e-9;

/// The result of the test.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Flips {
    /// For each metric the chance, over all metrics together, of a difference at least as large by the coins alone.
    pub p: Vec<f64>,
    /// For each metric the least t-statistic that would have been found at the requested error rate, given the metrics
    /// that were found. `None` if there are too few pairs for any.
    pub t_needed: Vec<Option<f64>>,
    /// The number of arrangements drawn from the seed; `None` if all were enumerated.
    pub drawn: Option<usize>,
}

/// Tests columns of differences, one for each metric, all of the same pairs. `error_rate` is the accepted chance of any
/// false finding.
pub(super) fn test(columns: &[Vec<f64>], error_rate: f64, seed: u64) -> Flips {
    // Without columns there are no pairs.
    let pairs = columns.iter().map(Vec::len).min().unwrap_or(0);
    let scaled: Vec<Vec<f64>> = columns
        .iter()
        .map(|column| unit(&column[..pairs]))
        .collect();
    let sum = |column: &Vec<f64>| column.iter().sum::<f64>().abs();
    let observed: Vec<f64> = scaled.iter().map(sum).collect();
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by(|x, y| observed[*y].total_cmp(&observed[*x]));
    let sorted: Vec<&[f64]> = order.iter().map(|at| &scaled[*at][..]).collect();
    let drawn = (pairs > EXACT_PAIRS_MAX).then_some(DRAWN);
    let maxima = match drawn {
        None => Maxima::counted(&sorted, pairs),
        Some(count) => Maxima::drawn(&sorted, pairs, count, seed),
    };
    let mut p = vec![1.0; columns.len()];
    let (mut found, mut least) = (0, 0.0f64);
    for (place, at) in order.iter().enumerate() {
        least = least.max(maxima.chance(place, observed[*at]));
        // Without any difference there is nothing to find.
        p[*at] = if observed[*at] > 0.0 { least } else { 1.0 };
        if p[*at] <= error_rate && found == place {
            found += 1;
        }
    }
    let t_needed = |place: usize| {
        maxima
            .critical(place, error_rate)
            .and_then(|sum| t_of(sum, pairs))
    };
    // Metrics that were not found were tested together with all others that were not.
    let of_rest = (found < order.len()).then(|| t_needed(found)).flatten();
    let mut needed = vec![of_rest; columns.len()];
    for (place, at) in order.iter().enumerate().take(found) {
        needed[*at] = t_needed(place);
    }
    Flips {
        p,
        t_needed: needed,
        drawn,
    }
}

/// Divides differences by their norm, so that metrics are comparable. All-zero differences stay zero.
fn unit(column: &[f64]) -> Vec<f64> {
    let length = column.iter().map(|value| value * value).sum::<f64>().sqrt();
    let by = if length > 0.0 { length } else { 1.0 };
    column.iter().map(|value| value / by).collect()
}

/// For each arrangement of signs and each position, the largest statistic of the metrics from that position on.
struct Maxima {
    /// The values arrangement by arrangement, `places` of each.
    values: Vec<f64>,
    places: usize,
    arrangements: usize,
    /// 1 if arrangements are drawn, to count the observed one, which the draw leaves out.
    beyond: usize,
}

impl Maxima {
    /// Enumerates the arrangements, each standing for its opposite too. Each differs from the one before in one sign
    /// (Gray code).
    fn counted(sorted: &[&[f64]], pairs: usize) -> Self {
        // No pair has one arrangement, as one pair does.
        let arrangements = 1usize << pairs.saturating_sub(1);
        let mut maxima = Self::with_room(sorted.len(), arrangements, 0);
        let mut signs = vec![1.0; pairs];
        let mut sums: Vec<f64> = sorted.iter().map(|column| column.iter().sum()).collect();
        maxima.push(&sums);
        for step in 1..arrangements {
            // Below `pairs` - 1, as the steps are below two to that power.
            let pair = step.trailing_zeros() as usize;
            signs[pair] = -signs[pair];
            for (sum, column) in sums.iter_mut().zip(sorted) {
                *sum += 2.0 * signs[pair] * column[pair];
            }
            maxima.push(&sums);
        }
        maxima
    }

    fn drawn(sorted: &[&[f64]], pairs: usize, arrangements: usize, seed: u64) -> Self {
        let mut maxima = Self::with_room(sorted.len(), arrangements, 1);
        let mut chance = Chance::new(seed, SIGNS);
        let mut signs = vec![1.0; pairs];
        for _ in 0..arrangements {
            for part in signs.chunks_mut(64) {
                let bits = chance.next_u64();
                for (at, sign) in part.iter_mut().enumerate() {
                    *sign = if bits >> at & 1 == 1 { -1.0 } else { 1.0 };
                }
            }
            let sum = |column: &&[f64]| {
                column
                    .iter()
                    .zip(&signs)
                    .map(|(value, sign)| value * sign)
                    .sum()
            };
            let sums: Vec<f64> = sorted.iter().map(sum).collect();
            maxima.push(&sums);
        }
        maxima
    }

    fn with_room(places: usize, arrangements: usize, beyond: usize) -> Self {
        Self {
            values: Vec::with_capacity(places * arrangements),
            places,
            arrangements,
            beyond,
        }
    }

    fn push(&mut self, sums: &[f64]) {
        let begin = self.values.len();
        self.values.extend(sums.iter().map(|sum| sum.abs()));
        let mut largest = 0.0f64;
        for value in self.values[begin..].iter_mut().rev() {
            largest = largest.max(*value);
            *value = largest;
        }
    }

    fn at(&self, place: usize) -> impl Iterator<Item = f64> {
        self.values
            .iter()
            .skip(place)
            .step_by(self.places.max(1))
            .copied()
    }

    /// Returns the share of arrangements that reach `observed` from `place` on.
    fn chance(&self, place: usize, observed: f64) -> f64 {
        let reached = self
            .at(place)
            .filter(|value| *value >= observed - EQUAL)
            .count();
        (reached + self.beyond) as f64 / (self.arrangements + self.beyond) as f64
    }

    /// Returns the sum that a finding must exceed from `place` on at this error rate. `None` if there are too few
    /// arrangements.
    fn critical(&self, place: usize, error_rate: f64) -> Option<f64> {
        let allowed =
            (error_rate * (self.arrangements + self.beyond) as f64 + EQUAL).floor() as usize;
        // The observed one is among those allowed.
        allowed.checked_sub(1)?;
        let mut values: Vec<f64> = self.at(place).collect();
        values.sort_by(|x, y| y.total_cmp(x));
        values.get(allowed - self.beyond).copied()
    }
}

/// Returns the t-statistic of differences with this sum, divided by their norm; `None` if only equal differences reach
/// it.
fn t_of(sum: f64, pairs: usize) -> Option<f64> {
    let count = pairs as f64;
    let left = count - sum * sum;
    (left > EQUAL).then(|| sum * ((count - 1.0) / left).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_counted_exactly() {
        // There are 2^4 arrangements of 1, 2, 3, 4. Two sums, 10 and -10, reach 10.
        let flips = test(&[vec![1.0, 2.0, 3.0, 4.0]], 0.2, 0);
        assert_eq!(flips.p, [2.0 / 16.0]);
        // 8 is reached by 10 and 8: 4 of 16.
        assert_eq!(test(&[vec![-1.0, 2.0, 3.0, 4.0]], 0.2, 0).p, [4.0 / 16.0]);
        assert_eq!(
            test(&[vec![0.0; 10]], 0.01, 0).p,
            [1.0],
            "no difference at all"
        );
        assert_eq!(test(&[], 0.01, 0).p, Vec::<f64>::new());
        assert_eq!(test(&[vec![]], 0.01, 0).p, [1.0]);
    }

    #[test]
    fn ten_pairs_that_agree_are_enough_and_seven_are_not() {
        let agree = |pairs| {
            vec![
                (0..pairs)
                    .map(|at| 1.0 + 0.01 * f64::from(at))
                    .collect::<Vec<f64>>(),
            ]
        };
        assert_eq!(test(&agree(10), 0.01, 0).p, [2.0 / 1024.0]);
        let seven = test(&agree(7), 0.01, 0);
        assert_eq!((seven.p[0], seven.t_needed[0]), (2.0 / 128.0, None));
    }

    #[test]
    fn metrics_that_are_one_cost_nothing_and_a_found_one_steps_aside() {
        let clear: Vec<f64> = (0..10).map(|at| 5.0 + f64::from(at % 3)).collect();
        let other: Vec<f64> = clear.iter().map(|value| value * 7.0).collect();
        let flips = test(&[clear.clone(), other], 0.01, 0);
        assert_eq!(flips.p, [2.0 / 1024.0; 2]);
        let noise = vec![1.0, -1.2, 0.3, 0.9, -0.5, 1.1, -0.9, 0.2, -0.1, -0.7];
        let alone = test(std::slice::from_ref(&noise), 0.01, 0).p[0];
        let beside = test(&[clear, noise], 0.01, 0);
        assert_eq!(beside.p[0], 2.0 / 1024.0);
        assert_eq!(beside.p[1], alone, "what was found is out of the way");
        assert!(
            beside.t_needed[1].is_some_and(|t| t > 2.0 && t < 10.0),
            "{beside:?}"
        );
    }

    #[test]
    fn many_pairs_are_drawn_and_agree_with_the_counted_ones() {
        let column: Vec<f64> = (0..15).map(|at| f64::from(at * 7 % 5) - 1.2).collect();
        let counted = test(std::slice::from_ref(&column), 0.01, 0);
        let mut more = column;
        more.push(0.0);
        let drawn = test(&[more], 0.01, 42);
        assert_eq!((counted.drawn, drawn.drawn), (None, Some(DRAWN)));
        assert!(
            (counted.p[0] - drawn.p[0]).abs() < 0.01,
            "{counted:?} {drawn:?}"
        );
        let long = vec![
            (0..100)
                .map(|at| 1.0 + f64::from(at % 2))
                .collect::<Vec<f64>>(),
        ];
        assert_eq!(test(&long, 0.01, 1).p, [1.0 / 20_001.0]);
    }
}
