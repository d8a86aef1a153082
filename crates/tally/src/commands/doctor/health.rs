//! The warnings of a running node's health, each with its severity and a name.

use api::{Health, HealthWarning, NodeState};

use super::finding::{Finding, Verdict};
use super::quarantine;

/// The name and the severity of each warning that a node may report, by its code.
const KNOWN: &[(&str, &str, Verdict)] = &[
    ("node.rolled_back", "rollback", Verdict::Problem),
    ("node.flows_held", "held flows", Verdict::Warning),
    ("node.stale_data", "peers' marks", Verdict::Warning),
    ("notary.equivocated", "equivocations", Verdict::Problem),
    (quarantine::CODE, "quarantine", Verdict::Problem),
    ("node.delivery_waits", "deliveries", Verdict::Warning),
    ("file.lost", "attachments", Verdict::Problem),
    ("users.audit_lost", "audit log", Verdict::Problem),
    ("users.missing", "users", Verdict::Problem),
    ("users.invalid", "users", Verdict::Problem),
    ("users.file", "users", Verdict::Problem),
    ("users.exposed", "users", Verdict::Problem),
    (
        "bootstrap.certificate_ends",
        "certificate",
        Verdict::Warning,
    ),
    ("bootstrap.root_ends", "root", Verdict::Warning),
    ("node.clock_jumped", "clock jump", Verdict::Problem),
];

/// Returns the check and the severity of a warning. A warning of a newer node is a warning.
fn judge(warning: &HealthWarning) -> (&'static str, Verdict) {
    let mut known = KNOWN.iter().filter(|(code, ..)| *code == warning.code);
    let found = known.next().map(|(_, check, verdict)| (*check, *verdict));
    found.unwrap_or(("node's warning", Verdict::Warning))
}

/// Returns the severity of a warning.
pub fn severity(warning: &HealthWarning) -> Verdict {
    judge(warning).1
}

/// Returns a finding for each warning whose check has no finding yet that is a warning or a problem.
pub fn check(health: &Health, known: &[Finding]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for warning in &health.warnings {
        let (check, verdict) = judge(warning);
        let mut of_check = known.iter().filter(|finding| finding.check == check);
        if of_check.any(|finding| finding.verdict != Verdict::Ok) {
            continue;
        }
        let found = format!("{} ({})", warning.message, warning.code);
        findings.push(Finding {
            verdict,
            ..Finding::problem(check, found, warning.hint.clone())
        });
    }
    findings
}

/// Returns the state of a node that is not ready, with the code and the message of a failure, and how severe that is.
pub fn not_ready(health: &Health) -> Option<(Verdict, String)> {
    let verdict = match health.state {
        NodeState::Ready => return None,
        NodeState::Degraded | NodeState::Failed => Verdict::Problem,
        _ => Verdict::Warning,
    };
    let mut found = health.state.as_str().to_owned();
    for more in health.code.iter().chain(&health.message) {
        found.push_str(": ");
        found.push_str(more);
    }
    Some((verdict, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn health(codes: &[&str]) -> Health {
        let warnings = codes.iter().map(|code| HealthWarning {
            code: (*code).to_owned(),
            message: "so it is".to_owned(),
            hint: "Do this.".to_owned(),
        });
        Health {
            live: true,
            ready: true,
            state: NodeState::Ready,
            ledger_seq: 1,
            view_seq: 1,
            view_lag: 0,
            message: None,
            code: None,
            warnings: warnings.collect(),
        }
    }

    #[test]
    fn each_warning_has_its_severity_and_is_reported_once() {
        let expiring = Finding::warning("certificate", "expires in 9 days", "Renew it.");
        let lasting = Finding::ok("certificate", "good for 300 days");
        for (code, known, expected) in [
            (
                "node.rolled_back",
                None,
                Some(("rollback", Verdict::Problem)),
            ),
            (
                "node.flows_held",
                None,
                Some(("held flows", Verdict::Warning)),
            ),
            ("a.newer", None, Some(("node's warning", Verdict::Warning))),
            ("bootstrap.certificate_ends", Some(&expiring), None),
            // The node still runs with the certificate before the one in its folder.
            (
                "bootstrap.certificate_ends",
                Some(&lasting),
                Some(("certificate", Verdict::Warning)),
            ),
        ] {
            let known: Vec<Finding> = known.cloned().into_iter().collect();
            let findings = check(&health(&[code]), &known);
            let shown = findings.iter();
            let shown = shown.map(|finding| (finding.check, finding.verdict));
            assert_eq!(
                shown.collect::<Vec<_>>(),
                Vec::from_iter(expected),
                "{code}"
            );
        }
    }

    #[test]
    fn every_code_of_the_table_is_documented() {
        let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");
        let pages = std::fs::read_dir(pages).expect("generated pages");
        let text = pages.map(|page| std::fs::read_to_string(page.expect("readable").path()));
        let text: String = text.map(|text| text.expect("text")).collect();
        for (code, ..) in KNOWN {
            assert!(text.contains(&format!("\n### {code}\n")), "{code}");
        }
    }
}
