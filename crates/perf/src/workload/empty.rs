//! `empty`: a flow that does nothing. It measures the cost of a start: the API, the queue, the journal, the answer.

use std::sync::Arc;

use api::StartFlow;

use super::boxed::Boxed;
use super::cash::PAYER;
use super::ended::{Failed, Tried};
use super::registry::Make;
use super::starter::{Start, Starter};
use super::traits::{Prepares, Worker, Workload};
use super::{KnobError, Knobs, Site};

/// The kind, a one-line description, and the constructor.
pub(super) const REGISTERED: (&str, &str, Make) = (
    "empty",
    "A flow on the first bank that does nothing: what a start itself costs.",
    Empty::make,
);

struct Empty {
    retry: bool,
    starter: Starter,
}

impl Empty {
    fn make(knobs: &mut Knobs) -> Result<Arc<dyn Workload>, KnobError> {
        Ok(Arc::new(Self {
            retry: knobs.flag("retry", false)?,
            starter: Starter::of(knobs)?,
        }))
    }
}

impl Workload for Empty {
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
            Ok(Box::new(Starting {
                way: self.starter.start(site, PAYER as usize).await?,
                start: site.start_of("ledger.empty", &serde_json::Value::Null)?,
                retry: self.retry,
                site: Arc::clone(site),
            }) as Box<dyn Worker>)
        })
    }
}

struct Starting {
    site: Arc<Site>,
    way: Start,
    start: StartFlow,
    retry: bool,
}

impl Worker for Starting {
    fn invoke(&self, _unit: u64) -> Boxed<'_, Result<Tried, Failed>> {
        Box::pin(async move {
            let started = self
                .way
                .run(&self.site, PAYER as usize, &self.start, self.retry);
            started.await.map(|delivered| delivered.tried())
        })
    }
}
