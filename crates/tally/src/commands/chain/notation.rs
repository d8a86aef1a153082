//! The notation of a network's chains, amounts and times in the output of commands.

use api::chain::{ChainInfo, Constants};
use chain::ChainId;
use client::{ChainClient, ClientError};
use primitives::Timestamp;

use super::amount;
use crate::output::grouped;

/// The unit of amounts in tables.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct AmountUnit {
    /// Show amounts in the smallest unit, such as 150,000,000 × 10⁻⁸ TLY instead of 1.5 TLY; JSON always has this unit
    #[arg(long)]
    smallest_unit: bool,
}

impl AmountUnit {
    /// Returns the notation of the network of a node.
    pub async fn notation(self, client: &ChainClient) -> Result<Notation, ClientError> {
        Ok(self.of(client.constants().await?))
    }

    fn of(self, constants: Constants) -> Notation {
        Notation {
            constants,
            smallest_unit: self.smallest_unit,
        }
    }
}

/// A network's constants, and the unit of its amounts.
pub struct Notation {
    /// The network's constants.
    pub constants: Constants,
    smallest_unit: bool,
}

impl Notation {
    /// Writes an amount of a chain's token in its unit. `minor` counts minor units.
    pub fn amount(&self, minor: u64, chain: u8) -> String {
        self.written(minor.into(), chain)
    }

    /// Writes whole tokens of the parent chain, such as a stake.
    pub fn stake(&self, tokens: u64) -> String {
        let parent = self.chain_or_unknown(ChainId::PARENT.0);
        // Genesis limits decimals to 12, so the product of a real network fits.
        let unit = 10u128.saturating_pow(u32::from(parent.decimals));
        self.written(u128::from(tokens).saturating_mul(unit), parent.id)
    }

    fn written(&self, minor: u128, chain: u8) -> String {
        let chain = self.chain_or_unknown(chain);
        match self.smallest_unit {
            true => amount::in_smallest_units(minor, &chain),
            false => amount::in_tokens(minor, &chain),
        }
    }

    /// Writes the amounts of an error message of the chain's core in their unit. The core writes `100 minor units of chain 1`.
    pub fn with_units(&self, message: &str) -> String {
        let mut text = String::new();
        let mut rest = message;
        while let Some(amount) = CoreAmount::find(rest) {
            text.push_str(&rest[..amount.from]);
            text.push_str(&self.written(amount.minor, amount.chain));
            rest = &rest[amount.to..];
        }
        text + rest
    }

    /// Writes a chain's name and token: `Amber (AMB)`.
    pub fn chain_name(&self, chain: u8) -> String {
        let chain = self.chain_or_unknown(chain);
        format!("{} ({})", chain.name, chain.symbol)
    }

    /// Returns a chain by its number.
    pub fn chain(&self, id: u8) -> Option<&ChainInfo> {
        self.constants.chains.iter().find(|chain| chain.id == id)
    }

    /// Returns a chain by its token's symbol or its number.
    ///
    /// # Errors
    /// The network has no such chain. The text names those that it has.
    pub fn find_chain(&self, wanted: &str) -> Result<&ChainInfo, String> {
        let chains = &self.constants.chains;
        let meets = |chain: &&ChainInfo| {
            chain.symbol.eq_ignore_ascii_case(wanted) || chain.id.to_string() == wanted
        };
        chains.iter().find(meets).ok_or_else(|| {
            let known = chains.iter().map(|c| format!("{} ({})", c.symbol, c.id));
            let known: Vec<String> = known.collect();
            format!("no chain '{wanted}'; there are {}", known.join(", "))
        })
    }

    /// A chain that the constants lack would be a newer node's. Its amounts are shown in its smallest unit.
    fn chain_or_unknown(&self, id: u8) -> ChainInfo {
        self.chain(id).cloned().unwrap_or_else(|| ChainInfo {
            id,
            name: format!("Chain {id}"),
            symbol: format!("chain {id}"),
            decimals: 0,
        })
    }

    /// Writes a time of the chain, in seconds since genesis, as RFC 3339 in UTC.
    pub fn time(&self, seconds: u32) -> String {
        let genesis = Timestamp::from_ms(self.constants.genesis_time_ms);
        match genesis.plus_ms(u64::from(seconds) * 1_000) {
            Some(time) => time.to_string(),
            None => format!("{} s after genesis", grouped(seconds)),
        }
    }

    /// Returns a parameter of consensus that is a whole number.
    pub fn parameter(&self, name: &str) -> Option<u64> {
        let value = self.constants.parameters.get(name)?;
        // Quantities are text.
        let text = value.as_str().and_then(|text| text.parse().ok());
        value.as_u64().or(text)
    }
}

/// An amount in an error message of the chain's core.
struct CoreAmount {
    minor: u128,
    chain: u8,
    /// Its place in the message, in bytes.
    from: usize,
    to: usize,
}

impl CoreAmount {
    /// Returns the first amount of a message.
    fn find(message: &str) -> Option<Self> {
        const UNITS: [&str; 2] = [" minor units of chain ", " minor unit of chain "];
        let places = UNITS
            .iter()
            .filter_map(|unit| Some((message.find(unit)?, unit.len())));
        let (at, unit) = places.min()?;
        let is_digit = |c: char| c.is_ascii_digit();
        let from = message[..at].trim_end_matches(is_digit).len();
        let after = &message[at + unit..];
        let digits = after.len() - after.trim_start_matches(is_digit).len();
        Some(Self {
            minor: message[from..at].parse().ok()?,
            chain: after[..digits].parse().ok()?,
            from,
            to: at + unit + digits,
        })
    }
}

/// Writes a length of time with its two largest units: `2 min 5 s`.
pub fn duration(seconds: u64) -> String {
    let units = [
        (seconds / 86_400, "d"),
        (seconds / 3_600 % 24, "h"),
        (seconds / 60 % 60, "min"),
        (seconds % 60, "s"),
    ];
    let Some(first) = units.iter().position(|(count, _)| *count > 0) else {
        return "0 s".to_owned();
    };
    let shown = units.iter().skip(first).take(2);
    let shown = shown.filter(|(count, _)| *count > 0);
    let shown: Vec<String> = shown
        .map(|(count, unit)| format!("{} {unit}", grouped(count)))
        .collect();
    shown.join(" ")
}

#[cfg(test)]
impl Notation {
    /// Returns the notation of a test network with the parent token TLY (8 decimals) and the child token BAS (4 decimals). Genesis
    /// is on 2026-01-01.
    pub(super) fn of_test(smallest_unit: bool) -> Self {
        let chains = [(1, "Tally", "TLY", 8), (3, "Basalt", "BAS", 4)];
        let chains = chains.map(|(id, name, symbol, decimals)| ChainInfo {
            id,
            name: name.to_owned(),
            symbol: symbol.to_owned(),
            decimals,
        });
        let parameters = serde_json::json!({
            "rollback_blocks_max": 720, "deadline_minutes_max": 1_440, "effective_tokens_min": "1000"
        });
        AmountUnit { smallest_unit }.of(Constants {
            network: "test".to_owned(),
            genesis: "00".repeat(32),
            genesis_time_ms: 1_767_225_600_000,
            parameters: parameters.as_object().cloned().expect("an object"),
            chains: chains.to_vec(),
            submit_batch_max: 1_000,
            software: "tally/1".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_the_unit_of_their_chain() {
        let [tokens, smallest] = [false, true].map(Notation::of_test);
        for (minor, chain, in_tokens, in_smallest) in [
            (150_000_000, 1, "1.5 TLY", "150,000,000 × 10⁻⁸ TLY"),
            (5, 3, "0.0005 BAS", "5 × 10⁻⁴ BAS"),
            (5_000, 9, "5,000 chain 9", "5,000 chain 9"),
        ] {
            assert_eq!(tokens.amount(minor, chain), in_tokens);
            assert_eq!(smallest.amount(minor, chain), in_smallest);
        }
        assert_eq!(tokens.stake(1_000), "1,000 TLY");
        assert_eq!(smallest.stake(1_000), "100,000,000,000 × 10⁻⁸ TLY");
        assert_eq!(tokens.chain_name(3), "Basalt (BAS)");
    }

    #[test]
    fn amounts_of_the_core_get_their_unit() {
        let [tokens, smallest] = [false, true].map(Notation::of_test);
        let fee = chain::MinorUnits::new(10_000).on(ChainId::PARENT);
        let one = chain::MinorUnits::new(1).on(ChainId(3));
        for (message, written) in [
            (
                format!("a fee of {fee}, not {one}"),
                "a fee of 0.0001 TLY, not 0.0001 BAS",
            ),
            (fee.to_string(), "0.0001 TLY"),
            ("no amount".to_owned(), "no amount"),
            (
                "some minor units of chain 1".to_owned(),
                "some minor units of chain 1",
            ),
            ("5 minor units of chain 9".to_owned(), "5 chain 9"),
        ] {
            assert_eq!(tokens.with_units(&message), written);
        }
        assert_eq!(smallest.with_units(&fee.to_string()), "10,000 × 10⁻⁸ TLY");
    }

    #[test]
    fn chains_are_found_by_symbol_and_number() {
        let notation = Notation::of_test(false);
        for (wanted, id) in [
            ("TLY", Some(1)),
            ("bas", Some(3)),
            ("3", Some(3)),
            ("2", None),
        ] {
            let found = notation.find_chain(wanted).ok();
            assert_eq!(found.map(|chain| chain.id), id, "{wanted}");
        }
        let error = notation.find_chain("AMB").expect_err("unknown");
        assert_eq!(error, "no chain 'AMB'; there are TLY (1), BAS (3)");
    }

    #[test]
    fn times_and_durations() {
        assert_eq!(
            Notation::of_test(false).time(90),
            "2026-01-01T00:01:30.000Z"
        );
        for (seconds, text) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3_605, "1 h"),
            (7_260, "2 h 1 min"),
            (200_000, "2 d 7 h"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }
}
