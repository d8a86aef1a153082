//! The name of a report's folder: `lab-` and when it began, in UTC.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// In the current folder.
pub fn folder() -> PathBuf {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    PathBuf::from(format!("lab-{}", stamp(now.map_or(0, |now| now.as_secs()))))
}

/// `20260131-235959` of seconds since 1970.
fn stamp(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // The proleptic Gregorian calendar in years that begin in March (Hinnant, "chrono-compatible low-level date algorithms").
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!(
        "{year:04}{month:02}{day:02}-{hour:02}{minute:02}{:02}",
        second % 60
    )
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
