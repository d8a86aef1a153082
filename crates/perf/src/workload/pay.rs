//! `pay`: a bank pays another one repeatedly, from large coins that were made before. One transaction, with change.

use std::sync::Arc;

use api::StartFlow;

use super::boxed::Boxed;
use super::cash::{Issue, Money, PAYEE, PAYER, Pay as Arguments, Payment, window};
use super::ended::{Failed, Tried};
use super::registry::Make;
use super::starter::{Start, Starter};
use super::traits::{Prepares, Worker, Workload};
use super::{KnobError, Knobs, Site, Step};

/// The kind, a one-line description, and the constructor.
pub(super) const REGISTERED: (&str, &str, Make) = (
    "pay",
    "The first bank pays the second from coins made before: one transaction, with change.",
    Pay::make,
);

/// Default number of coins: the usual number of outstanding flows.
const COINS: u64 = 800;
/// Upper limit on coins.
const COINS_MAX: u64 = 100_000;
/// The number of payments that each coin suffices for.
const PAYMENTS_PER_COIN: u64 = 1_000_000;
/// Coins of one issue.
const COINS_AT_ONCE: u64 = 100;

struct Pay {
    money: Money,
    states: u64,
    coins: u64,
    window_ms: Option<u64>,
    anonymous: bool,
    retry: bool,
    starter: Starter,
}

impl Pay {
    fn make(knobs: &mut Knobs) -> Result<Arc<dyn Workload>, KnobError> {
        let money = Money::of(knobs, "CHF")?;
        Ok(Arc::new(Self {
            states: money.states(knobs)?,
            money,
            coins: knobs.number("coins", COINS, 1..=COINS_MAX)?,
            window_ms: window(knobs)?,
            anonymous: knobs.flag("anonymous", false)?,
            retry: knobs.flag("retry", false)?,
            starter: Starter::of(knobs)?,
        }))
    }
}

impl Workload for Pay {
    fn kind(&self) -> &str {
        REGISTERED.0
    }

    fn banks_min(&self) -> u32 {
        2
    }

    /// Prepares `coins` coins, few per transaction.
    fn prepare<'a>(&'a self, site: &'a Arc<Site>, _: u64) -> Boxed<'a, Result<(), Failed>> {
        Box::pin(async move {
            let token = self.money.token(site)?;
            let issues = self.coins.div_ceil(COINS_AT_ONCE);
            site.preparation().begin("coins", issues);
            let coins_of = |number: u64| {
                let made = number * COINS_AT_ONCE;
                (self.coins - made).min(COINS_AT_ONCE)
            };
            let quantity_of =
                |number: u64| coins_of(number) * self.money.quantity * PAYMENTS_PER_COIN;
            let make = |number: u64| {
                let arguments = Issue {
                    currency: &self.money.currency,
                    quantity: quantity_of(number),
                    outputs: coins_of(number),
                    reference: None,
                };
                Ok(Step {
                    start: site.start_of("cash.issue", &arguments)?,
                    issues: Some((token.clone(), quantity_of(number))),
                    participants: vec![PAYER],
                })
            };
            site.prepare_with(PAYER as usize, issues, make, |_, _| Ok(()))
                .await
        })
    }

    fn prepares(&self, _: u64) -> Prepares {
        Prepares::By(format!(
            "{} {} {}",
            self.coins, self.money.quantity, self.money.currency
        ))
    }

    fn worker<'a>(
        &'a self,
        site: &'a Arc<Site>,
        _number: u32,
    ) -> Boxed<'a, Result<Box<dyn Worker>, Failed>> {
        Box::pin(async move {
            let arguments = Arguments {
                currency: &self.money.currency,
                reference: None,
                payments: [Payment {
                    to: site.name(PAYEE as usize)?,
                    quantity: self.money.quantity,
                    states: self.states,
                }],
                anonymous: self.anonymous,
                window_ms: self.window_ms,
            };
            Ok(Box::new(PayingBy {
                way: self.starter.start(site, PAYER as usize).await?,
                paying: Paying {
                    start: site.start_of("cash.pay", &arguments)?,
                    retry: self.retry,
                    site: Arc::clone(site),
                },
            }) as Box<dyn Worker>)
        })
    }

    /// Returns the payee's states. Change is not counted, and published figures do not count it either.
    fn states_per_unit(&self) -> f64 {
        self.states as f64
    }
}

/// Starts flows whose transactions concern payer and payee. The `transfer` kind uses it too.
pub(super) struct Paying {
    pub site: Arc<Site>,
    pub start: StartFlow,
    pub retry: bool,
}

impl Worker for Paying {
    fn invoke(&self, _unit: u64) -> Boxed<'_, Result<Tried, Failed>> {
        Box::pin(async move {
            let paid = self.site.run(PAYER as usize, &self.start, self.retry);
            let delivered = paid.await?;
            self.site
                .acknowledge(&delivered.transactions, &[PAYER, PAYEE]);
            Ok(delivered.tried())
        })
    }
}

/// The same with the starter of the knobs.
struct PayingBy {
    way: Start,
    paying: Paying,
}

impl Worker for PayingBy {
    fn invoke(&self, _unit: u64) -> Boxed<'_, Result<Tried, Failed>> {
        Box::pin(async move {
            let Paying { site, start, retry } = &self.paying;
            let delivered = self.way.run(site, PAYER as usize, start, *retry).await?;
            site.acknowledge(&delivered.transactions, &[PAYER, PAYEE]);
            Ok(delivered.tried())
        })
    }
}
