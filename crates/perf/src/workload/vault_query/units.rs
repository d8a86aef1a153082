//! The flows that make a stock, spread over the whole: cash, obligations and papers.

use api::{StartFlow, Wait};
use client::ClientError;
use serde_json::json;

use crate::workload::books::Token;
use crate::workload::{Failed, Step};

/// Upper limit on obligations to the fourth bank.
const RARE_MAX: u64 = 20;
/// Obligations and papers fall due within this many days after they are made.
const DUE_DAYS: u64 = 365;
const DAY_MS: u64 = 86_400_000;

/// The plan of the units that make the stock.
pub(super) struct Plan {
    pub names: Vec<String>,
    pub now_ms: u64,
    /// Cash states of one issue.
    pub outputs: u64,
    /// Obligations, and as many papers.
    pub special: u64,
    /// All of them, and the issues of cash.
    pub units: u64,
}

impl Plan {
    /// Returns the flow of a unit and the bank that starts it.
    pub fn unit(&self, number: u64) -> Result<(usize, Step), Failed> {
        let before = |number: u64| number * 2 * self.special / self.units;
        let (at, next) = (before(number), before(number + 1));
        if at == next {
            return self.cash(number - at);
        }
        if at.is_multiple_of(2) {
            self.obligation(at / 2)
        } else {
            self.paper(at / 2)
        }
    }

    /// Returns an issue of cash. Three fifths are the first bank's own; two fifths are pounds.
    fn cash(&self, n: u64) -> Result<(usize, Step), Failed> {
        let issuer = [0, 0, 0, 1, 2][(n % 5) as usize];
        let currency = ["GBP", "GBP", "EUR", "USD", "CHF"][(n / 5 % 5) as usize];
        let quantity = self.outputs * (100 + mixed(n) % 1_000_000);
        let args = json!({
            "currency": currency, "quantity": quantity, "outputs": self.outputs, "recipient": self.names[0],
        });
        let token = Token {
            symbol: currency.to_owned(),
            issuer: self.names[issuer].clone(),
        };
        let issue = start("cash.issue", &args)?;
        Ok((issuer, recorded_by_asked(issue, Some((token, quantity)))))
    }

    fn obligation(&self, n: u64) -> Result<(usize, Step), Failed> {
        let rare = (self.special / RARE_MAX).max(1);
        let (from, to) = match n % 4 {
            _ if n.is_multiple_of(rare) => (0, 3),
            0 => (0, 1),
            1 => (0, 2),
            2 => (1, 0),
            _ => (2, 0),
        };
        let args = json!({
            "to": self.names[to], "quantity": 1 + mixed(n) % 1_000_000, "due": self.due(n),
            "tokens": [{ "currency": "GBP", "issuer": self.names[0] }],
        });
        let issue = start("obligation.issue", &args)?;
        Ok((from, recorded_by_asked(issue, None)))
    }

    fn paper(&self, n: u64) -> Result<(usize, Step), Failed> {
        let issuer = 1 + (n % 2) as usize;
        let args = json!({
            "face": 1 + mixed(n) % 1_000_000, "token": { "currency": "EUR" }, "maturity": self.due(n),
            "recipient": self.names[0],
        });
        let issue = start("paper.issue", &args)?;
        Ok((issuer, recorded_by_asked(issue, None)))
    }

    /// Returns a due time within a year, at the earliest a day from now.
    fn due(&self, n: u64) -> u64 {
        self.now_ms + DAY_MS + mixed(n) % (DUE_DAYS * DAY_MS)
    }
}

pub(super) fn start(flow: &str, arguments: &serde_json::Value) -> Result<StartFlow, Failed> {
    let start = StartFlow::new(flow, arguments).map_err(ClientError::arguments)?;
    Ok(start.wait(Wait::Delivered))
}

/// Returns a step of the stock. The queried bank is a participant of every one.
pub(super) fn recorded_by_asked(start: StartFlow, issues: Option<(Token, u64)>) -> Step {
    let participants = vec![0];
    Step {
        start,
        issues,
        participants,
    }
}

/// Returns a pseudo-random number that is the same in each run.
fn mixed(n: u64) -> u64 {
    let x = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ (x >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
}

#[cfg(test)]
mod tests {
    use super::super::stock::BANKS;
    use super::*;

    #[test]
    fn the_plan_makes_what_it_says_spread_over_the_whole() {
        let plan = Plan {
            names: ["A", "B", "C", "D"].map(String::from).to_vec(),
            now_ms: 0,
            outputs: 10,
            special: 40,
            units: 1_080,
        };
        let mut seen = std::collections::BTreeMap::new();
        let mut half = std::collections::BTreeMap::new();
        for number in 0..plan.units {
            let (bank, step) = plan.unit(number).expect("arguments");
            assert!(bank < BANKS);
            let flow = step.start.flow;
            assert_eq!(
                step.issues.is_some(),
                flow == "cash.issue",
                "the books know every issue"
            );
            if number < plan.units / 2 {
                *half.entry(flow.clone()).or_insert(0) += 1;
            }
            *seen.entry(flow).or_insert(0) += 1;
        }
        let expected = [
            ("cash.issue", 1_000),
            ("obligation.issue", 40),
            ("paper.issue", 40),
        ];
        let of = |n: &[(&str, i32)]| n.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect();
        assert_eq!(seen, of(&expected));
        let expected = [
            ("cash.issue", 500),
            ("obligation.issue", 20),
            ("paper.issue", 20),
        ];
        assert_eq!(half, of(&expected));
    }
}
