//! `[flows]`: how long the node keeps flows that have ended.

use kernel::HistoryOptions;
use serde::{Deserialize, Serialize};

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// `[flows]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FlowsSection {
    /// For how many days ended flows are kept.
    pub history_days: u64,
    /// How many ended flows of each kind are kept.
    pub history_flows: usize,
}

impl Default for FlowsSection {
    fn default() -> Self {
        let HistoryOptions {
            flows_max,
            age_ms_max,
        } = HistoryOptions::default();
        Self {
            history_days: age_ms_max / DAY_MS,
            history_flows: flows_max as usize,
        }
    }
}

impl From<FlowsSection> for HistoryOptions {
    fn from(section: FlowsSection) -> Self {
        Self {
            flows_max: section.history_flows as u64,
            // The check of the configuration limits the days, so nothing is clipped.
            age_ms_max: section.history_days.saturating_mul(DAY_MS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_kernel() {
        let section = FlowsSection::default();
        assert_eq!(
            (section.history_days, section.history_flows),
            (30, 1_000_000)
        );
        assert_eq!(HistoryOptions::from(section), HistoryOptions::default());
    }
}
