//! The result of a check.

use serde::Serialize;

use crate::output::{Ink, stdout_ink};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No problem.
    Ok,
    /// The node runs, but not well, or may stop soon.
    Warning,
    /// The node does not run, or loses data.
    Problem,
}

/// The result of one check, and the recommended action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The checked subject.
    pub check: &'static str,
    /// The severity.
    pub verdict: Verdict,
    /// The finding.
    pub found: String,
    /// The recommended action, empty if there is no problem.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub action: String,
}

impl Finding {
    pub fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self {
            check,
            verdict: Verdict::Ok,
            found: found.into(),
            action: String::new(),
        }
    }

    pub fn warning(
        check: &'static str,
        found: impl Into<String>,
        action: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Verdict::Warning,
            action: action.into(),
            ..Self::ok(check, found)
        }
    }

    pub fn problem(
        check: &'static str,
        found: impl Into<String>,
        action: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Verdict::Problem,
            ..Self::warning(check, found, action)
        }
    }
}

/// Returns one line per finding, and one per action.
pub fn people(findings: &[Finding]) -> String {
    let ink = stdout_ink();
    let width = findings.iter().map(|finding| finding.check.len()).max();
    // Without findings there is no line to align.
    let width = width.unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let (word, colour) = match finding.verdict {
            Verdict::Ok => ("ok     ", Ink::GREEN),
            Verdict::Warning => ("warning", Ink::YELLOW),
            Verdict::Problem => ("problem", Ink::RED),
        };
        let word = ink.paint(colour, word);
        text.push_str(&format!(
            "{word}  {:<width$}  {}\n",
            finding.check, finding.found
        ));
        if !finding.action.is_empty() {
            text.push_str(&format!("{:9}{:width$}  {}\n", "", "", finding.action));
        }
    }
    text
}
