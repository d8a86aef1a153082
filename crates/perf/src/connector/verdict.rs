//! The laboratory's verdict on a connector's audit.

use super::message::Audited;
use crate::results::AuditResult;

/// Findings of an audit that are shown, and characters of each.
const FINDINGS_MAX: usize = 20;
const FINDING_CHARS_MAX: usize = 1_000;

/// Judges the result of a connector's audit. Every acknowledged unit has to be there, and no unit that was not started.
pub(super) fn judge(audited: &Audited, acknowledged: u64, in_doubt: u64) -> AuditResult {
    let recorded = audited.recorded;
    // Clipped: a load never starts so many units.
    let most = acknowledged.saturating_add(in_doubt);
    let mut findings = Vec::new();
    if recorded < acknowledged {
        findings.push(format!(
            "{acknowledged} units were acknowledged, but only {recorded} are there"
        ));
    }
    if recorded > most {
        findings.push(format!(
            "{recorded} units are there, but only {most} were started"
        ));
    }
    let told = audited.findings.iter().take(FINDINGS_MAX);
    findings.extend(told.map(|finding| finding.chars().take(FINDING_CHARS_MAX).collect()));
    let clean = findings.is_empty();
    let words = match clean {
        true => format!(
            "{recorded} units are there, of {acknowledged} acknowledged and {in_doubt} in doubt"
        ),
        false => findings.join("; "),
    };
    AuditResult {
        clean,
        words,
        transactions: recorded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audit_compares_what_is_there_with_what_was_acknowledged() {
        for (recorded, findings, acknowledged, in_doubt, clean) in [
            (5, &[][..], 5, 0, true),
            (6, &[], 5, 1, true),
            (4, &[], 5, 1, false),
            (7, &[], 5, 1, false),
            (5, &["a balance is wrong"], 5, 0, false),
        ] {
            let audited = Audited {
                recorded,
                findings: findings.iter().map(|one| (*one).to_owned()).collect(),
            };
            let found = judge(&audited, acknowledged, in_doubt);
            assert_eq!(
                found.clean, clean,
                "{recorded} {acknowledged} {in_doubt}: {}",
                found.words
            );
        }
    }
}
