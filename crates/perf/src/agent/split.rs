//! Splits a load between several generators, so that together they produce the requested load.

use crate::load::engine::Settings;
use crate::plan::{Closed, Load, Open, Shape, Step};

/// Divides a whole number by weights: the parts' sum is the whole.
pub(super) fn parts(whole: u64, weights: &[u32]) -> Vec<u64> {
    let all: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    let mut before = 0u128;
    let share = |weight: u128| {
        let share = u128::from(whole) * weight / all.max(1);
        u64::try_from(share).expect("a share is at most the whole")
    };
    weights
        .iter()
        .map(|weight| {
            let from = share(before);
            before += u128::from(*weight);
            share(before) - from
        })
        .collect()
}

/// Returns each generator's share of a load, `None` for a generator without work.
pub(super) fn loads(load: &Load, weights: &[u32]) -> Vec<Option<Load>> {
    match load {
        Load::Closed(closed) => parts(u64::from(closed.outstanding), weights)
            .into_iter()
            .map(|part| {
                let outstanding = u32::try_from(part).ok().filter(|part| *part > 0)?;
                Some(Load::Closed(Closed {
                    outstanding,
                    think: closed.think,
                }))
            })
            .collect(),
        Load::Open(open) => {
            let all: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
            let most = parts(u64::from(open.outstanding_max), weights);
            let shares = weights.iter().zip(most);
            shares
                .map(|(weight, most)| {
                    Some(Load::Open(Open {
                        shape: scaled(&open.shape, f64::from(*weight) / all),
                        poisson: open.poisson,
                        outstanding_max: u32::try_from(most)
                            .expect("a share of a 32-bit number")
                            .max(1),
                    }))
                })
                .collect()
        }
        // A search is the coordinator's; its trials are open loops.
        Load::Knee(_) => vec![None; weights.len()],
    }
}

fn scaled(shape: &Shape, share: f64) -> Shape {
    match shape {
        Shape::Constant(per_s) => Shape::Constant(per_s * share),
        Shape::Ramp { from, to } => Shape::Ramp {
            from: from * share,
            to: to * share,
        },
        Shape::Steps(steps) => {
            let steps = steps.iter();
            let scaled = steps.map(|step| Step {
                per_s: step.per_s * share,
                seconds: step.seconds,
            });
            Shape::Steps(scaled.collect())
        }
    }
}

/// Returns how much later than the first generator each begins, in seconds, so that evenly spaced arrivals do not
/// coincide.
pub(super) fn stagger(load: &Load, count: usize) -> Vec<f64> {
    let gap = match load {
        Load::Open(Open {
            shape: Shape::Constant(per_s),
            poisson: false,
            ..
        }) if *per_s >= 1.0 => 1.0 / per_s,
        _ => 0.0,
    };
    (0..count).map(|at| at as f64 * gap).collect()
}

/// Splits a count between the generators that have a share of the load.
pub(super) fn counts(
    settings: &Settings,
    weights: &[u32],
    loads: &[Option<Load>],
) -> Vec<Option<u64>> {
    let Some(count) = settings.count else {
        return vec![None; weights.len()];
    };
    let working = weights.iter().zip(loads);
    let working: Vec<u32> = working
        .map(|(weight, load)| load.as_ref().map_or(0, |_| *weight))
        .collect();
    parts(count, &working).into_iter().map(Some).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::plan::Think;

    #[test]
    fn parts_make_the_whole() {
        for (whole, weights, expected) in [
            (10, &[1, 1, 1][..], &[3, 3, 4][..]),
            (10, &[1, 4], &[2, 8]),
            (1, &[1, 1], &[0, 1]),
            (u64::MAX, &[1, 1], &[u64::MAX / 2, u64::MAX / 2 + 1]),
        ] {
            assert_eq!(parts(whole, weights), expected, "{whole} {weights:?}");
        }
    }

    #[test]
    fn loads_are_shared_by_weight() {
        let closed = Load::Closed(Closed {
            outstanding: 4,
            think: Think::Fixed(1.0),
        });
        let of = |load: &Option<Load>| match load {
            Some(Load::Closed(closed)) => f64::from(closed.outstanding),
            Some(Load::Open(Open {
                shape: Shape::Constant(per_s),
                ..
            })) => *per_s,
            _ => 0.0,
        };
        let shares: Vec<f64> = loads(&closed, &[1, 3]).iter().map(of).collect();
        assert_eq!(shares, [1.0, 3.0]);
        assert_eq!(loads(&closed, &[1; 5]).iter().flatten().count(), 4);
        let settings = Settings {
            warm_up: Duration::ZERO,
            measured: Duration::ZERO,
            count: Some(10),
            seed: 0,
            labels: Vec::new(),
            unfinished_after: Duration::ZERO,
        };
        for (weights, expected) in [
            (&[1, 1, 1, 1, 1][..], &[0, 2, 3, 2, 3][..]),
            (&[1, 3], &[2, 8]),
            (&[1; 8], &[0, 2, 0, 3, 0, 2, 0, 3]),
        ] {
            let counts = counts(&settings, weights, &loads(&closed, weights));
            let counts: Vec<u64> = counts.into_iter().flatten().collect();
            assert_eq!(counts, expected, "{weights:?}");
        }
        let open = Load::Open(Open {
            shape: Shape::Constant(100.0),
            poisson: false,
            outstanding_max: 10,
        });
        let shares: Vec<f64> = loads(&open, &[1, 3]).iter().map(of).collect();
        assert_eq!(shares, [25.0, 75.0]);
        assert_eq!(stagger(&open, 2), [0.0, 0.01]);
        assert_eq!(stagger(&closed, 2), [0.0, 0.0]);
    }
}
