//! What banks have given that stands beyond the load, such as the right to settle for them: on a network that is somebody
//! else's it is taken back in the end, also after failures.

use std::collections::BTreeMap;

use api::StartFlow;

use super::Site;
use crate::workload::traits::Failed;

/// Of what stands, by what it is: who gave it, and the flow that takes it back.
pub(super) type Standing = BTreeMap<String, (u32, StartFlow)>;

impl Site {
    /// Whether this was given already, and stands.
    pub fn stands(&self, what: &str) -> bool {
        self.standing().contains_key(what)
    }

    /// Notes that a bank has given something that stands until `undo` has run there.
    pub fn stands_until(&self, what: String, bank: u32, undo: StartFlow) {
        self.standing().insert(what, (bank, undo));
    }

    /// Takes back all that stands, the rest too where one cannot be; the first failure is told, and how many still stand.
    /// Returns how many were taken back.
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
