//! Reads the end of the validity of an X.509 certificate (RFC 5280 4.1.2.5).

use std::time::{SystemTime, UNIX_EPOCH};

/// Remaining days from which a certificate counts as ending: operators are warned, and bootstrapping again renews it.
pub const RENEWED_DAYS: i64 = 30;

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Returns the end of a certificate in seconds since 1970, or `None` if this is not a certificate.
pub fn not_after(der: &[u8]) -> Option<i64> {
    let (_, certificate, _) = item(der).filter(|(tag, ..)| *tag == SEQUENCE)?;
    let (_, mut signed, _) = item(certificate).filter(|(tag, ..)| *tag == SEQUENCE)?;
    if let Some((VERSION, _, rest)) = item(signed) {
        signed = rest;
    }
    // Serial number, signature algorithm, issuer.
    for _ in 0..3 {
        signed = item(signed)?.2;
    }
    let (_, validity, _) = item(signed).filter(|(tag, ..)| *tag == SEQUENCE)?;
    let (_, _, rest) = item(validity)?;
    let (tag, text, _) = item(rest)?;
    seconds(tag, std::str::from_utf8(text).ok()?)
}

/// Returns the days from now until a time in seconds since 1970; negative if it has passed.
pub fn days_left(end_s: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    // A clock before 1970 is reported by itself.
    let now_s = now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX));
    end_s.saturating_sub(now_s).div_euclid(86_400)
}

/// Returns the tag, the content, and the remaining bytes of the first DER item.
fn item(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
        if digits.is_empty() || digits.len() > 4 {
            return None;
        }
        let length = digits
            .iter()
            .fold(0, |sum, digit| sum << 8 | usize::from(*digit));
        (length, rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// Parses `YYMMDDhhmmssZ` (from 1950 to 2049) or `YYYYMMDDhhmmssZ`.
fn seconds(tag: u8, text: &str) -> Option<i64> {
    let digits = text.strip_suffix('Z')?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (year, rest) = match (tag, digits.len()) {
        (UTC_TIME, 12) => {
            let year: i64 = digits[..2].parse().ok()?;
            (
                if year < 50 { 2000 + year } else { 1900 + year },
                &digits[2..],
            )
        }
        (GENERALIZED_TIME, 14) => (digits[..4].parse().ok()?, &digits[4..]),
        _ => return None,
    };
    let part = |at: usize| rest.get(at..at + 2)?.parse::<i64>().ok();
    let day = days(year, part(0)?, part(2)?);
    Some(day * 86_400 + part(4)? * 3_600 + part(6)? * 60 + part(8)?)
}

/// Returns days since 1970-01-01 of a Gregorian date. The year is counted from March, so that leap days come last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leaps + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (tag, text, expected) in [
            (UTC_TIME, "700101000000Z", Some(0)),
            (UTC_TIME, "240229120000Z", Some(1_709_208_000)),
            (UTC_TIME, "491231235959Z", Some(2_524_607_999)),
            (GENERALIZED_TIME, "20000301000000Z", Some(951_868_800)),
            (GENERALIZED_TIME, "99991231235959Z", Some(253_402_300_799)),
            (GENERALIZED_TIME, "700101000000Z", None),
            (UTC_TIME, "700101000000", None),
            (UTC_TIME, "7001010000é0Z", None),
        ] {
            assert_eq!(seconds(tag, text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_last_day() {
        for der in [
            &[][..],
            &[0x30],
            &[0x30, 0x80],
            &[0x30, 2, 0x30, 0],
            &[0x30, 0x84, 255, 255, 255, 255],
        ] {
            assert_eq!(not_after(der), None, "{der:?}");
        }
    }
}
