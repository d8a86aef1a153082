//! A node's settings for the times and limits of bundling.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{MinorUnits, Minutes, Params, Percent, Seconds};

/// Settings of all bundlers of a node. They are not rules of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BundleSettings {
    /// Time between making a child block and the predicted next block, in milliseconds. The default is a quarter of the block
    /// time, at most one second.
    pub lead_ms: Option<u64>,
    /// The same time if the forger is on this node, which needs no network delay. The default is a quarter of `lead_ms`.
    pub local_lead_ms: Option<u64>,
    /// Transactions that expire within this time are not carried. The default is ten block times.
    pub margin_seconds: Option<Seconds>,
    /// Minimum improvement over a waiting child block, in percent of its fee, or of its count at
    /// no lower fee. A smaller improvement is not worth another child block.
    pub better_percent: Percent,
    /// Maximum wait of a child block.
    pub deadline_minutes: Minutes,
}

impl Default for BundleSettings {
    fn default() -> Self {
        Self {
            lead_ms: None,
            local_lead_ms: None,
            margin_seconds: None,
            better_percent: Percent::new(25),
            deadline_minutes: Minutes::new(10),
        }
    }
}

/// Maximum default lead.
const LEAD_MAX: Duration = Duration::from_secs(1);

/// Default margin in block times: ten minutes on a public network.
const MARGIN_BLOCKS: u32 = 10;

impl BundleSettings {
    /// Returns the lead.
    #[must_use]
    pub fn lead(&self, params: &Params) -> Duration {
        let quarter = params.block_seconds.duration() / 4;
        let set = self.lead_ms.map(Duration::from_millis);
        // The default.
        set.unwrap_or(quarter.min(LEAD_MAX))
    }

    /// Returns the lead before a forger of this node.
    #[must_use]
    pub fn local_lead(&self, params: &Params) -> Duration {
        let lead = self.lead(params);
        let set = self.local_lead_ms.map(Duration::from_millis);
        // The default is a quarter of the lead before other forgers.
        set.unwrap_or(lead / 4).min(lead)
    }

    /// Returns the margin. Transactions that expire within this time are not carried.
    #[must_use]
    pub fn margin_seconds(&self, params: &Params) -> Seconds {
        // The default.
        self.margin_seconds
            .unwrap_or(params.block_seconds.times_or_max(MARGIN_BLOCKS))
    }

    /// Returns the time that a child block may wait.
    #[must_use]
    pub fn deadline_minutes(&self, params: &Params) -> Minutes {
        self.deadline_minutes
            .clamp(Minutes::new(1), params.deadline_minutes_max)
    }

    /// Returns whether a child block of this fee and count is worth making in addition to another one.
    pub(super) fn is_better(&self, mine: (MinorUnits, usize), other: (MinorUnits, usize)) -> bool {
        let raised = |other| self.better_percent.hundred_times_raised(other);
        let beats = |mine: u64, other: u64| u128::from(mine) * 100 >= raised(other) && mine > other;
        beats(mine.0.get(), other.0.get())
            || (mine.0 >= other.0 && beats(mine.1 as u64, other.1 as u64))
    }
}
