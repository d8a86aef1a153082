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
use crate::workload::boxed::Boxed;
use crate::workload::codes::{NO_FOLDER, WORKER_PANICKED};
use crate::workload::ended::{Failed, Tried};
use crate::workload::registry::Make;
use crate::workload::starter::{Start, Starter};
use crate::workload::traits::{Prepares, Worker, Workload};
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
/// The bank that files were sent to before, by position.
const THIRD: u32 = 2;
/// Default number of files used in turn if the receiver has them.
const FILES: u64 = 100;
/// Upper limit on such files.
const FILES_MAX: u64 = 10_000;
/// Concurrent transfers to the third bank before a stretch.
const SENT_AT_ONCE: usize = 8;
/// Concurrent uploads during preparation. Each file is generated and hashed here meanwhile.
const UPLOADS_AT_ONCE: usize = 4;

/// The place of the bytes when a unit begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Temperature {
    /// In the sender's page cache, and not at the receiver.
    Warm,
    /// Sent by the sender to a third bank just before, and not at the receiver.
    Sent,
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
        let temperature = match knobs.word("temperature", &["warm", "sent", "cold", "present"])? {
            "sent" => Temperature::Sent,
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
            Temperature::Sent => format!("attachments {from} {to} sent"),
            Temperature::Warm | Temperature::Cold => format!("attachments {from} {to}"),
        }
    }

    /// Returns the store that a preparation fills: that of the units, unless the files have to be sent to a third bank first.
    fn store_prepared(&self) -> String {
        match self.temperature {
            Temperature::Sent => format!("{} before", self.store()),
            Temperature::Warm | Temperature::Cold | Temperature::Present => self.store(),
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

    /// Reads the sender's files, or drops them from the page cache.
    async fn care_for_cache(&self, site: &Site) -> Result<(), Failed> {
        let Some(folder) = self.folder(site)? else {
            return Ok(());
        };
        let what = match self.temperature {
            Temperature::Cold => Care::Forget,
            Temperature::Warm | Temperature::Sent | Temperature::Present => Care::Read,
        };
        let words = folder.display().to_string();
        let caring = tokio::task::spawn_blocking(move || care(&folder, what));
        let cared = caring
            .await
            .map_err(|error| Failed::new(WORKER_PANICKED, error.to_string()))?;
        match (cared, self.temperature) {
            (Err(error), Temperature::Cold) => {
                Err(Failed::new(NO_FOLDER, format!("{words}: {error}")))
            }
            // Uploads leave files in the cache in any case. Only their removal from it needs this step to succeed.
            _ => Ok(()),
        }
    }

    /// Sends every prepared file to the third bank. The caches of the sender, its own and the system's, then have what they
    /// keep of a file that was sent.
    async fn send_to_third(&self, site: &Arc<Site>) -> Result<(), Failed> {
        let (prepared, sent) = (self.store_prepared(), self.store());
        let mut running: JoinSet<Result<Stored, Failed>> = JoinSet::new();
        loop {
            while running.len() < SENT_AT_ONCE
                && let Some(value) = site.take(&prepared)
            {
                let stored = Stored::of_json(&value)?;
                let site = Arc::clone(site);
                running.spawn(async move {
                    share(&site, None, stored, THIRD, true).await?;
                    Ok(stored)
                });
            }
            let Some(ended) = running.join_next().await else {
                return Ok(());
            };
            let stored =
                ended.map_err(|error| Failed::new(WORKER_PANICKED, error.to_string()))??;
            site.put(&sent, stored.to_json())?;
        }
    }
}

impl Workload for Transfer {
    fn kind(&self) -> &str {
        REGISTERED.0
    }

    fn banks_min(&self) -> u32 {
        match self.temperature {
            Temperature::Sent => THIRD + 1,
            Temperature::Warm | Temperature::Cold | Temperature::Present => RECEIVER + 1,
        }
    }

    fn prepares(&self, units_expected: u64) -> Prepares {
        let store = self.store();
        Prepares::By(match self.temperature {
            Temperature::Present => format!("{} {store}", self.files),
            Temperature::Warm | Temperature::Sent | Temperature::Cold => {
                format!("{units_expected} {store}")
            }
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
                            share(&site, None, stored, RECEIVER, true).await?;
                        }
                        Ok(stored)
                    });
                }
                let Some(ended) = running.join_next().await else {
                    return Ok(());
                };
                let stored =
                    ended.map_err(|error| Failed::new(WORKER_PANICKED, error.to_string()))??;
                site.put(&self.store_prepared(), stored.to_json())?;
                site.preparation().advance();
            }
        })
    }

    /// Sets up a worker. The first one brings the files to their temperature before any unit runs.
    fn worker<'a>(
        &'a self,
        site: &'a Arc<Site>,
        number: u32,
    ) -> Boxed<'a, Result<Box<dyn Worker>, Failed>> {
        Box::pin(async move {
            if number == 0 {
                match self.temperature {
                    Temperature::Sent => self.send_to_third(site).await?,
                    Temperature::Warm | Temperature::Cold | Temperature::Present => {
                        self.care_for_cache(site).await?;
                    }
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
            Temperature::Warm | Temperature::Sent | Temperature::Cold => self.sizes.mean(),
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
            share(&self.site, Some(&self.way), stored, RECEIVER, self.retry).await
        })
    }
}

/// Shares one document that refers to a file with a bank. Delivery means that this bank has the whole file.
async fn share(
    site: &Site,
    way: Option<&Start>,
    stored: Stored,
    to: u32,
    retry: bool,
) -> Result<Tried, Failed> {
    let arguments = json!({
        "to": site.name(to as usize)?,
        "attachment": stored.hash.to_string(),
        "title": "mock",
    });
    let start = site.start_of(FLOW, &arguments)?;
    let delivered = match way {
        Some(way) => way.run(site, SENDER as usize, &start, retry).await?,
        None => site.run(SENDER as usize, &start, retry).await?,
    };
    site.acknowledge(&delivered.transactions, &[SENDER, to]);
    site.holds_file(stored.hash, stored.size, &[to]);
    Ok(delivered.tried())
}
