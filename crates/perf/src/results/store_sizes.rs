//! The size of a node's database after a load.

use serde::{Deserialize, Serialize};

/// The size of a node's database after a load, in bytes. What could not be done or read is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreSizes {
    /// The node.
    pub node: String,
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
}

impl StoreSizes {
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
