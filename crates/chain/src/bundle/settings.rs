//! A node's own choices of when to bundle, and what.

use serde::{Deserialize, Serialize};

use crate::Params;

/// Settings of all bundlers of a node: no rule of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BundleSettings {
    /// How long before the predicted next block a child block is made, milliseconds; nothing for a quarter of the block time, one
    /// second at most.
    pub lead_ms: Option<u64>,
    /// The same where the forger is on this node: nothing has to travel. Nothing for a quarter of `lead_ms`.
    pub local_lead_ms: Option<u64>,
    /// Transactions that expire within so many seconds are left alone; nothing for ten block times.
    pub margin_seconds: Option<u32>,
    /// A child block is made beside another that waits only if it pays at least so many per cent more.
    pub better_percent: u32,
    /// How long a child block may wait, minutes.
    pub deadline_minutes: u16,
}

impl Default for BundleSettings {
    fn default() -> Self {
        Self {
            lead_ms: None,
            local_lead_ms: None,
            margin_seconds: None,
            better_percent: 25,
            deadline_minutes: 10,
        }
    }
}

/// The longest lead that is chosen where none is set.
const LEAD_MS_MAX: u64 = 1_000;

/// The margin that is chosen where none is set, in block times: ten minutes on a public network.
const MARGIN_BLOCKS: u32 = 10;

impl BundleSettings {
    /// The lead, milliseconds.
    #[must_use]
    pub fn lead_ms(&self, params: &Params) -> u64 {
        let quarter = u64::from(params.block_seconds) * 1_000 / 4;
        self.lead_ms.unwrap_or(quarter.min(LEAD_MS_MAX))
    }

    /// The lead before a forger of this node, milliseconds.
    #[must_use]
    pub fn local_lead_ms(&self, params: &Params) -> u64 {
        let lead = self.lead_ms(params);
        self.local_lead_ms.unwrap_or(lead / 4).min(lead)
    }

    /// What expires within so many seconds is left alone.
    #[must_use]
    pub fn margin_seconds(&self, params: &Params) -> u32 {
        self.margin_seconds
            .unwrap_or(params.block_seconds.saturating_mul(MARGIN_BLOCKS))
    }

    /// Minutes that a child block may wait.
    #[must_use]
    pub fn deadline_minutes(&self, params: &Params) -> u16 {
        self.deadline_minutes.clamp(1, params.deadline_minutes_max)
    }

    /// Whether a child block of this fee and count is worth making beside another.
    pub(super) fn is_better(&self, mine: (u64, usize), other: (u64, usize)) -> bool {
        let percent = 100 + u128::from(self.better_percent);
        let beats = |mine: u128, other: u128| mine * 100 >= other * percent && mine > other;
        beats(u128::from(mine.0), u128::from(other.0))
            || (mine.0 >= other.0 && beats(mine.1 as u128, other.1 as u128))
    }
}
