//! `transfer-attachment`: the first bank shares a document that refers to a file with the second, which fetches the file before it
//! records the transaction, unless it has it.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tokio::task::JoinSet;

use super::cache::{Care, care};
use super::depot::Depot;
use super::mock::MockSizes;
use super::stored::{SENDER, Stored, sizes, upload};
use crate::workload::codes::{NO_FOLDER, WORKER_PANICKED};
use crate::workload::ended::{Failed, Tried};
use crate::workload::registry::Make;
use crate::workload::starter::{Start, Starter};
use crate::workload::traits::{Boxed, Prepares, Worker, Workload};
use crate::workload::transfer::used_up;
use crate::workload::{KnobError, Knobs, Site};

/// The kind, a one-line description, and the constructor.
pub(super) const REGISTERED: (&str, &str, Make) = (
    "transfer-attachment",
    "The first bank shares documents with the second, each of which refers to a file that the second fetches or has.",
    Transfer::make,
);

/// The flow.
const FLOW: &str = "document.share";
/// The receiver, by position.
const RECEIVER: u32 = 1;
/// Default number of files used in turn if the receiver has them.
const FILES: u64 = 100;
/// Upper limit on such files.
const FILES_MAX: u64 = 10_000;
/// Concurrent uploads during preparation. Each file is generated and hashed here meanwhile.
const UPLOADS_AT_ONCE: usize = 4;

/// The place of the bytes when a unit begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Temperature {
    /// In the sender's page cache, and not at the receiver.
    Warm,
    /// On the sender's disk alone.
    Cold,
    /// At the receiver already.
    Present,
}

struct Transfer {
    sizes: MockSizes,
    temperature: Temperature,
    files: u64,
    starter: Starter,
    retry: bool,
}

impl Transfer {
    fn make(knobs: &mut Knobs) -> Result<Arc<dyn Workload>, KnobError> {
        let temperature = match knobs.word("temperature", &["warm", "cold", "present"])? {
            "cold" => Temperature::Cold,
            "present" => Temperature::Present,
            _ => Temperature::Warm,
        };
        Ok(Arc::new(Self {
            sizes: sizes(knobs)?,
            temperature,
            files: knobs.number("files", FILES, 1..=FILES_MAX)?,
            starter: Starter::of(knobs)?,
            retry: knobs.flag("retry", false)?,
        }))
    }

    /// Returns the store of the prepared files.
    fn store(&self) -> String {
        let MockSizes { from, to } = self.sizes;
        match self.temperature {
            Temperature::Present => format!("attachments {from} {to} present"),
            Temperature::Warm | Temperature::Cold => format!("attachments {from} {to}"),
        }
    }

    /// Returns the folder of the sender's files, if it is on this machine.
    fn folder(&self, site: &Site) -> Result<Option<PathBuf>, Failed> {
        match (site.files_folder(SENDER as usize)?, self.temperature) {
            (None, Temperature::Cold) => {
                let message = "cold files need the sender's folder on this machine, so that its page cache can be dropped";
                Err(Failed::new(NO_FOLDER, message))
            }
            (folder, _) => Ok(folder),
        }
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
        let store = self.store();
        Prepares::By(match self.temperature {
            Temperature::Present => format!("{} {store}", self.files),
            Temperature::Warm | Temperature::Cold => format!("{units_expected} {store}"),
        })
    }

    /// Prepares a file for each unit. If the receiver is to have them, prepares as many as are used in turn, and sends
    /// each to it once.
    fn prepare<'a>(
        &'a self,
        site: &'a Arc<Site>,
        units_expected: u64,
    ) -> Boxed<'a, Result<(), Failed>> {
        Box::pin(async move {
            let present = self.temperature == Temperature::Present;
            let files = if present { self.files } else { units_expected };
            site.preparation().begin("files", files);
            let depot = Arc::new(Depot::new(site.endpoint(SENDER as usize)?)?);
            let mut running: JoinSet<Result<Stored, Failed>> = JoinSet::new();
            let mut begun = 0;
            loop {
                while begun < files && running.len() < UPLOADS_AT_ONCE {
                    begun += 1;
                    let (site, depot, sizes) = (Arc::clone(site), Arc::clone(&depot), self.sizes);
                    running.spawn(async move {
                        let (stored, _) = upload(&site, &depot, SENDER, sizes, true).await?;
                        if present {
                            share(&site, None, stored, true).await?;
                        }
                        Ok(stored)
                    });
                }
                let Some(ended) = running.join_next().await else {
                    return Ok(());
                };
                let stored =
                    ended.map_err(|error| Failed::new(WORKER_PANICKED, error.to_string()))??;
                site.put(&self.store(), stored.to_json())?;
                site.preparation().advance();
            }
        })
    }

    /// Sets up a worker. The first one prepares the sender's page cache before any unit runs.
    fn worker<'a>(
        &'a self,
        site: &'a Arc<Site>,
        number: u32,
    ) -> Boxed<'a, Result<Box<dyn Worker>, Failed>> {
        Box::pin(async move {
            if number == 0
                && let Some(folder) = self.folder(site)?
            {
                let what = match self.temperature {
                    Temperature::Cold => Care::Forget,
                    Temperature::Warm | Temperature::Present => Care::Read,
                };
                let words = folder.display().to_string();
                let caring = tokio::task::spawn_blocking(move || care(&folder, what));
                let cared = caring
                    .await
                    .map_err(|error| Failed::new(WORKER_PANICKED, error.to_string()))?;
                // Uploads leave files in the cache in any case. Only their removal from it needs this step to succeed.
                if let (Err(error), Temperature::Cold) = (cared, self.temperature) {
                    return Err(Failed::new(NO_FOLDER, format!("{words}: {error}")));
                }
            }
            Ok(Box::new(Transferring {
                store: self.store(),
                way: self.starter.start(site, SENDER as usize).await?,
                again: self.temperature == Temperature::Present,
                retry: self.retry,
                site: Arc::clone(site),
            }) as Box<dyn Worker>)
        })
    }

    fn states_per_unit(&self) -> f64 {
        1.0
    }

    fn bytes_per_unit(&self) -> f64 {
        match self.temperature {
            Temperature::Present => 0.0,
            Temperature::Warm | Temperature::Cold => self.sizes.mean(),
        }
    }
}

struct Transferring {
    site: Arc<Site>,
    store: String,
    way: Start,
    /// Whether files are used for several units.
    again: bool,
    retry: bool,
}

impl Worker for Transferring {
    fn invoke(&self, _unit: u64) -> Boxed<'_, Result<Tried, Failed>> {
        Box::pin(async move {
            let value = self.site.take(&self.store).ok_or_else(used_up)?;
            let stored = Stored::of_json(&value)?;
            if self.again {
                self.site.put(&self.store, value)?;
            }
            share(&self.site, Some(&self.way), stored, self.retry).await
        })
    }
}

/// Shares one document that refers to a file. Delivery means that the receiver has the whole file.
async fn share(
    site: &Site,
    way: Option<&Start>,
    stored: Stored,
    retry: bool,
) -> Result<Tried, Failed> {
    let arguments = json!({
        "to": site.name(RECEIVER as usize)?,
        "attachment": stored.hash.to_string(),
        "title": "mock",
    });
    let start = site.start_of(FLOW, &arguments)?;
    let delivered = match way {
        Some(way) => way.run(site, SENDER as usize, &start, retry).await?,
        None => site.run(SENDER as usize, &start, retry).await?,
    };
    site.acknowledge(&delivered.transactions, &[SENDER, RECEIVER]);
    site.holds_file(stored.hash, stored.size, &[RECEIVER]);
    Ok(delivered.tried())
}
