//! The state of a shared network before our work.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The state of a shared network when our work began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::workload) struct Before {
    /// The last position of each bank's ledger.
    pub positions: Vec<u64>,
    /// The banks' total holdings by token.
    #[serde(with = "super::sums")]
    pub sums: BTreeMap<String, u128>,
}
