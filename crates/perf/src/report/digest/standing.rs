//! Whether a scenario's figures are valid.

use serde::Serialize;

use crate::results::Scenario;

/// The status of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// An audit failed.
    AuditFailed,
    /// It did not run to its end.
    Unfinished,
    /// It was not audited.
    Unaudited,
    /// It is valid with this many findings.
    Findings(usize),
    /// It is valid.
    Good,
}

impl Standing {
    /// Returns the status of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let audits = || scenario.points.iter().flat_map(|point| &point.audits);
        if audits().any(|audit| !audit.clean) {
            Standing::AuditFailed
        } else if scenario.failure.is_some() {
            Standing::Unfinished
        } else if audits().next().is_none() {
            Standing::Unaudited
        } else if scenario.findings.is_empty() {
            Standing::Good
        } else {
            Standing::Findings(scenario.findings.len())
        }
    }

    /// Returns whether the figures are not valid.
    pub fn is_bad(self) -> bool {
        matches!(self, Standing::AuditFailed | Standing::Unfinished)
    }

    /// Returns the status in words. A tick stands only where there is nothing to warn of.
    pub fn words(self) -> String {
        match self {
            Standing::AuditFailed => "✗ audit failed".to_owned(),
            Standing::Unfinished => "✗ did not finish".to_owned(),
            Standing::Unaudited => "! not audited".to_owned(),
            Standing::Findings(1) => "! 1 warning; audit clean".to_owned(),
            Standing::Findings(count) => format!("! {count} warnings; audit clean"),
            Standing::Good => "✓ audit clean".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{AuditResult, Finding, Point};

    #[test]
    fn a_tick_stands_only_without_a_warning() {
        let audit = |clean| AuditResult {
            clean,
            ..AuditResult::default()
        };
        for (audits, findings, failure, words) in [
            (vec![audit(true)], 0, None, "✓ audit clean"),
            (vec![audit(true)], 1, None, "! 1 warning; audit clean"),
            (vec![audit(true)], 3, None, "! 3 warnings; audit clean"),
            (vec![], 3, None, "! not audited"),
            (vec![audit(true)], 0, Some("why"), "✗ did not finish"),
            (vec![audit(true), audit(false)], 0, None, "✗ audit failed"),
        ] {
            let scenario = Scenario {
                points: vec![Point {
                    audits,
                    ..Point::default()
                }],
                findings: vec![Finding::default(); findings],
                failure: failure.map(str::to_owned),
                ..Scenario::default()
            };
            assert_eq!(Standing::of(&scenario).words(), words);
        }
    }
}
