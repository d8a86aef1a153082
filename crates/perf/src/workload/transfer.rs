//! `transfer`: a bank pays another one with a coin whose back chain the payee does not know. The payee's node fetches and
//! verifies the whole back chain before it records the payment.

use std::sync::Arc;

use serde_json::{Value, json};

use super::boxed::Boxed;
use super::cash::{Money, PAYEE, PAYER};
use super::chains::{Asset, Chains, flows};
use super::codes::USED_UP;
use super::ended::{Failed, Tried};
use super::registry::Make;
use super::traits::{Prepares, Worker, Workload};
use super::{KnobError, Knobs, Site};

/// The kind, a one-line description, and the constructor.
pub(super) const REGISTERED: (&str, &str, Make) = (
    "transfer",
    "The first bank pays the second with coins whose back chain the second does not know.",
    Transfer::make,
);

/// Upper limit on transactions behind a coin.
pub(super) const DEPTH_MAX: u64 = 10_000;

struct Transfer {
    money: Money,
    depth: u64,
    anonymous: bool,
    retry: bool,
}

impl Transfer {
    fn make(knobs: &mut Knobs) -> Result<Arc<dyn Workload>, KnobError> {
        Ok(Arc::new(Self {
            money: Money::of(knobs, "USD")?,
            depth: knobs.number("depth", 10, 0..=DEPTH_MAX)?,
            anonymous: knobs.flag("anonymous", false)?,
            retry: knobs.flag("retry", false)?,
        }))
    }

    /// Returns the store of the prepared coins' quantities.
    fn store(&self) -> String {
        format!("transfer {} {}", self.money.currency, self.depth)
    }
}

impl Workload for Transfer {
    fn kind(&self) -> &str {
        REGISTERED.0
    }

    fn banks_min(&self) -> u32 {
        2
    }

    fn prepares(&self, units_expected: u64) -> Prepares {
        let Money { currency, quantity } = &self.money;
        Prepares::By(format!(
            "{units_expected} {quantity} {currency} {}",
            self.depth
        ))
    }

    /// Prepares a coin for each unit.
    fn prepare<'a>(
        &'a self,
        site: &'a Arc<Site>,
        units_expected: u64,
    ) -> Boxed<'a, Result<(), Failed>> {
        Box::pin(async move {
            let flows = flows(units_expected, self.depth)?;
            site.preparation().begin("back chains", flows);
            let chains = Chains {
                asset: Asset::Cash,
                symbol: self.money.currency.clone(),
                holder: PAYER,
                partner: None,
                depth: self.depth,
            };
            for coin in chains
                .build(site, units_expected, self.money.quantity)
                .await?
            {
                site.put(&self.store(), Value::from(coin.quantity))?;
            }
            Ok(())
        })
    }

    fn worker<'a>(
        &'a self,
        site: &'a Arc<Site>,
        _number: u32,
    ) -> Boxed<'a, Result<Box<dyn Worker>, Failed>> {
        Box::pin(async move {
            Ok(Box::new(Transferring {
                store: self.store(),
                currency: self.money.currency.clone(),
                to: site.name(PAYEE as usize)?.to_owned(),
                anonymous: self.anonymous,
                retry: self.retry,
                site: Arc::clone(site),
            }) as Box<dyn Worker>)
        })
    }

    fn states_per_unit(&self) -> f64 {
        1.0
    }
}

struct Transferring {
    site: Arc<Site>,
    store: String,
    currency: String,
    to: String,
    anonymous: bool,
    retry: bool,
}

impl Worker for Transferring {
    fn invoke(&self, _unit: u64) -> Boxed<'_, Result<Tried, Failed>> {
        Box::pin(async move {
            let coin = self.site.take(&self.store).ok_or_else(used_up)?;
            let arguments = json!({
                "currency": self.currency, "anonymous": self.anonymous,
                "payments": [{ "to": self.to, "quantity": coin }],
            });
            let start = self.site.start_of("cash.pay", &arguments)?;
            let paid = self.site.run(PAYER as usize, &start, self.retry).await;
            let delivered = paid.or_else(|failed| self.site.put_back(&self.store, coin, failed))?;
            self.site
                .acknowledge(&delivered.transactions, &[PAYER, PAYEE]);
            Ok(delivered.tried())
        })
    }
}

/// Returns the failure of units beyond the number prepared.
pub(super) fn used_up() -> Failed {
    let message = "every state that was prepared is spent: more units ran than were expected; set run.count, or raise it";
    Failed::new(USED_UP, message)
}
