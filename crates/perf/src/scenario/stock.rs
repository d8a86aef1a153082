//! A vault with many states of several kinds, all recorded by flows, for measuring queries.
//!
//! There are four banks. The first one is queried. It issues cash to itself, and the second and third issue cash and
//! papers to it. It has obligations to them and they to it. It also has a few obligations to the fourth, a participant
//! that few states have. Then the first bank exits some of its own cash and pays the others' cash back, until the wanted
//! share is consumed.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use api::query::{Status, VaultQuery};
use api::{StartFlow, Wait};
use client::{Client, ClientError, Stream};
use serde_json::json;

use super::cash;
use super::lab::{LabError, view_caught_up};
use crate::load::{Fault, Live, Load, Starts, Ways, window};
use crate::topology::{Network, NetworkOptions, Who};

/// The bank whose vault is queried.
pub const ASKED: Who = Who::Bank(0);
/// One state in this many is an obligation, and one is a paper.
const ONE_IN: u64 = 100;
/// Upper limit on cash states of one issue: about 60 KB.
const OUTPUTS_MAX: u64 = 400;
/// Minimum number of issues, so that small stocks have several tokens too.
const ISSUES_MIN: u64 = 50;
/// Upper limit on obligations to the fourth bank.
const RARE_MAX: u64 = 20;
/// Flows outstanding while states are made. An issue makes hundreds.
const OUTSTANDING: usize = 16;
/// Percent of the states that are consumed at the end.
const CONSUMED_PERCENT: u64 = 30;
/// Approximate number of states that one flow consumes.
const CONSUMED_AT_ONCE: u64 = 300;
/// Upper limit on rounds of consuming. Each covers at least a third of the rest.
const ROUNDS_MAX: usize = 40;
/// Time limit of one stretch.
const STRETCH_MAX: Duration = Duration::from_secs(3_600);
/// Obligations and papers fall due within this many days after they are made.
const DUE_DAYS: u64 = 365;
const DAY_MS: u64 = 86_400_000;

/// Returns the options of a network of four banks and a notary.
pub fn network_options(binary: std::path::PathBuf) -> NetworkOptions {
    NetworkOptions {
        banks: ["Bank A", "Bank B", "Bank C", "Bank D"]
            .map(String::from)
            .to_vec(),
        ..NetworkOptions::two_banks(binary)
    }
}

/// The vault's contents at the end, as the node counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stocked {
    /// States, consumed or not.
    pub states: u64,
    /// Those of them that are consumed.
    pub consumed: u64,
}

/// Fills the vault of the first bank with this many states.
pub async fn fill(network: &Network, states: u64, live: Arc<Live>) -> Result<Stocked, LabError> {
    let banks: Result<Vec<Client>, _> = (0..network.banks())
        .map(|bank| network.client(Who::Bank(bank)))
        .collect();
    let stock = Stock {
        names: (0..network.banks())
            .map(|bank| network.name(Who::Bank(bank)).to_owned())
            .collect(),
        banks: banks?,
        live,
    };
    stock.fill(states).await
}

struct Stock {
    banks: Vec<Client>,
    names: Vec<String>,
    live: Arc<Live>,
}

impl Stock {
    async fn fill(self, states: u64) -> Result<Stocked, LabError> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let special = (states / ONE_IN).max(1);
        // The smallest stock has one state of each kind.
        let cash = states.saturating_sub(2 * special).max(1);
        let outputs = (cash / ISSUES_MIN).clamp(1, OUTPUTS_MAX);
        let issues = cash.div_ceil(outputs);
        // Each kind is spread over the whole period, so that times and kinds are independent.
        let units = issues + 2 * special;
        let plan = Plan {
            names: self.names.clone(),
            now_ms: now.map_or(0, |now| now.as_millis() as u64),
            outputs,
            special,
            units,
        };
        self.stretch(units, move |number| plan.unit(number)).await?;
        self.consume(states).await?;
        self.stocked().await
    }

    fn asked(&self) -> &Client {
        &self.banks[0]
    }

    async fn stretch(
        &self,
        units: u64,
        make: impl Fn(u64) -> Result<(usize, StartFlow), ClientError>,
    ) -> Result<(), LabError> {
        let starts: Result<Vec<(usize, StartFlow)>, ClientError> = (0..units).map(make).collect();
        let starts: Vec<(usize, StartFlow)> = starts?
            .into_iter()
            .map(|(way, start)| (way, start.wait(Wait::Delivered)))
            .collect();
        let streams: Vec<Stream> = self.banks.iter().map(Client::stream).collect();
        let pick = move |number: u64| starts[(number % starts.len() as u64) as usize].clone();
        let work = Arc::new(Starts::new(Ways::Streams(streams), pick));
        let load = Load {
            outstanding: OUTSTANDING,
            duration: STRETCH_MAX,
            most: units,
        };
        let done = window(work, Arc::clone(&self.live), load, 0, async {}).await;
        if done.done.len() as u64 != units {
            let first = done.faults.into_iter().next();
            return Err(LabError::Funding {
                failed: units - done.done.len() as u64,
                wanted: units,
                first: first.map_or_else(
                    || "out of time".to_owned(),
                    |(code, (_, message))| Fault { code, message }.to_string(),
                ),
            });
        }
        if !view_caught_up(self.asked()).await {
            return Err(LabError::ViewBehind(self.names[0].clone()));
        }
        Ok(())
    }

    /// Consumes states. The largest coins go first, so a flow consumes fewer than the average implies. Hence several
    /// rounds.
    async fn consume(&self, states: u64) -> Result<(), LabError> {
        let wanted = states * CONSUMED_PERCENT / 100;
        for _ in 0..ROUNDS_MAX {
            let consumed = self.stocked().await?.consumed;
            // The last round may have consumed more than wanted.
            let left = wanted.saturating_sub(consumed);
            if left == 0 {
                break;
            }
            let tokens = self.tokens().await?;
            let held: u64 = tokens.iter().map(|token| token.states).sum();
            let mut starts = Vec::new();
            for token in &tokens {
                let share = u128::from(left) * u128::from(token.states) / u128::from(held.max(1));
                let mut states = u64::try_from(share).expect("a share of `left`").max(1);
                while states > 0 && token.states > 0 {
                    let part = states.min(CONSUMED_AT_ONCE);
                    states -= part;
                    let quantity = token.quantity / u128::from(token.states) * u128::from(part);
                    // A flow moves at most the largest quantity; further rounds move the rest.
                    let quantity = u64::try_from(quantity).unwrap_or(u64::MAX).max(1);
                    starts.push(self.consuming(token, quantity)?);
                }
            }
            let units = starts.len() as u64;
            let pick =
                |number: u64| Ok((0, starts[(number % starts.len() as u64) as usize].clone()));
            self.stretch(units, pick).await?;
        }
        Ok(())
    }

    fn consuming(&self, token: &Holding, quantity: u64) -> Result<StartFlow, ClientError> {
        if token.issuer == self.names[0] {
            cash::exit(&token.symbol, quantity)
        } else {
            cash::pay(
                &token.symbol,
                Some(&token.issuer),
                quantity,
                &token.issuer,
                1,
            )
        }
    }

    async fn tokens(&self) -> Result<Vec<Holding>, LabError> {
        let query = VaultQuery {
            group_by: Some(vec!["symbol".into(), "issuer".into()]),
            ..VaultQuery::default()
        };
        let answer = self.asked().query_vault(&query).await?;
        let held = answer.groups.iter().filter_map(|group| {
            Some(Holding {
                symbol: group.key.first().cloned()??,
                issuer: group.key.get(1).cloned()??,
                states: group.states,
                quantity: group.quantity.parse().ok()?,
            })
        });
        Ok(held.collect())
    }

    async fn stocked(&self) -> Result<Stocked, LabError> {
        let mut stocked = Stocked::default();
        for status in [Status::Unconsumed, Status::Consumed] {
            let query = VaultQuery {
                status,
                group_by: Some(Vec::new()),
                ..VaultQuery::default()
            };
            let answer = self.asked().query_vault(&query).await?;
            let states: u64 = answer.groups.iter().map(|group| group.states).sum();
            stocked.states += states;
            if status == Status::Consumed {
                stocked.consumed = states;
            }
        }
        Ok(stocked)
    }
}

struct Holding {
    symbol: String,
    issuer: String,
    states: u64,
    quantity: u128,
}

/// The plan of the units that make the stock.
struct Plan {
    names: Vec<String>,
    now_ms: u64,
    outputs: u64,
    special: u64,
    units: u64,
}

impl Plan {
    /// Returns the flow of a unit and the bank that starts it.
    fn unit(&self, number: u64) -> Result<(usize, StartFlow), ClientError> {
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
    fn cash(&self, n: u64) -> Result<(usize, StartFlow), ClientError> {
        let issuer = [0, 0, 0, 1, 2][(n % 5) as usize];
        let currency = ["GBP", "GBP", "EUR", "USD", "CHF"][(n / 5 % 5) as usize];
        let quantity = self.outputs * (100 + mixed(n) % 1_000_000);
        let args = json!({
            "currency": currency, "quantity": quantity, "outputs": self.outputs, "recipient": self.names[0],
        });
        Ok((issuer, start("cash.issue", &args)?))
    }

    fn obligation(&self, n: u64) -> Result<(usize, StartFlow), ClientError> {
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
        Ok((from, start("obligation.issue", &args)?))
    }

    fn paper(&self, n: u64) -> Result<(usize, StartFlow), ClientError> {
        let issuer = 1 + (n % 2) as usize;
        let args = json!({
            "face": 1 + mixed(n) % 1_000_000, "token": { "currency": "EUR" }, "maturity": self.due(n),
            "recipient": self.names[0],
        });
        Ok((issuer, start("paper.issue", &args)?))
    }

    /// Returns a due time within a year, at the earliest a day from now.
    fn due(&self, n: u64) -> u64 {
        self.now_ms + DAY_MS + mixed(n) % (DUE_DAYS * DAY_MS)
    }
}

fn start(flow: &str, arguments: &serde_json::Value) -> Result<StartFlow, ClientError> {
    StartFlow::new(flow, arguments).map_err(ClientError::arguments)
}

/// Returns a pseudo-random number that is the same in each run.
fn mixed(n: u64) -> u64 {
    let x = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ (x >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
}

#[cfg(test)]
mod tests {
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
            let (bank, start) = plan.unit(number).expect("arguments");
            assert!(bank < 4);
            *seen.entry(start.flow.clone()).or_insert(0) += 1;
            if number < plan.units / 2 {
                *half.entry(start.flow).or_insert(0) += 1;
            }
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
