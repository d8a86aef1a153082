//! How figures, sizes, times and dates are written for people.

use primitives::Timestamp;

use super::table::number;

/// Formats a number with at least three significant digits and separated thousands: `12,345`, `123`, `12.3`, `1.23`,
/// `0.0123`.
pub fn figure(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if !value.is_finite() => "–".to_owned(),
        0.0 => "0".to_owned(),
        size if size >= 1e15 => format!("{value:.2e}"),
        size if size >= 99.95 => number(value.round()),
        _ if value.fract() == 0.0 => format!("{value}"),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.0995 => format!("{value:.2}"),
        size if size >= 0.000_1 => format!("{value:.4}"),
        _ => format!("{value:.1e}"),
    }
}

/// Returns the words that stand in place of a percentile with too few samples.
pub fn too_few_samples(samples: u64) -> String {
    format!("too few samples ({})", figure(samples as f64))
}

/// Returns how many of `count` entries are not shown if a page shows at most `most`; 0 if it shows all.
pub fn beyond(count: usize, most: usize) -> usize {
    count.saturating_sub(most)
}

/// Formats a margin in two digits: `380`, `9.8`, `0.29`.
pub fn two_digits(margin: f64) -> String {
    let places = 1 - margin.log10().floor().clamp(-12.0, 14.0) as i32;
    match places {
        places if places > 4 => format!("{margin:.1e}"),
        places if places > 0 => format!("{margin:.*}", places.unsigned_abs() as usize),
        places => {
            let unit = 10f64.powi(-places);
            figure((margin / unit).round() * unit)
        }
    }
}

/// Bytes in the largest unit of 1,000 that leaves a number above 1.
pub fn bytes(value: f64) -> String {
    scaled(value, &["B", "kB", "MB", "GB", "TB", "PB"])
}

/// Formats a number in at most five characters for an axis: `12k`, `1.5M`.
pub fn compact(value: f64) -> String {
    if value.abs() < 10_000.0 {
        return trimmed(figure(value));
    }
    scaled(value, &["", "k", "M", "G", "T", "P"]).replace(' ', "")
}

/// Removes zeros after the decimal point.
fn trimmed(text: String) -> String {
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn scaled(value: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut at = 0;
    while value.abs() >= 999.5 && at + 1 < units.len() {
        value /= 1000.0;
        at += 1;
    }
    let value = trimmed(figure(value));
    format!("{value} {}", units[at]).trim_end().to_owned()
}

/// Seconds as people say them: `850 ms`, `12.3 s`, `4 min 05 s`, `2 h 03 min`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round().clamp(0.0, 1e12) as u64;
    match seconds {
        _ if seconds < 1.0 => format!("{} ms", figure(seconds * 1000.0)),
        _ if seconds < 100.0 => format!("{} s", figure(seconds)),
        _ if whole < 3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

/// Milliseconds since 1970 as `2026-11-21 17:25 UTC`.
pub fn date(unix_ms: u64) -> String {
    let text = Timestamp::from_ms(unix_ms).to_string();
    // Years after 9999 have longer texts and do not occur.
    if text.len() != "2026-11-21T17:25:59.000Z".len() {
        return format!("{unix_ms} ms");
    }
    format!("{} {} UTC", &text[..10], &text[11..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_at_least() {
        for (value, expected) in [
            (0.0, "0"),
            (12_345.6, "12,346"),
            (123.4, "123"),
            (99.96, "100"),
            (12.34, "12.3"),
            (12.0, "12"),
            (1.234, "1.23"),
            (0.5, "0.50"),
            (0.012_34, "0.0123"),
            (0.000_012, "1.2e-5"),
            (-1234.0, "-1,234"),
            (1e300, "1.00e300"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(figure(value), expected);
        }
    }

    #[test]
    fn sizes_times_and_dates() {
        assert_eq!(bytes(1234.0), "1.23 kB");
        assert_eq!(bytes(999_700.0), "1 MB");
        assert_eq!(compact(9_999.0), "9,999");
        assert_eq!(compact(12_000.0), "12k");
        assert_eq!(compact(1_500_000.0), "1.5M");
        assert_eq!(duration(0.85), "850 ms");
        assert_eq!(duration(245.2), "4 min 05 s");
        assert_eq!(duration(7384.0), "2 h 03 min");
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400_000), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_795_281_959_000), "2026-11-21 17:25 UTC");
        assert_eq!(date(u64::MAX), "18446744073709551615 ms");
    }
}
