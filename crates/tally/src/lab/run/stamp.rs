//! The name of a report's folder: `lab-` and the start time in UTC.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use primitives::Timestamp;

/// Returns a folder name in the current folder.
pub fn folder() -> PathBuf {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    PathBuf::from(format!("lab-{}", stamp(now.map_or(0, |now| now.as_secs()))))
}

/// Formats seconds since 1970 as `20260131-235959`.
fn stamp(seconds: u64) -> String {
    let text = Timestamp::from_ms(1_000 * seconds).to_string();
    let (to_the_second, _) = text.split_once('.').expect("a time with milliseconds");
    to_the_second.replace(['-', ':'], "").replace('T', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_the_calendar() {
        for (seconds, expected) in [
            (0, "19700101-000000"),
            (951_782_400, "20000229-000000"),
            (1_709_251_199, "20240229-235959"),
            (1_709_251_200, "20240301-000000"),
            (4_107_542_399, "21000228-235959"),
        ] {
            assert_eq!(stamp(seconds), expected);
        }
    }
}
