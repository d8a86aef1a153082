//! Amounts as whole tokens with decimals.

use crate::output::grouped;

/// Formats minor units as tokens.
pub fn shown(minor: u64, decimals: u8) -> String {
    let (whole, rest) = match 10u64.checked_pow(u32::from(decimals)) {
        Some(unit) => (minor / unit, minor % unit),
        // A whole token is more than 64 bits of minor units.
        None => (0, minor),
    };
    let whole = grouped(whole);
    if rest == 0 {
        return whole;
    }
    let rest = format!("{rest:0width$}", width = usize::from(decimals));
    format!("{whole}.{}", rest.trim_end_matches('0'))
}

/// Parses tokens into minor units. Returns `None` if the text is not an amount or has more decimals than the token.
pub fn parsed(text: &str, decimals: u8) -> Option<u64> {
    // A text without a point is a whole number.
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(rest) || rest.len() > usize::from(decimals) {
        return None;
    }
    let unit = 10u64.checked_pow(u32::from(decimals))?;
    let rest = format!("{rest:0<width$}", width = usize::from(decimals));
    let rest: u64 = if rest.is_empty() {
        0
    } else {
        rest.parse().ok()?
    };
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(unit)?
        .checked_add(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_lead_there_and_back() {
        for (text, decimals, minor) in [
            ("0", 8, 0),
            ("1", 0, 1),
            ("1.5", 8, 150_000_000),
            ("0.00000001", 8, 1),
            ("12.3456", 4, 123_456),
        ] {
            assert_eq!(parsed(text, decimals), Some(minor), "{text}");
            assert_eq!(shown(minor, decimals), text);
        }
        assert_eq!(shown(123_456_700_000_000, 8), "1,234,567");
        assert_eq!(shown(u64::MAX, 20), "0.18446744073709551615");
        for text in [
            "",
            ".5",
            "-1",
            "1.23456",
            "1e3",
            "1,000",
            "99999999999999999999",
        ] {
            assert_eq!(parsed(text, 4), None, "{text}");
        }
    }
}
