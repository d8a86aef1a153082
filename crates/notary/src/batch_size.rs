//! How many states a batch takes, by the time that the answers to the last questions took.

/// The wanted time from a question to its answer, in milliseconds. A requester takes a worker for dead that answers nothing for 0.7 s.
const WANTED_MS: u64 = 250;
/// The smallest limit of states in a batch. Smaller batches would cost a database far away more round trips, and gain little.
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

    /// Records that the answer about so many states took so long. The limit changes by a factor of two at most, because times vary.
    pub(crate) fn answered(&mut self, states: usize, took_ms: u64) {
        let (limit, lowest) = (self.states_max, self.highest.min(STATES_MIN));
        // A batch has far fewer states than 2^64.
        let fitting = (states as u64).saturating_mul(WANTED_MS) / took_ms.max(1);
        let fitting = usize::try_from(fitting).unwrap_or(usize::MAX);
        if took_ms > WANTED_MS {
            self.states_max = fitting.max(limit / 2).clamp(lowest, limit);
        } else if states > limit / 2 {
            // A small batch does not show the time that a full one takes.
            self.states_max = fitting
                .clamp(limit, limit.saturating_mul(2))
                .min(self.highest);
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
            (20_000, &[quick, (4_000, 200)], 5_000),
            (20_000, &[quick, (4_000, 250)], 4_000),
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
