//! How many states a batch takes, by the time that the answers to the last questions took.

/// The wanted time from a question to its answer, in milliseconds. A requester takes a worker for dead that answers nothing for 0.7 s.
const WANTED_MS: u64 = 250;
/// The states of a batch that is never made smaller. Below it, a database far away would lose more by its round trips than it gains.
const STATES_MIN: usize = 2_000;

/// The maximum of states in the next batch.
#[derive(Debug)]
pub(crate) struct BatchSize {
    states_max: usize,
    /// The limit that is never exceeded.
    highest: usize,
}

impl BatchSize {
    /// Begins with the smallest batches, as nothing is known of the store.
    pub(crate) fn new(highest: usize) -> Self {
        Self {
            states_max: highest.min(STATES_MIN),
            highest,
        }
    }

    /// Returns the maximum of states in the next batch.
    pub(crate) fn states_max(&self) -> usize {
        self.states_max
    }

    /// Records that the answer about so many states took so long.
    pub(crate) fn answered(&mut self, states: usize, took_ms: u64) {
        let lowest = self.highest.min(STATES_MIN);
        if took_ms > WANTED_MS {
            // A batch has far fewer states than 2^64, and the quotient fewer still.
            let fitting = (states as u64).saturating_mul(WANTED_MS) / took_ms;
            let fitting = usize::try_from(fitting).unwrap_or(usize::MAX);
            // The answer about a small batch says nothing about large ones, except that they take longer.
            self.states_max = fitting
                .max(self.states_max / 2)
                .clamp(lowest, self.states_max);
        } else if took_ms < WANTED_MS / 2 && states > self.states_max / 2 {
            self.states_max = self.states_max.saturating_mul(2).min(self.highest);
        }
        assert!(
            (lowest..=self.highest).contains(&self.states_max),
            "the limit of a batch stays in its range"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_grow_while_answers_are_quick_and_shrink_when_they_are_slow() {
        // (highest, answers as (states, milliseconds), states of the next batch)
        type Row<'a> = (usize, &'a [(usize, u64)], usize);
        let quick = (20_000, 50);
        let table: &[Row<'_>] = &[
            (20_000, &[], 2_000),
            (20_000, &[(2_000, 50)], 4_000),
            (20_000, &[quick, quick, quick], 16_000),
            (20_000, &[quick, quick, quick, quick, quick], 20_000),
            // A batch that was not full says nothing.
            (20_000, &[(1_000, 1)], 2_000),
            // Neither quick nor slow.
            (20_000, &[quick, (4_000, 200)], 4_000),
            (20_000, &[quick, quick, quick, quick, (20_000, 400)], 12_500),
            // At most by half at a time.
            (
                20_000,
                &[quick, quick, quick, quick, (20_000, 5_000)],
                10_000,
            ),
            (20_000, &[quick, quick, quick, quick, (10, 5_000)], 10_000),
            // Never below the minimum, however far the database is.
            (20_000, &[(2_000, 5_000), (2_000, 5_000)], 2_000),
            // A setting below the minimum holds.
            (5, &[(5, 5_000), quick, quick], 5),
        ];
        for (highest, answers, expected) in table {
            let mut size = BatchSize::new(*highest);
            for (states, took_ms) in *answers {
                size.answered(*states, *took_ms);
            }
            assert_eq!(size.states_max(), *expected, "{highest} {answers:?}");
        }
    }
}
