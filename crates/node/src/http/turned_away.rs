//! Starts that a stream refuses because the node has no room or their user makes too many. Under overload most starts are
//! refused, so their answer is prepared, and one line of the audit log stands for many.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::{Duration, Instant};

use bytes::{BufMut, BytesMut};

use super::refusal::Refusal;

/// Interval at which a stream writes the number of its refused starts to the audit log.
const NOTED_EVERY: Duration = Duration::from_secs(1);

/// The refused starts of a stream.
#[derive(Debug)]
pub(super) struct TurnedAway {
    /// The refusal with a suggested time, in milliseconds.
    refusal: fn(u64) -> Refusal,
    /// The part of the answer after the number, for the last suggested delay.
    answer: Vec<u8>,
    retry_after_ms: Option<u64>,
    /// Refused starts that are not in the audit log yet.
    count: u64,
    since: Option<Instant>,
}

impl TurnedAway {
    /// None so far, of those that are refused like this.
    pub(super) fn new(refusal: fn(u64) -> Refusal) -> Self {
        Self {
            refusal,
            answer: Vec::new(),
            retry_after_ms: None,
            count: 0,
            since: None,
        }
    }

    /// The code they are refused with.
    pub(super) fn code(&self) -> Cow<'static, str> {
        (self.refusal)(0).code
    }

    /// Answers a start.
    pub(super) fn answer(&mut self, out: &mut BytesMut, number: u64, retry_after_ms: u64) {
        if self.retry_after_ms != Some(retry_after_ms) {
            self.retry_after_ms = Some(retry_after_ms);
            self.answer = prepared((self.refusal)(retry_after_ms));
        }
        self.count += 1;
        out.reserve(self.answer.len() + 32);
        // Writing to memory does not fail.
        let _ = write!(out, "{{\"n\":{number}");
        out.put_slice(&self.answer);
    }

    /// Returns the number to write now; at most once a second.
    pub(super) fn due(&mut self, now: Instant) -> Option<u64> {
        let since = *self.since.get_or_insert(now);
        // Clipped at 0: the first refusal may be of this moment.
        (now.saturating_duration_since(since) >= NOTED_EVERY)
            .then(|| self.rest())
            .flatten()
    }

    /// Returns the number that is not written yet.
    pub(super) fn rest(&mut self) -> Option<u64> {
        self.since = None;
        let count = std::mem::take(&mut self.count);
        (count > 0).then_some(count)
    }
}

fn prepared(refusal: Refusal) -> Vec<u8> {
    let problem = serde_json::to_vec(&refusal.into_problem());
    let problem = problem.expect("texts and numbers have a JSON form");
    [b",\"problem\":".as_slice(), &problem, b"}\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prepared_answer_is_the_one_that_is_written_otherwise() {
        let mut turned_away = TurnedAway::new(Refusal::busy);
        for (number, retry_after_ms) in [(0, 50), (7, 50), (u64::MAX, 10_000)] {
            let mut out = BytesMut::new();
            turned_away.answer(&mut out, number, retry_after_ms);
            let answer: api::StreamAnswer = serde_json::from_slice(&out).expect("a line");
            assert_eq!(answer.n, Some(number));
            let problem = answer.into_outcome().expect_err("a refusal");
            assert_eq!(*problem, Refusal::busy(retry_after_ms).into_problem());
            assert!(out.ends_with(b"}\n") && out.iter().filter(|b| **b == b'\n').count() == 1);
        }
    }

    #[test]
    fn they_are_noted_once_a_second_and_none_is_forgotten() {
        let mut turned_away = TurnedAway::new(Refusal::busy);
        let (start, mut out) = (Instant::now(), BytesMut::new());
        // Milliseconds since the first start, starts refused at that time, and the noted number.
        for (ms, count, noted) in [
            (0, 3, None),
            (999, 1, None),
            (1_000, 1, Some(5)),
            (1_001, 2, None),
            (2_000, 0, None),
            (2_001, 0, Some(2)),
            (9_000, 0, None),
        ] {
            (0..count).for_each(|n| turned_away.answer(&mut out, n, 50));
            let found = turned_away.due(start + Duration::from_millis(ms));
            assert_eq!(found, noted, "after {ms} ms");
        }
        turned_away.answer(&mut out, 1, 50);
        assert_eq!((turned_away.rest(), turned_away.rest()), (Some(1), None));
    }
}
