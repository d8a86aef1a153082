//! A vault with many states of several kinds, all recorded by flows, for measuring queries.
//!
//! The first of four banks is queried. It issues cash to itself, and the second and third issue cash and
//! papers to it. It has obligations to them and they to it. It also has a few obligations to the fourth, a participant
//! that few states have. Then the first bank exits some of its own cash and pays the others' cash back, until the wanted
//! share is consumed.

use std::sync::Arc;
use std::time::SystemTime;

use api::query::{Status, VaultQuery};
use client::Client;
use serde_json::json;

use super::units::{Plan, recorded_by_asked, start};
use crate::workload::books::Token;
use crate::workload::codes::BAD_ANSWER;
use crate::workload::{Delivered, Failed, Site, Step};

/// The number of banks.
pub(super) const BANKS: usize = 4;
/// The bank whose vault is queried.
pub(super) const ASKED: usize = 0;
/// One state in this many is an obligation, and one is a paper.
const ONE_IN: u64 = 100;
/// Upper limit on cash states of one issue: about 60 KB.
const OUTPUTS_MAX: u64 = 400;
/// Minimum number of issues, so that small stocks have several tokens too.
const ISSUES_MIN: u64 = 50;
/// Flows outstanding while states are made. An issue makes hundreds.
const OUTSTANDING: usize = 16;
/// Percent of the states that are consumed at the end.
const CONSUMED_PERCENT: u64 = 30;
/// Approximate number of states that one flow consumes.
const CONSUMED_AT_ONCE: u64 = 300;
/// Upper limit on rounds of consuming. Each covers at least a third of the rest.
const ROUNDS_MAX: usize = 40;

/// Fills the vault of the first bank with this many states, and consumes some of them.
pub(super) async fn fill(site: &Arc<Site>, states: u64) -> Result<(), Failed> {
    let stock = Stock {
        names: names(site)?,
        site: Arc::clone(site),
    };
    stock.fill(states).await
}

/// Returns the legal names of the banks, in order.
pub(super) fn names(site: &Site) -> Result<Vec<String>, Failed> {
    let name = |bank| site.name(bank).map(str::to_owned);
    (0..BANKS).map(name).collect()
}

/// The vault's contents, as the node counts them.
#[derive(Clone, Copy, Debug, Default)]
struct Stocked {
    /// States, consumed or not.
    states: u64,
    /// Those of them that are consumed.
    consumed: u64,
}

struct Stock {
    site: Arc<Site>,
    names: Vec<String>,
}

impl Stock {
    async fn fill(&self, states: u64) -> Result<(), Failed> {
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
        let make = |number| plan.unit(number);
        self.stretch("states", units, make, |_, _| Ok(())).await?;
        self.consume(states).await?;
        let stocked = self.stocked().await?;
        if stocked.states < states {
            let message = format!("the vault has {} of {states} states", stocked.states);
            return Err(Failed::new(BAD_ANSWER, message));
        }
        Ok(())
    }

    fn asked(&self) -> Result<&Client, Failed> {
        Ok(self.site.bank(ASKED)?.client())
    }

    async fn stretch(
        &self,
        step: &str,
        units: u64,
        make: impl Fn(u64) -> Result<(usize, Step), Failed>,
        each: impl Fn(u64, &Delivered) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        self.site.preparation().begin(step, units);
        self.site
            .prepare_steps(OUTSTANDING, units, make, each)
            .await?;
        Ok(self.site.caught_up().await?)
    }

    /// Consumes states. The largest coins go first, so a flow consumes fewer than the average implies. Hence several
    /// rounds.
    async fn consume(&self, states: u64) -> Result<(), Failed> {
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
            let mut parts = Vec::new();
            for token in &tokens {
                let share = u128::from(left) * u128::from(token.states) / u128::from(held.max(1));
                let mut states = u64::try_from(share).expect("a share of `left`").max(1);
                while states > 0 && token.states > 0 {
                    let part = states.min(CONSUMED_AT_ONCE);
                    states -= part;
                    let quantity = token.quantity / u128::from(token.states) * u128::from(part);
                    // A flow moves at most the largest quantity; further rounds move the rest.
                    let quantity = u64::try_from(quantity).unwrap_or(u64::MAX).max(1);
                    parts.push((&token.token, quantity));
                }
            }
            let part = |number: u64| parts[usize::try_from(number).expect("an index")];
            let make = |number| {
                let (token, quantity) = part(number);
                Ok((ASKED, self.consuming(token, quantity)?))
            };
            let each = |number, _: &Delivered| {
                let (token, quantity) = part(number);
                if token.issuer == self.names[ASKED] {
                    self.site.redeemed(token, quantity);
                }
                Ok(())
            };
            self.stretch("consumed states", parts.len() as u64, make, each)
                .await?;
        }
        Ok(())
    }

    /// Returns an exit of the bank's own cash, or a payment of another's cash back to its issuer.
    fn consuming(&self, token: &Token, quantity: u64) -> Result<Step, Failed> {
        let (currency, issuer) = (&token.symbol, &token.issuer);
        let start = match *issuer == self.names[ASKED] {
            true => {
                let exit = json!({ "currency": currency, "quantity": quantity });
                start("cash.exit", &exit)?
            }
            false => {
                let payments = json!([{ "to": issuer, "quantity": quantity, "states": 1 }]);
                let pay = json!({ "currency": currency, "issuer": issuer, "payments": payments });
                start("cash.pay", &pay)?
            }
        };
        Ok(recorded_by_asked(start, None))
    }

    async fn tokens(&self) -> Result<Vec<Holding>, Failed> {
        let query = VaultQuery {
            group_by: Some(vec!["symbol".into(), "issuer".into()]),
            ..VaultQuery::default()
        };
        let answer = self.asked()?.query_vault(&query).await?;
        let held = answer.groups.iter().filter_map(|group| {
            Some(Holding {
                token: Token {
                    symbol: group.key.first().cloned()??,
                    issuer: group.key.get(1).cloned()??,
                },
                states: group.states,
                quantity: group.quantity.parse().ok()?,
            })
        });
        Ok(held.collect())
    }

    async fn stocked(&self) -> Result<Stocked, Failed> {
        let mut stocked = Stocked::default();
        for status in [Status::Unconsumed, Status::Consumed] {
            let query = VaultQuery {
                status,
                group_by: Some(Vec::new()),
                ..VaultQuery::default()
            };
            let answer = self.asked()?.query_vault(&query).await?;
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
    token: Token,
    states: u64,
    quantity: u128,
}
