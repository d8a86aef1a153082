//! Work with attachments: making mock files, and transactions that refer to one.
//!
//! A file's content follows from the scenario's seed and its number alone, so the audit knows every hash without asking
//! the node that received the file. `mock` makes files, and `depot` moves them over a node's API. `make` and `transfer`
//! are the kinds of work. `cache` decides whether a transfer reads the disk. `whole` is the audit of files.

mod cache;
mod depot;
mod make;
mod mock;
mod transfer;
mod whole;

use serde_json::{Value, json};

use super::codes::BAD_ANSWER;
use super::traits::Failed;
use super::{KnobError, Knobs, Site, Workloads};
use depot::Depot;
use primitives::Hash;

pub use mock::{MockFile, MockReader, MockSizes};

pub(super) use whole::check as check_files;

/// The bank that sends, by position.
const SENDER: u32 = 0;
/// Upper limit on a mock file's size: ten times the largest of the published experiment.
const SIZE_MAX: u64 = 500_000_000;
/// Its default size: the published one.
const SIZE: u64 = 1_000_000;
/// The name of the counter of mock files.
const NUMBERS: &str = "mock files";

/// Registers the kinds of work with attachments.
pub(super) fn register(workloads: &mut Workloads) {
    for (kind, about, make) in [make::REGISTERED, transfer::REGISTERED] {
        workloads.register(kind, about, make);
    }
}

/// A file stored at the sender, as the site's books keep it for a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stored {
    hash: Hash,
    size: u64,
}

impl Stored {
    fn to_json(self) -> Value {
        json!({ "hash": self.hash.to_string(), "size": self.size })
    }

    fn of_json(value: &Value) -> Result<Self, Failed> {
        let hash = value.get("hash").and_then(Value::as_str);
        let hash = hash.and_then(|text| text.parse().ok());
        let size = value.get("size").and_then(Value::as_u64);
        match (hash, size) {
            (Some(hash), Some(size)) => Ok(Self { hash, size }),
            _ => Err(Failed::new(BAD_ANSWER, format!("{value} is no file"))),
        }
    }
}

/// Knobs that both kinds have.
fn sizes(knobs: &mut Knobs) -> Result<MockSizes, KnobError> {
    let from = knobs.number("size", SIZE, 0..=SIZE_MAX)?;
    let to = knobs.number("size_max", from, 0..=SIZE_MAX)?;
    if to < from {
        let message = format!("{to}: no less than size ({from}) is allowed");
        return Err(KnobError::new("size_max", message));
    }
    Ok(MockSizes { from, to })
}

/// Makes the next file of a site, uploads it to a bank and notes it in the books. Returns it, and how often the bank was
/// too busy.
async fn upload(
    site: &Site,
    depot: &Depot,
    bank: u32,
    sizes: MockSizes,
    patient: bool,
) -> Result<(Stored, u32), Failed> {
    let file = MockFile::new(site.seed(), site.count(NUMBERS), sizes);
    // A large file takes a while to hash, which would block other tasks on this thread.
    let hashing = tokio::task::spawn_blocking(move || file.hash());
    let hash = hashing
        .await
        .map_err(|error| Failed::new(BAD_ANSWER, error.to_string()))?;
    let busy = depot.upload(file, hash, patient).await?;
    let size = file.size();
    site.holds_file(hash, size, &[bank]);
    Ok((Stored { hash, size }, busy))
}

#[cfg(test)]
mod tests;
