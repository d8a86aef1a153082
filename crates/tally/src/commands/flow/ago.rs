//! A point in time on the command line, as the time that has passed since then.

use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const UNITS: [(&str, u64); 4] = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)];

/// A time before now, such as `90s`, `15m`, `2h` or `1d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ago(Duration);

impl Ago {
    /// Returns the time by this machine's clock, in milliseconds since the Unix epoch.
    pub fn as_ms(self) -> u64 {
        let now = SystemTime::now();
        let then = now.checked_sub(self.0);
        // A time before the epoch is clipped to it: no flow is older.
        let since_epoch = then.and_then(|then| then.duration_since(UNIX_EPOCH).ok());
        since_epoch.map_or(0, primitives::whole_ms)
    }
}

impl FromStr for Ago {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            format!(
                "'{text}' is not a time; write a whole number and a unit, such as 90s, 15m, 2h or 1d"
            )
        };
        let at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let (number, unit) = text.split_at(at);
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let unit = UNITS.into_iter().find(|(name, _)| *name == unit);
        let (_, seconds) = unit.ok_or_else(wrong)?;
        let seconds = number.checked_mul(seconds).ok_or_else(wrong)?;
        Ok(Self(Duration::from_secs(seconds)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_number_and_a_unit() {
        for (text, seconds) in [
            ("0s", Some(0)),
            ("90s", Some(90)),
            ("15m", Some(900)),
            ("2h", Some(7_200)),
            ("1d", Some(86_400)),
            ("1", None),
            ("d", None),
            ("1.5h", None),
            ("-1d", None),
            ("1w", None),
            ("1 d", None),
            ("99999999999999999999d", None),
            ("18446744073709551615d", None),
        ] {
            let expected = seconds.map(|seconds| Ago(Duration::from_secs(seconds)));
            assert_eq!(text.parse::<Ago>().ok(), expected, "{text}");
        }
    }

    #[test]
    fn a_time_before_the_epoch_is_the_epoch() {
        assert_eq!(Ago(Duration::MAX).as_ms(), 0);
        assert!(Ago(Duration::ZERO).as_ms() > 1_700_000_000_000);
    }
}
