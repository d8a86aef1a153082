//! The result of a check, with a code if an action is needed.

use primitives::ErrorInfo;
use serde::Serialize;

use crate::commands::doctor::Verdict;
use crate::output::{Ink, stdout_ink};

/// A finding about a node or the whole network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The error code, empty if there is no problem.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// The node's folder or name, empty if the finding is about the network.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node: String,
    /// The severity.
    pub verdict: Verdict,
    /// The finding.
    pub found: String,
    /// The recommended action, empty if there is no problem.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub action: String,
}

impl Finding {
    pub fn ok(node: &str, found: impl Into<String>) -> Self {
        Self {
            code: String::new(),
            node: node.to_owned(),
            verdict: Verdict::Ok,
            found: found.into(),
            action: String::new(),
        }
    }

    pub fn warning(node: &str, info: &ErrorInfo, found: impl Into<String>) -> Self {
        Self {
            code: info.code.to_owned(),
            verdict: Verdict::Warning,
            action: info.action.to_owned(),
            ..Self::ok(node, found)
        }
    }

    pub fn problem(node: &str, info: &ErrorInfo, found: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Problem,
            ..Self::warning(node, info, found)
        }
    }
}

/// Returns one line per finding, and one per action.
pub fn people(findings: &[Finding]) -> String {
    let ink = stdout_ink();
    let width = findings.iter().map(|finding| finding.node.chars().count());
    // Without findings there is no line to align.
    let width = width.max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let (word, colour) = match finding.verdict {
            Verdict::Ok => ("ok     ", Ink::GREEN),
            Verdict::Warning => ("warning", Ink::YELLOW),
            Verdict::Problem => ("problem", Ink::RED),
        };
        let word = ink.paint(colour, word);
        let code = match finding.code.as_str() {
            "" => String::new(),
            code => format!("{code}: "),
        };
        let (node, found) = (&finding.node, &finding.found);
        text.push_str(&format!("{word}  {node:<width$}  {code}{found}\n"));
        if !finding.action.is_empty() {
            text.push_str(&format!("{:9}{:width$}  {}\n", "", "", finding.action));
        }
    }
    text
}
