//! `vault-query`: one query of a vault that flows have filled, repeated.

mod questions;
mod stock;
mod units;

use std::sync::Arc;

use api::VaultQuery;

use super::boxed::Boxed;
use super::codes::BAD_ANSWER;
use super::ended::{Failed, Tried};
use super::registry::Make;
use super::traits::{Prepares, Worker, Workload};
use super::{KnobError, Knobs, Site};
use questions::NAMES;
use stock::{ASKED, BANKS};

/// The kind, a one-line description, and the constructor.
pub(super) const REGISTERED: (&str, &str, Make) = (
    "vault-query",
    "A query of the first bank's vault, which flows have filled with states before.",
    Queries::make,
);

/// Default number of states in the vault.
const STATES: u64 = 10_000;
/// Upper limit on them.
const STATES_MAX: u64 = 100_000_000;

struct Queries {
    states: u64,
    name: &'static str,
}

impl Queries {
    fn make(knobs: &mut Knobs) -> Result<Arc<dyn Workload>, KnobError> {
        Ok(Arc::new(Self {
            states: knobs.number("states", STATES, 100..=STATES_MAX)?,
            name: knobs.word("query", NAMES)?,
        }))
    }
}

impl Workload for Queries {
    fn kind(&self) -> &str {
        REGISTERED.0
    }

    fn banks_min(&self) -> u32 {
        u32::try_from(BANKS).expect("a few")
    }

    fn prepare<'a>(&'a self, site: &'a Arc<Site>, _: u64) -> Boxed<'a, Result<(), Failed>> {
        Box::pin(stock::fill(site, self.states))
    }

    /// All queries share one vault.
    fn prepares(&self, _: u64) -> Prepares {
        Prepares::By(self.states.to_string())
    }

    fn worker<'a>(
        &'a self,
        site: &'a Arc<Site>,
        _number: u32,
    ) -> Boxed<'a, Result<Box<dyn Worker>, Failed>> {
        Box::pin(async move {
            let banks = stock::names(site)?;
            let client = site.bank(ASKED)?.client();
            Ok(Box::new(Asking {
                query: questions::query(client, &banks, self.name).await?,
                site: Arc::clone(site),
            }) as Box<dyn Worker>)
        })
    }
}

struct Asking {
    site: Arc<Site>,
    query: VaultQuery,
}

impl Worker for Asking {
    fn invoke(&self, _unit: u64) -> Boxed<'_, Result<Tried, Failed>> {
        Box::pin(async move {
            let client = self.site.bank(ASKED)?.client();
            let answer = client.query_vault(&self.query).await?;
            if answer.states.is_empty() && answer.groups.is_empty() {
                return Err(Failed::new(BAD_ANSWER, "the query found nothing"));
            }
            Ok(Tried::default())
        })
    }
}
