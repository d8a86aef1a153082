//! Durations and dates as whole numbers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns whole microseconds. A longer time than the 584,000 years that fit, such as [`Duration::MAX`], means "never" and stays
/// the largest number.
pub fn whole_micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Returns whole milliseconds. A time that does not fit means "never", as in [`whole_micros`].
pub fn whole_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the time since 1970. A clock that shows an earlier date was never set; it counts as 1970, since dates only label
/// results.
pub fn unix_now() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_cut_to_whole_numbers() {
        let time = Duration::from_nanos(1_234_567_890);
        assert_eq!((whole_micros(time), whole_millis(time)), (1_234_567, 1_234));
        assert_eq!(whole_micros(Duration::MAX), u64::MAX);
        assert_eq!(whole_millis(Duration::MAX), u64::MAX);
        assert!(unix_now() > Duration::from_secs(1_600_000_000));
    }
}
