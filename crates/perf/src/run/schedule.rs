//! The order of the stretches of a scenario.

use crate::load::engine::Chance;

/// Separates this use of a seed from others.
const ORDER: u64 = 0x6f72_6465_7200;

/// One stretch to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// The point, by position.
    pub point: usize,
    /// Its repeat, from 0.
    pub repeat: u32,
}

/// Returns every repeat of every point. Interleaved, they run in rounds of all points, each round in its own random order
/// (AB BA BA AB). Otherwise, each point's repeats run one after another (AABB). The random order in each round makes an
/// exact comparison of points possible, even if the machine drifts.
pub(super) fn turns(points: usize, repeats: u32, interleave: bool, seed: u64) -> Vec<Turn> {
    if interleave {
        let mut chance = Chance::new(seed, ORDER);
        let mut order: Vec<usize> = (0..points).collect();
        let round = |repeat| {
            shuffle(&mut order, &mut chance);
            let turn = |point: &usize| Turn {
                point: *point,
                repeat,
            };
            order.iter().map(turn).collect::<Vec<Turn>>()
        };
        (0..repeats).flat_map(round).collect()
    } else {
        let all = |point| (0..repeats).map(move |repeat| Turn { point, repeat });
        (0..points).flat_map(all).collect()
    }
}

/// Shuffles uniformly (Fisher and Yates).
fn shuffle(order: &mut [usize], chance: &mut Chance) {
    for last in (1..order.len()).rev() {
        // Below `last` + 1, as a share is below 1.
        let other = (chance.share() * (last + 1) as f64) as usize;
        order.swap(last, other.min(last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(turns: &[Turn]) -> String {
        let word = |turn: &Turn| format!("{}{}", turn.point, ["a", "b", "c"][turn.repeat as usize]);
        turns.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn in_rounds_or_after_one_another() {
        for (points, repeats, interleave, expected) in [
            (2, 2, false, "0a 0b 1a 1b"),
            (1, 3, true, "0a 0b 0c"),
            (0, 3, true, ""),
        ] {
            assert_eq!(words(&turns(points, repeats, interleave, 1)), expected);
        }
        for round in turns(4, 3, true, 1).chunks(4) {
            let mut points: Vec<usize> = round.iter().map(|turn| turn.point).collect();
            points.sort_unstable();
            assert_eq!(points, [0, 1, 2, 3], "everybody once a round");
            assert!(round.iter().all(|turn| turn.repeat == round[0].repeat));
        }
    }

    #[test]
    fn either_of_two_is_first_by_a_fair_coin_that_the_seed_decides() {
        let first = |seed| {
            turns(2, 1000, true, seed)
                .chunks(2)
                .filter(|round| round[0].point == 0)
                .count()
        };
        assert!((450..=550).contains(&first(1)), "{}", first(1));
        assert_eq!(turns(3, 20, true, 7), turns(3, 20, true, 7));
        assert_ne!(turns(3, 20, true, 7), turns(3, 20, true, 8));
    }
}
