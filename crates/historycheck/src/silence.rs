//! The time without an answer.

/// Measures how long requests have waited since the last answer, while a majority is alive.
#[derive(Debug, Default)]
pub(crate) struct SilenceClock {
    is_majority_lost: bool,
    /// Requests without an outcome.
    waiting: u64,
    /// Start of the current measurement. `None` while no request waits, or there is no majority.
    since_us: Option<u64>,
    /// Silence before the current measurement. Only time counts while a request waits. If all clients give up, the silence continues
    /// with the next request.
    carried_us: u64,
}

/// A silence that is over, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Silence(pub(crate) u64);

impl SilenceClock {
    pub(crate) fn ask(&mut self, at_us: u64) {
        self.waiting += 1;
        if !self.is_majority_lost && self.since_us.is_none() {
            self.since_us = Some(at_us);
        }
    }

    /// Ends the silence with an answer.
    pub(crate) fn answer(&mut self, at_us: u64) -> Silence {
        let silence = self.reset(at_us);
        self.leave(at_us);
        silence
    }

    /// Records that a request has an outcome that is no answer.
    pub(crate) fn leave(&mut self, at_us: u64) {
        // The book has found the request.
        self.waiting -= 1;
        if self.waiting == 0 {
            self.carried_us = self.total(at_us);
            self.since_us = None;
        }
    }

    /// Stops the clock.
    pub(crate) fn majority_lost(&mut self, at_us: u64) -> Silence {
        let silence = self.reset(at_us);
        self.is_majority_lost = true;
        self.since_us = None;
        silence
    }

    /// Restarts the clock at zero.
    pub(crate) fn majority_back(&mut self, at_us: u64) {
        self.is_majority_lost = false;
        self.reset(at_us);
    }

    /// Returns the silence at the end of the run.
    pub(crate) fn end(&mut self, at_us: u64) -> Silence {
        self.reset(at_us)
    }

    fn total(&self, at_us: u64) -> u64 {
        // The reader checks that times ascend.
        self.carried_us + self.since_us.map_or(0, |since| at_us - since)
    }

    /// Returns the silence until now, and begins another one if a request waits.
    fn reset(&mut self, at_us: u64) -> Silence {
        let total = self.total(at_us);
        let is_running = !self.is_majority_lost && self.waiting > 0;
        self.carried_us = 0;
        self.since_us = is_running.then_some(at_us);
        Silence(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    enum Step {
        Ask,
        Answer(u64),
        GiveUp,
        Lost(u64),
        Back,
        End(u64),
    }
    use Step::*;

    /// Steps at ascending times, with the silences that they end.
    #[test]
    fn silences() {
        let rows: &[&[(u64, Step)]] = &[
            &[
                (10, Ask),
                (15, Answer(5)),
                (90, Ask),
                (97, Answer(7)),
                (99, End(0)),
            ],
            // The last answer counts, not the oldest request.
            &[
                (10, Ask),
                (11, Ask),
                (15, Answer(5)),
                (17, Answer(2)),
                (99, End(0)),
            ],
            &[(10, Ask), (11, Ask), (15, Answer(5)), (99, End(84))],
            // Clients that give up end no silence.
            &[
                (10, Ask),
                (20, GiveUp),
                (50, Ask),
                (55, GiveUp),
                (60, Ask),
                (61, Answer(16)),
            ],
            &[
                (10, Ask),
                (15, Ask),
                (20, GiveUp),
                (40, Answer(30)),
                (50, End(0)),
            ],
            &[(10, Ask), (20, GiveUp), (50, End(10))],
            // Without a majority the clock stands still.
            &[
                (10, Ask),
                (20, Lost(10)),
                (50, Ask),
                (60, Answer(0)),
                (70, Back),
                (80, Answer(10)),
            ],
            &[
                (20, Lost(0)),
                (50, Ask),
                (60, GiveUp),
                (70, Back),
                (90, Ask),
                (93, Answer(3)),
            ],
        ];
        for (row, steps) in rows.iter().enumerate() {
            let mut clock = SilenceClock::default();
            for (at, step) in *steps {
                match step {
                    Ask => clock.ask(*at),
                    GiveUp => clock.leave(*at),
                    Back => clock.majority_back(*at),
                    Answer(wanted) => {
                        assert_eq!(clock.answer(*at), Silence(*wanted), "row {row}, {at}")
                    }
                    Lost(wanted) => assert_eq!(
                        clock.majority_lost(*at),
                        Silence(*wanted),
                        "row {row}, {at}"
                    ),
                    End(wanted) => assert_eq!(clock.end(*at), Silence(*wanted), "row {row}, {at}"),
                }
            }
        }
    }
}
