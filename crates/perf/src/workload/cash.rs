//! The shared part of the cash workloads: payer, payee, amounts, and the arguments of their flows.

use serde::Serialize;

use super::books::Token;
use super::ended::Failed;
use super::{KnobError, Knobs, Site};

/// The position of the bank that issues and pays.
pub(super) const PAYER: u32 = 0;
/// The position of the bank that is paid.
pub(super) const PAYEE: u32 = 1;
/// Default minor units of each issue and payment.
const QUANTITY: u64 = 1_000;
/// Upper limit on minor units of a unit of work. Sums over a run stay far below the maximum of a quantity.
const QUANTITY_MAX: u64 = 1_000_000_000;
/// Default time window of payments, in milliseconds: the notary has to sign within it. The published payments have such a window.
const WINDOW_MS: u64 = 30_000;
/// Upper limit on a time window: a day.
const WINDOW_MS_MAX: u64 = 86_400_000;
/// The flows' upper limit on states of one transaction.
const STATES_MAX: u64 = 1_000;

/// The amount of each issue or payment: the knobs `currency` and `quantity`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Money {
    pub currency: String,
    /// Minor units.
    pub quantity: u64,
}

impl Money {
    /// Reads the knobs; `currency` is the default currency.
    pub fn of(knobs: &mut Knobs, currency: &str) -> Result<Self, KnobError> {
        Ok(Self {
            quantity: knobs.number("quantity", QUANTITY, 1..=QUANTITY_MAX)?,
            currency: knobs.currency(currency)?,
        })
    }

    /// Returns the number of states that it is divided into: the knob `states`.
    pub fn states(&self, knobs: &mut Knobs) -> Result<u64, KnobError> {
        let states = knobs.number("states", 1, 1..=STATES_MAX)?;
        if states > self.quantity {
            let message = format!(
                "no more states than minor units ({}) are allowed",
                self.quantity
            );
            return Err(KnobError::new("states", message));
        }
        Ok(states)
    }

    /// Returns the token that the payer issues.
    pub fn token(&self, site: &Site) -> Result<Token, Failed> {
        site.token(&self.currency, PAYER as usize)
    }
}

/// Returns the time window of payments in milliseconds: the knob `window_ms`. `None` if it is 0.
pub(super) fn window(knobs: &mut Knobs) -> Result<Option<u64>, KnobError> {
    let window_ms = knobs.number("window_ms", WINDOW_MS, 0..=WINDOW_MS_MAX)?;
    Ok((window_ms > 0).then_some(window_ms))
}

/// Arguments of `cash.issue`.
#[derive(Serialize)]
pub(super) struct Issue<'a> {
    pub currency: &'a str,
    pub quantity: u64,
    pub outputs: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<&'a str>,
}

/// Arguments of `cash.pay`.
#[derive(Serialize)]
pub(super) struct Pay<'a> {
    pub currency: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<&'a str>,
    pub payments: [Payment<'a>; 1],
    pub anonymous: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<u64>,
}

/// One payment of `cash.pay`.
#[derive(Serialize)]
pub(super) struct Payment<'a> {
    pub to: &'a str,
    pub quantity: u64,
    pub states: u64,
}

/// Arguments of `cash.issue_and_pay`.
#[derive(Serialize)]
pub(super) struct IssueAndPay<'a> {
    pub currency: &'a str,
    pub quantity: u64,
    pub recipient: &'a str,
    pub anonymous: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payment_has_a_window_unless_it_is_switched_off() {
        for (text, expected) in [
            ("", Ok(Some(30_000))),
            ("window_ms = 1", Ok(Some(1))),
            ("window_ms = 0", Ok(None)),
            ("window_ms = 86400001", Err("window_ms")),
        ] {
            let mut knobs = Knobs::new(toml::from_str(text).expect("TOML"));
            let read = window(&mut knobs).map_err(|error| error.knob);
            assert_eq!(read, expected.map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn money_is_read_alike_by_all() {
        for (text, expected) in [
            ("", Ok((1_000, "GBP", 1))),
            (
                "quantity = 7\ncurrency = 'CHF'\nstates = 7",
                Ok((7, "CHF", 7)),
            ),
            ("quantity = 0", Err("quantity")),
            ("quantity = 1000000001", Err("quantity")),
            ("currency = 'pounds'", Err("currency")),
            ("quantity = 4\nstates = 5", Err("states")),
            ("states = 1001\nquantity = 5000", Err("states")),
        ] {
            let mut knobs = Knobs::new(toml::from_str(text).expect("TOML"));
            let read = Money::of(&mut knobs, "GBP").and_then(|money| {
                let states = money.states(&mut knobs)?;
                Ok((money, states))
            });
            match (read, expected) {
                (Ok((money, states)), Ok(expected)) => {
                    assert_eq!((money.quantity, money.currency.as_str(), states), expected);
                }
                (Err(error), Err(knob)) => assert_eq!(error.knob, knob, "{text}"),
                (read, _) => panic!("{text}: {read:?}"),
            }
        }
    }
}
