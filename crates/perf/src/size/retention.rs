//! The retention of a ledger: how long its transactions are kept.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use thiserror::Error;

/// The longest retention, days: 100 years.
const DAYS_MAX: u32 = 36_500;
/// The units: letter, days.
const UNITS: [(char, u32); 4] = [('d', 1), ('w', 7), ('m', 30), ('y', 365)];

/// A time for which a ledger is kept, in whole days.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Retention {
    days: u32,
}

/// A text that is no retention.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "expected a whole number and d, w, m or y for days, weeks, months or years, from 1d to 100y, such as 5y; found '{0}'"
)]
pub struct RetentionError(String);

impl Retention {
    /// Returns it in days. A week has 7, a month 30 and a year 365.
    pub fn days(self) -> u32 {
        self.days
    }
}

impl FromStr for Retention {
    type Err = RetentionError;

    fn from_str(text: &str) -> Result<Self, RetentionError> {
        let days = || {
            let (_, factor) = UNITS.iter().find(|(unit, _)| text.ends_with(*unit))?;
            let count = &text[..text.len() - 1];
            // A number may have a sign in Rust, but not here.
            let is_plain = count.bytes().all(|byte| byte.is_ascii_digit());
            let count: u32 = count.parse().ok().filter(|_| is_plain)?;
            count
                .checked_mul(*factor)
                .filter(|days| (1..=DAYS_MAX).contains(days))
        };
        days()
            .map(|days| Self { days })
            .ok_or_else(|| RetentionError(text.to_owned()))
    }
}

impl fmt::Display for Retention {
    /// Writes it in years if it has whole ones, and in days otherwise.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.days {
            365 => out.write_str("1 year"),
            days if days % 365 == 0 => write!(out, "{} years", days / 365),
            1 => out.write_str("1 day"),
            days => write!(out, "{days} days"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retentions() {
        for (text, days, words) in [
            ("1d", 1, "1 day"),
            ("90d", 90, "90 days"),
            ("2w", 14, "14 days"),
            ("6m", 180, "180 days"),
            ("1y", 365, "1 year"),
            ("5y", 1_825, "5 years"),
            ("100y", 36_500, "100 years"),
        ] {
            let found: Retention = text.parse().expect(text);
            assert_eq!((found.days(), found.to_string().as_str()), (days, words));
        }
        for bad in [
            "",
            "y",
            "0d",
            "5",
            "5x",
            "-5y",
            "+5y",
            "1.5y",
            "101y",
            "99999999999y",
            "5 y",
            "5é",
        ] {
            let error = bad.parse::<Retention>().expect_err(bad);
            assert!(
                error.to_string().ends_with(&format!("found '{bad}'")),
                "{error}"
            );
        }
    }
}
