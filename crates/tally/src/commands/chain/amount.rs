//! Amounts of a chain's token as text: whole tokens with the token's symbol, or the smallest unit.

use api::chain::ChainInfo;

use crate::output::grouped;

/// Writes an amount in whole tokens with all its digits: `1.5 TLY`. `minor` counts minor units.
pub fn in_tokens(minor: u128, chain: &ChainInfo) -> String {
    let decimals = usize::from(chain.decimals);
    let digits = format!("{minor:0>width$}", width = decimals + 1);
    let (whole, part) = digits.split_at(digits.len() - decimals);
    let (whole, part) = (grouped(whole), part.trim_end_matches('0'));
    match part {
        "" => format!("{whole} {}", chain.symbol),
        part => format!("{whole}.{part} {}", chain.symbol),
    }
}

/// Writes an amount in the smallest unit of its token, as the explorer does: `150,000,000 × 10⁻⁸ TLY`.
pub fn in_smallest_units(minor: u128, chain: &ChainInfo) -> String {
    if chain.decimals == 0 {
        return in_tokens(minor, chain);
    }
    let power: String = chain
        .decimals
        .to_string()
        .bytes()
        .map(|digit| SUPERSCRIPTS[usize::from(digit - b'0')])
        .collect();
    format!("{} × 10⁻{power} {}", grouped(minor), chain.symbol)
}

const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

/// Parses an amount such as `1.5` or `1.5 TLY` into minor units. It is never rounded.
///
/// # Errors
/// The fault, as text: no number, another token's unit, too many decimals, or too large.
pub fn parse(text: &str, chain: &ChainInfo) -> Result<u64, String> {
    let (number, unit) = split_unit(text);
    let symbol = &chain.symbol;
    let (whole, part) = match number.split_once('.') {
        Some((whole, part)) => (whole, Some(part)),
        None => (number, None),
    };
    let is_unit = unit.is_empty() || unit.eq_ignore_ascii_case(symbol);
    if !is_unit || whole.is_empty() || part == Some("") {
        return Err(format!(
            "'{text}' is not an amount of {symbol}: expected a number such as 1000.5, or '1000.5 {symbol}'"
        ));
    }
    // A number without a point is whole.
    let part = part.unwrap_or("");
    let decimals = usize::from(chain.decimals);
    if part.len() > decimals {
        let found = part.len();
        return Err(format!(
            "'{text}' has {found} decimals: expected at most {decimals}, the decimals of {symbol}"
        ));
    }
    let minor = format!("{whole}{part:0<decimals$}");
    minor.parse().map_err(|_| {
        let most = in_tokens(u64::MAX.into(), chain);
        format!("'{text}' is too large: expected at most {most}")
    })
}

/// Parses an amount that must have its unit, such as `1.5 TLY`. For commands with amounts of several tokens.
///
/// # Errors
/// As [`parse`], and an amount without a unit.
pub fn parse_with_unit(text: &str, chain: &ChainInfo) -> Result<u64, String> {
    let minor = parse(text, chain)?;
    if split_unit(text).1.is_empty() {
        let symbol = &chain.symbol;
        return Err(format!(
            "'{text}' has no unit: expected whole tokens with their symbol, such as '1.5 {symbol}'"
        ));
    }
    Ok(minor)
}

/// Splits `1.5 TLY` or `1.5TLY` into a number, of digits with at most one point, and a unit.
fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let mut points = 0;
    let end = text.find(|c: char| {
        points += u32::from(c == '.');
        !(c.is_ascii_digit() || c == '.' && points == 1)
    });
    // Without another character, all of it is the number.
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    (number, unit.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(symbol: &str, decimals: u8) -> ChainInfo {
        ChainInfo {
            id: 1,
            name: "Tally".to_owned(),
            symbol: symbol.to_owned(),
            decimals,
        }
    }

    #[test]
    fn amounts_lead_there_and_back() {
        for (minor, decimals, tokens, smallest) in [
            (0, 8, "0 TLY", "0 × 10⁻⁸ TLY"),
            (1, 0, "1 TLY", "1 TLY"),
            (1, 8, "0.00000001 TLY", "1 × 10⁻⁸ TLY"),
            (50_000_000, 8, "0.5 TLY", "50,000,000 × 10⁻⁸ TLY"),
            (100_000_000, 8, "1 TLY", "100,000,000 × 10⁻⁸ TLY"),
            (123_456, 4, "12.3456 TLY", "123,456 × 10⁻⁴ TLY"),
            (
                1_000_000_000_001,
                12,
                "1.000000000001 TLY",
                "1,000,000,000,001 × 10⁻¹² TLY",
            ),
        ] {
            let chain = token("TLY", decimals);
            assert_eq!(in_tokens(minor, &chain), tokens);
            assert_eq!(in_smallest_units(minor, &chain), smallest);
            assert_eq!(parse(tokens, &chain).map(u128::from), Ok(minor), "{tokens}");
        }
        assert_eq!(
            in_tokens(123_456_700_000_000, &token("TLY", 8)),
            "1,234,567 TLY"
        );
        let most = in_tokens(u64::MAX.into(), &token("TLY", 20));
        assert_eq!(most, "0.18446744073709551615 TLY");
    }

    #[test]
    fn amounts_have_the_unit_of_their_token_or_none() {
        for (text, expected) in [
            ("1.5", Ok(15_000)),
            ("1.5 TLY", Ok(15_000)),
            ("1.5TLY", Ok(15_000)),
            (" 1.5 tly ", Ok(15_000)),
            ("0", Ok(0)),
            ("007", Ok(70_000)),
            ("1844674407370955.1615", Ok(u64::MAX)),
            (
                "1844674407370955.1616",
                Err("is too large: expected at most 1,844,674,407,370,955.1615 TLY"),
            ),
            ("99999999999999999999", Err("is too large")),
            (
                "1.23456",
                Err("has 5 decimals: expected at most 4, the decimals of TLY"),
            ),
            ("1.50000 TLY", Err("has 5 decimals")),
            (
                "1.5 AMB",
                Err("is not an amount of TLY: expected a number such as 1000.5, or '1000.5 TLY'"),
            ),
            ("", Err("is not an amount")),
            ("TLY", Err("is not an amount")),
            (".5", Err("is not an amount")),
            ("5.", Err("is not an amount")),
            ("1.2.3", Err("is not an amount")),
            ("-1", Err("is not an amount")),
            ("+1", Err("is not an amount")),
            ("1,000", Err("is not an amount")),
            ("1 000", Err("is not an amount")),
            ("1e3", Err("is not an amount")),
            ("0x10", Err("is not an amount")),
            ("١", Err("is not an amount")),
        ] {
            let found = parse(text, &token("TLY", 4));
            match (&found, expected) {
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{text}: {found}"),
                _ => assert_eq!(found, expected.map_err(str::to_owned), "{text}"),
            }
        }
        assert!(parse("1.5", &token("BAS", 0)).is_err());
    }

    #[test]
    fn a_command_with_several_tokens_needs_the_unit() {
        let chain = token("AMB", 2);
        assert_eq!(parse_with_unit("1 AMB", &chain), Ok(100));
        let error = parse_with_unit("100", &chain).expect_err("no unit");
        assert!(error.contains("expected whole tokens with their symbol, such as '1.5 AMB'"));
    }
}
