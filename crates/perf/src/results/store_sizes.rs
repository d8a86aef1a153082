//! The size of a node's database after a load.

use serde::{Deserialize, Serialize};

/// The size of a node's database after a load, in bytes. A size is none if it could not be read, or if the step before it failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreSizes {
    /// The node.
    pub node: String,
    /// Transactions in its chain, with those of the history that it had before the load; none if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions: Option<u64>,
    /// While the node still ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_bytes: Option<u64>,
    /// A snapshot that the running node wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exported_bytes: Option<u64>,
    /// After its shutdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_bytes: Option<u64>,
    /// After it had started again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarted_bytes: Option<u64>,
    /// Why sizes are missing, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl StoreSizes {
    /// Returns a size for each transaction in the chain; none without transactions, or if their number is unknown.
    #[must_use]
    pub fn per_transaction(&self, size: u64) -> Option<f64> {
        let transactions = self.transactions.filter(|count| *count > 0)?;
        Some(size as f64 / transactions as f64)
    }

    /// Returns the sizes in the order of time, with their names.
    #[must_use]
    pub fn all(&self) -> [(&'static str, Option<u64>); 4] {
        [
            ("while running", self.running_bytes),
            ("exported as a snapshot", self.exported_bytes),
            ("after the shutdown", self.stopped_bytes),
            ("after a restart", self.restarted_bytes),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_shared_by_all_transactions_of_the_chain() {
        for (transactions, each) in [(Some(40), Some(25.0)), (Some(0), None), (None, None)] {
            let sizes = StoreSizes {
                transactions,
                ..StoreSizes::default()
            };
            assert_eq!(sizes.per_transaction(1_000), each, "{transactions:?}");
        }
    }
}
