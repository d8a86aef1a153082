//! `issue`: a bank issues cash to itself. One transaction without inputs, no counterparty.

use std::sync::Arc;

use api::StartFlow;

use super::books::Token;
use super::boxed::Boxed;
use super::cash::{Issue as Arguments, Money, PAYER};
use super::ended::{Failed, Tried};
use super::registry::Make;
use super::starter::{Start, Starter};
use super::traits::{Prepares, Worker, Workload};
use super::{KnobError, Knobs, Site};

/// The kind, a one-line description, and the constructor.
pub(super) const REGISTERED: (&str, &str, Make) = (
    "issue",
    "The first bank issues cash to itself: one transaction, no counterparty.",
    Issue::make,
);

struct Issue {
    money: Money,
    states: u64,
    retry: bool,
    starter: Starter,
}

impl Issue {
    fn make(knobs: &mut Knobs) -> Result<Arc<dyn Workload>, KnobError> {
        let money = Money::of(knobs, "GBP")?;
        Ok(Arc::new(Self {
            states: money.states(knobs)?,
            money,
            retry: knobs.flag("retry", false)?,
            starter: Starter::of(knobs)?,
        }))
    }
}

impl Workload for Issue {
    fn kind(&self) -> &str {
        REGISTERED.0
    }

    fn prepares(&self, _: u64) -> Prepares {
        Prepares::Nothing
    }

    fn worker<'a>(
        &'a self,
        site: &'a Arc<Site>,
        _number: u32,
    ) -> Boxed<'a, Result<Box<dyn Worker>, Failed>> {
        Box::pin(async move {
            let arguments = Arguments {
                currency: &self.money.currency,
                quantity: self.money.quantity,
                outputs: self.states,
                reference: None,
            };
            Ok(Box::new(Issuing {
                way: self.starter.start(site, PAYER as usize).await?,
                start: site.start_of("cash.issue", &arguments)?,
                token: self.money.token(site)?,
                quantity: self.money.quantity,
                retry: self.retry,
                site: Arc::clone(site),
            }) as Box<dyn Worker>)
        })
    }

    fn states_per_unit(&self) -> f64 {
        self.states as f64
    }
}

struct Issuing {
    site: Arc<Site>,
    way: Start,
    start: StartFlow,
    token: Token,
    quantity: u64,
    retry: bool,
}

impl Worker for Issuing {
    fn invoke(&self, _unit: u64) -> Boxed<'_, Result<Tried, Failed>> {
        Box::pin(async move {
            let (bank, issued) = (PAYER as usize, (&self.token, self.quantity));
            let issue = self
                .way
                .run_issuing(&self.site, bank, &self.start, self.retry, issued);
            let delivered = issue.await?;
            self.site.acknowledge(&delivered.transactions, &[PAYER]);
            Ok(delivered.tried())
        })
    }
}
