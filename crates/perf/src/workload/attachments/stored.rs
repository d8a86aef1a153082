//! The files that both kinds of work make and store at the sending bank.

use primitives::Hash;
use serde_json::{Value, json};

use super::depot::Depot;
use super::mock::{MockFile, MockSizes};
use crate::workload::codes::BAD_ANSWER;
use crate::workload::ended::Failed;
use crate::workload::{KnobError, Knobs, Site};

/// The bank that sends, by position.
pub(super) const SENDER: u32 = 0;
/// Upper limit on a mock file's size: ten times the largest of the published experiment.
const SIZE_MAX: u64 = 500_000_000;
/// Its default size: the published one.
const SIZE: u64 = 1_000_000;
/// The name of the counter of mock files.
const NUMBERS: &str = "mock files";

/// A file stored at the sender, as the site's books keep it for a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) hash: Hash,
    pub(super) size: u64,
}

impl Stored {
    pub(super) fn to_json(self) -> Value {
        json!({ "hash": self.hash.to_string(), "size": self.size })
    }

    pub(super) fn of_json(value: &Value) -> Result<Self, Failed> {
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
pub(super) fn sizes(knobs: &mut Knobs) -> Result<MockSizes, KnobError> {
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
pub(super) async fn upload(
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
