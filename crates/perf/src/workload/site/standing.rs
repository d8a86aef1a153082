//! Rights that banks have granted beyond the load, such as the right to settle for them. On an existing network they are
//! revoked at the end, even after failures.

use api::StartFlow;

use super::{Site, Standing};
use crate::workload::ended::Failed;

impl Site {
    /// Returns whether this right was already granted.
    pub fn stands(&self, what: &str) -> bool {
        self.standing().contains_key(what)
    }

    /// Notes that a bank has granted a right that lasts until `undo` has run there.
    pub fn stands_until(&self, what: String, bank: u32, undo: StartFlow) {
        self.standing().insert(what, (bank, undo));
    }

    /// Revokes all rights, even if one fails. Returns how many were revoked. An error has the first failure and the names
    /// of the remaining rights.
    pub async fn take_back(&self) -> Result<u64, Failed> {
        let standing = std::mem::take(&mut *self.standing());
        let (mut taken, mut first, mut left) = (0, None, Standing::new());
        for (what, (bank, undo)) in standing {
            match self.run(bank as usize, &undo, true).await {
                Ok(delivered) => {
                    self.acknowledge(&delivered.transactions, &[bank]);
                    taken += 1;
                }
                Err(failed) => {
                    first.get_or_insert(failed);
                    left.insert(what, (bank, undo));
                }
            }
        }
        let Some(mut failed) = first else {
            return Ok(taken);
        };
        let names: Vec<&str> = left.keys().map(String::as_str).collect();
        failed.fault.message = format!(
            "{}; still standing: {}",
            failed.fault.message,
            names.join(", ")
        );
        self.standing().append(&mut left);
        Err(failed)
    }
}
