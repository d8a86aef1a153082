//! `command`: units of another system, which a connector runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::boxed::Boxed;
use super::ended::{Failed, Tried};
use super::registry::Make;
use super::traits::{Prepares, Worker, Workload};
use super::{KnobError, Knobs, Site};
use crate::connector::Connector;

/// The kind, a one-line description, and the constructor.
pub(super) const REGISTERED: (&str, &str, Make) = (
    "command",
    "Units of another system, by a connector (network.target.command); it gets all knobs.",
    Command::make,
);

/// The knobs, as the connector gets them.
struct Command {
    knobs: BTreeMap<String, Value>,
}

impl Command {
    fn make(knobs: &mut Knobs) -> Result<Arc<dyn Workload>, KnobError> {
        let mut passed_on = BTreeMap::new();
        for (knob, value) in knobs.take_all() {
            let json = serde_json::to_value(&value)
                .map_err(|error| KnobError::new(&knob, error.to_string()))?;
            passed_on.insert(knob, json);
        }
        Ok(Arc::new(Self { knobs: passed_on }))
    }
}

impl Workload for Command {
    fn kind(&self) -> &str {
        REGISTERED.0
    }

    fn banks_min(&self) -> u32 {
        0
    }

    fn prepare<'a>(
        &'a self,
        site: &'a Arc<Site>,
        units_expected: u64,
    ) -> Boxed<'a, Result<(), Failed>> {
        Box::pin(async move {
            let connector = site.connector()?;
            let prepared = connector.prepare(self.knobs.clone(), site.seed(), units_expected);
            Ok(prepared.await?)
        })
    }

    /// One preparation serves any number of units. It is made anew for other knobs.
    fn prepares(&self, _: u64) -> Prepares {
        Prepares::By(serde_json::to_string(&self.knobs).expect("knobs have text keys"))
    }

    fn worker<'a>(
        &'a self,
        site: &'a Arc<Site>,
        _number: u32,
    ) -> Boxed<'a, Result<Box<dyn Worker>, Failed>> {
        Box::pin(async move {
            let connector = Arc::clone(site.connector()?);
            Ok(Box::new(Asking { connector }) as Box<dyn Worker>)
        })
    }
}

struct Asking {
    connector: Arc<Connector>,
}

impl Worker for Asking {
    fn invoke(&self, unit: u64) -> Boxed<'_, Result<Tried, Failed>> {
        Box::pin(async move {
            self.connector.run_unit(unit).await?;
            Ok(Tried::default())
        })
    }
}
