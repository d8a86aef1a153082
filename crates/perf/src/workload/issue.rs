//! `issue`: a bank issues cash to itself. One transaction without inputs, no counterparty.

use std::sync::Arc;

use api::StartFlow;

use super::books::Token;
use super::cash::{Issue as Arguments, PAYER, QUANTITY, QUANTITY_MAX, STATES_MAX};
use super::registry::Make;
use super::traits::{Boxed, Failed, Prepares, Tried, Worker, Workload};
use super::{KnobError, Knobs, Site};

/// The kind, a line about it, and how it is made.
pub(super) const REGISTERED: (&str, &str, Make) = (
    "issue",
    "The first bank issues cash to itself: one transaction, no counterparty.",
    Issue::make,
);

struct Issue {
    currency: String,
    quantity: u64,
    states: u64,
    retry: bool,
}

impl Issue {
    fn make(knobs: &mut Knobs) -> Result<Arc<dyn Workload>, KnobError> {
        let quantity = knobs.number("quantity", QUANTITY, 1..=QUANTITY_MAX)?;
        Ok(Arc::new(Self {
            currency: knobs.currency("GBP")?,
            quantity,
            states: states(knobs, quantity)?,
            retry: knobs.flag("retry", false)?,
        }))
    }
}

/// How many states a quantity is divided into.
pub(super) fn states(knobs: &mut Knobs, quantity: u64) -> Result<u64, KnobError> {
    let states = knobs.number("states", 1, 1..=STATES_MAX)?;
    if states > quantity {
        let message = format!("no more states than minor units ({quantity}) are allowed");
        return Err(KnobError::new("states", message));
    }
    Ok(states)
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
                currency: &self.currency,
                quantity: self.quantity,
                outputs: self.states,
                reference: None,
            };
            Ok(Box::new(Issuing {
                start: site.start_of("cash.issue", &arguments)?,
                token: site.token(&self.currency, PAYER as usize)?,
                quantity: self.quantity,
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
    start: StartFlow,
    token: Token,
    quantity: u64,
    retry: bool,
}

impl Worker for Issuing {
    fn invoke(&self, _unit: u64) -> Boxed<'_, Result<Tried, Failed>> {
        Box::pin(async move {
            let (token, quantity) = (&self.token, self.quantity);
            let issue =
                self.site
                    .run_issuing(PAYER as usize, &self.start, self.retry, token, quantity);
            let delivered = issue.await?;
            self.site.acknowledge(&delivered.transactions, &[PAYER]);
            Ok(delivered.tried())
        })
    }
}
