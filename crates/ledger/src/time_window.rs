//! Time windows.

use std::fmt;

use primitives::{Coded, Decode, DecodeError, Decoder, Encode, Encoder, Timestamp};
use thiserror::Error;

use crate::errors;

/// When a transaction may be notarised: `[from, until)`. At least one end is given, and `from < until`.
///
/// Encoded as `[from or null, until or null]`, both in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeWindow {
    from: Option<Timestamp>,
    until: Option<Timestamp>,
}

/// A time window has no end at all, or ends before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a time window has at least one end and begins before it ends")]
pub struct TimeWindowError;

impl Coded for TimeWindowError {
    fn code(&self) -> &'static str {
        "tx.time_window_invalid"
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

impl TimeWindow {
    /// Makes the window `[from, until)`. One of the bounds may be missing.
    pub fn new(from: Option<Timestamp>, until: Option<Timestamp>) -> Result<Self, TimeWindowError> {
        match (from, until) {
            (None, None) => Err(TimeWindowError),
            (Some(from), Some(until)) if from >= until => Err(TimeWindowError),
            _ => Ok(Self { from, until }),
        }
    }

    /// Makes a window without an end, which begins at this moment.
    pub fn from(from: Timestamp) -> Self {
        Self {
            from: Some(from),
            until: None,
        }
    }

    /// Makes a window without a beginning, which ends before this moment.
    pub fn until(until: Timestamp) -> Self {
        Self {
            from: None,
            until: Some(until),
        }
    }

    /// Returns the first moment inside, if the window has a beginning.
    pub fn start(&self) -> Option<Timestamp> {
        self.from
    }

    /// Returns the first moment after the window, if it has an end.
    pub fn end(&self) -> Option<Timestamp> {
        self.until
    }

    /// Tells whether the moment is inside.
    pub fn contains(&self, now: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= now) && self.until.is_none_or(|until| now < until)
    }
}

impl fmt::Display for TimeWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.from, self.until) {
            (Some(from), Some(until)) => {
                write!(f, "[{} ms, {} ms)", from.as_ms(), until.as_ms())
            }
            (Some(from), None) => write!(f, "[{} ms, ...)", from.as_ms()),
            (None, Some(until)) => write!(f, "[..., {} ms)", until.as_ms()),
            (None, None) => write!(f, "[..., ...)"),
        }
    }
}

impl Encode for TimeWindow {
    fn encode(&self, e: &mut Encoder) {
        e.array(2);
        self.from.encode(e);
        self.until.encode(e);
    }
}

impl Decode for TimeWindow {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(2)?;
        let from = Option::decode(d)?;
        let until = Option::decode(d)?;
        Self::new(from, until)
            .map_err(|_| d.invalid("a time window has an end and begins before it ends"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_begin_inside_and_end_outside() {
        let at = Timestamp::from_ms;
        let both = TimeWindow::new(Some(at(10)), Some(at(20))).unwrap();
        let table = [
            (both, 9, false),
            (both, 10, true),
            (both, 19, true),
            (both, 20, false),
            (TimeWindow::from(at(10)), 9, false),
            (TimeWindow::from(at(10)), u64::MAX, true),
            (TimeWindow::until(at(20)), 0, true),
            (TimeWindow::until(at(20)), 20, false),
        ];
        for (window, now, inside) in table {
            assert_eq!(window.contains(at(now)), inside, "{window} at {now}");
            assert_eq!(TimeWindow::from_bytes(&window.to_bytes()).unwrap(), window);
        }
    }

    #[test]
    fn windows_without_ends_or_turned_round_are_refused() {
        let at = |ms| Some(Timestamp::from_ms(ms));
        for (from, until) in [(None, None), (at(5), at(5)), (at(6), at(5))] {
            let error = TimeWindow::new(from, until).unwrap_err();
            assert_eq!(error.code(), "tx.time_window_invalid");
            assert!(error.hint().contains("before"));
            let unchecked = TimeWindow { from, until };
            assert!(TimeWindow::from_bytes(&unchecked.to_bytes()).is_err());
        }
    }
}
