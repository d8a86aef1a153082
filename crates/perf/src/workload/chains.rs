//! States with a back chain: an issue, followed by a number of payments. They go back and forth between the holder and a partner, so that these two
//! know them, or from the holder to itself, so that no other node does.
//!
//! Payments select their coins from the vault: the smallest one that suffices, and of equal ones the oldest. So each
//! batch of states has a unique quantity, and a round of payments begins when the previous one has ended. Then each round
//! moves each state of the batch exactly once.

use std::sync::Arc;

use api::StartFlow;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Site;
use super::codes::TOO_MUCH_TO_PREPARE;
use super::ended::Failed;
use super::site::{Delivered, Step};

/// States of one batch, well within the number that a node keeps in memory for one token.
const BATCH_MAX: u64 = 4_000;
/// States of one issue: few, so that their shared history is small.
const ISSUED_AT_ONCE: u64 = 20;
/// Upper limit on transactions of one preparation.
const TRANSACTIONS_MAX: u64 = 5_000_000;

/// A state reference in the form of the flows' arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StateRef {
    pub tx: String,
    pub index: u32,
}

/// A prepared state and its value.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    pub quantity: u64,
    pub state: StateRef,
}

/// The asset to prepare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asset {
    /// Cash issued by the holder, under a currency.
    Cash,
    /// Stock issued by the holder, under a symbol.
    Stock,
}

/// Chains of one holder.
#[derive(Clone, Debug)]
pub(super) struct Chains {
    pub asset: Asset,
    pub symbol: String,
    /// The position of the bank that issues and holds them.
    pub holder: u32,
    /// The position of the bank that the payments go to and come back from. If the depth is odd, the first payment is to the holder itself.
    /// `None`: all payments are.
    pub partner: Option<u32>,
    /// Payments behind each state.
    pub depth: u64,
}

/// Returns the number of flows for `count` chains.
pub(super) fn flows(count: u64, depth: u64) -> Result<u64, Failed> {
    let issues = count.div_ceil(ISSUED_AT_ONCE).max(1);
    // A number that is too large to express is above the limit too.
    let all = count.saturating_mul(depth).saturating_add(issues);
    if all <= TRANSACTIONS_MAX {
        return Ok(all);
    }
    let message = format!(
        "{count} states with {depth} payments behind each are {all} transactions, more than {TRANSACTIONS_MAX}: \
         lower the count of the run, or the depth"
    );
    Err(Failed::new(TOO_MUCH_TO_PREPARE, message))
}

impl Chains {
    /// Makes `count` states. Those of the first batch are worth `quantity` each, later ones a little more. No quantity is
    /// used twice for one symbol on a site.
    pub async fn build(
        &self,
        site: &Arc<Site>,
        count: u64,
        quantity: u64,
    ) -> Result<Vec<Prepared>, Failed> {
        let mut all = Vec::new();
        while (all.len() as u64) < count {
            let batch = (count - all.len() as u64).min(BATCH_MAX);
            let number = site.count(&format!("chains {} {}", self.symbol, self.holder));
            let quantity = quantity + number;
            let states = self.batch(site, batch, quantity).await?;
            let priced = states.into_iter().map(|state| Prepared { quantity, state });
            all.extend(priced);
        }
        Ok(all)
    }

    async fn batch(
        &self,
        site: &Arc<Site>,
        count: u64,
        quantity: u64,
    ) -> Result<Vec<StateRef>, Failed> {
        let token = site.token(&self.symbol, self.holder as usize)?;
        let states_of = |number: u64| (count - number * ISSUED_AT_ONCE).min(ISSUED_AT_ONCE);
        let issue = |number: u64| {
            let states = states_of(number);
            Ok(Step {
                start: self.issue(site, states, quantity)?,
                issues: Some((token.clone(), states * quantity)),
                participants: vec![self.holder],
            })
        };
        let collected = Collected::default();
        let issues = count.div_ceil(ISSUED_AT_ONCE);
        let holder = self.holder as usize;
        let issued = |number, made: &Delivered| collected.add(made, states_of(number));
        site.prepare_with(holder, issues, issue, issued).await?;
        let mut now = collected.take();
        for left in (0..self.depth).rev() {
            let (from, to) = self.payment(left);
            let pay = |_| {
                Ok(Step {
                    start: self.pay(site, to, quantity)?,
                    issues: None,
                    participants: if from == to {
                        vec![from]
                    } else {
                        vec![from, to]
                    },
                })
            };
            let moved = |_, made: &Delivered| collected.add(made, 1);
            site.prepare_with(from as usize, count, pay, moved).await?;
            now = collected.take();
        }
        Ok(now)
    }

    /// Returns payer and payee of the payment before the last `left` ones. The last payment is to the holder.
    fn payment(&self, left: u64) -> (u32, u32) {
        let holder = self.holder;
        match self.partner {
            Some(partner) if left.is_multiple_of(2) && left + 1 < self.depth => (partner, holder),
            Some(partner) if !left.is_multiple_of(2) => (holder, partner),
            _ => (holder, holder),
        }
    }

    fn issue(&self, site: &Site, states: u64, quantity: u64) -> Result<StartFlow, Failed> {
        let (flow, symbol) = match self.asset {
            Asset::Cash => ("cash.issue", "currency"),
            Asset::Stock => ("stock.issue", "symbol"),
        };
        let mut arguments = json!({ "quantity": states * quantity, "outputs": states });
        arguments[symbol] = Value::from(self.symbol.as_str());
        site.start_of(flow, &arguments)
    }

    fn pay(&self, site: &Site, to: u32, quantity: u64) -> Result<StartFlow, Failed> {
        let (to, issuer) = (site.name(to as usize)?, site.name(self.holder as usize)?);
        match self.asset {
            Asset::Cash => {
                let payments = json!([{ "to": to, "quantity": quantity }]);
                let arguments =
                    json!({ "currency": self.symbol, "issuer": issuer, "payments": payments });
                site.start_of("cash.pay", &arguments)
            }
            Asset::Stock => {
                let arguments = json!({
                    "symbol": self.symbol, "issuer": issuer, "quantity": quantity, "to": to,
                });
                site.start_of("stock.transfer", &arguments)
            }
        }
    }
}

/// Collects states as they are made.
#[derive(Default)]
struct Collected(std::sync::Mutex<Vec<StateRef>>);

impl Collected {
    /// Adds the first outputs of a flow's last transaction.
    fn add(&self, delivered: &Delivered, outputs: u64) -> Result<(), Failed> {
        let tx = delivered.last()?.to_string();
        let mut states = self.lock();
        states.extend((0u32..).zip(0..outputs).map(|(index, _)| StateRef {
            tx: tx.clone(),
            index,
        }));
        Ok(())
    }

    fn take(&self) -> Vec<StateRef> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<StateRef>> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payments_end_with_the_holder_and_only_the_partner_takes_part() {
        for (partner, depth, expected) in [
            (None, 2, &[(1, 1), (1, 1)][..]),
            (Some(2), 0, &[]),
            (Some(2), 1, &[(1, 1)]),
            (Some(2), 2, &[(1, 2), (2, 1)]),
            (Some(2), 3, &[(1, 1), (1, 2), (2, 1)]),
            (Some(2), 4, &[(1, 2), (2, 1), (1, 2), (2, 1)]),
        ] {
            let chains = Chains {
                asset: Asset::Cash,
                symbol: "GBP".to_owned(),
                holder: 1,
                partner,
                depth,
            };
            let payments: Vec<_> = (0..depth).rev().map(|left| chains.payment(left)).collect();
            assert_eq!(payments, expected, "{partner:?} {depth}");
        }
    }
}
