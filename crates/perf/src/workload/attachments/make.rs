//! `make-attachments`: mock files are made and uploaded to the first bank, one file per unit.

use std::sync::Arc;

use super::depot::Depot;
use super::mock::MockSizes;
use super::stored::{SENDER, sizes, upload};
use crate::workload::boxed::{Boxed, done};
use crate::workload::ended::{Failed, Tried};
use crate::workload::registry::Make;
use crate::workload::traits::{Prepares, Worker, Workload};
use crate::workload::{KnobError, Knobs, Site};

/// The kind, a one-line description, and the constructor.
pub(super) const REGISTERED: (&str, &str, Make) = (
    "make-attachments",
    "Mock files are made and uploaded to the first bank.",
    MakeAttachments::make,
);

struct MakeAttachments {
    sizes: MockSizes,
    retry: bool,
}

impl MakeAttachments {
    fn make(knobs: &mut Knobs) -> Result<Arc<dyn Workload>, KnobError> {
        Ok(Arc::new(Self {
            sizes: sizes(knobs)?,
            retry: knobs.flag("retry", false)?,
        }))
    }
}

impl Workload for MakeAttachments {
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
        let worker = || {
            Ok(Box::new(Making {
                depot: Depot::new(site.endpoint(SENDER as usize)?)?,
                site: Arc::clone(site),
                sizes: self.sizes,
                retry: self.retry,
            }) as Box<dyn Worker>)
        };
        done(worker())
    }

    fn bytes_per_unit(&self) -> f64 {
        self.sizes.mean()
    }
}

struct Making {
    site: Arc<Site>,
    depot: Depot,
    sizes: MockSizes,
    retry: bool,
}

impl Worker for Making {
    fn invoke(&self, _unit: u64) -> Boxed<'_, Result<Tried, Failed>> {
        Box::pin(async move {
            let (_, retries) =
                upload(&self.site, &self.depot, SENDER, self.sizes, self.retry).await?;
            Ok(Tried { retries })
        })
    }
}
