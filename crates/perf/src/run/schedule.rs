//! In which order the stretches of a scenario run.

/// One stretch to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// The point, by position.
    pub point: usize,
    /// Which of its repeats, from 0.
    pub repeat: u32,
}

/// Every repeat of every point: repeats of different points in turns (ABAB), or each point's after one another (AABB).
pub(super) fn turns(points: usize, repeats: u32, interleave: bool) -> Vec<Turn> {
    let all_points = || 0..points;
    if interleave {
        let round = |repeat| all_points().map(move |point| Turn { point, repeat });
        (0..repeats).flat_map(round).collect()
    } else {
        let all = |point| (0..repeats).map(move |repeat| Turn { point, repeat });
        all_points().flat_map(all).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_turns_or_after_one_another() {
        for (points, repeats, interleave, expected) in [
            (2, 2, true, "0a 1a 0b 1b"),
            (2, 2, false, "0a 0b 1a 1b"),
            (1, 3, true, "0a 0b 0c"),
            (0, 3, true, ""),
        ] {
            let words: Vec<String> = turns(points, repeats, interleave)
                .iter()
                .map(|turn| format!("{}{}", turn.point, ["a", "b", "c"][turn.repeat as usize]))
                .collect();
            assert_eq!(words.join(" "), expected);
        }
    }
}
