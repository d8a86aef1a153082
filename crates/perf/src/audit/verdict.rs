//! The audit's findings and their display.

use crate::report::number;

/// Upper limit on findings listed one by one. Further findings are only counted.
pub(super) const FINDINGS_MAX: usize = 20;

/// The result of an audit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The first findings, in words.
    pub findings: Vec<String>,
    /// The number of all findings.
    pub wrong: usize,
    /// Acknowledged transactions checked.
    pub transactions: usize,
    /// Unconsumed states checked.
    pub states: usize,
    /// Consumed states checked.
    pub consumed: usize,
    /// One in this many transactions was checked, with its states; 1 means all.
    pub one_in: u64,
    /// Files looked for at those who have to hold them, each once for each of these.
    pub files: usize,
    /// Files among them that were read back and hashed.
    pub files_read: usize,
}

impl Verdict {
    /// Returns whether there are no findings.
    pub fn is_clean(&self) -> bool {
        self.wrong == 0
    }

    /// Records a finding.
    pub(crate) fn wrong(&mut self, finding: impl FnOnce() -> String) {
        self.wrong += 1;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding());
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = |count: usize| number(count as f64);
        if self.is_clean() {
            write!(
                out,
                "{} transactions, {} unconsumed and {} consumed states agree",
                count(self.transactions),
                count(self.states),
                count(self.consumed)
            )?;
            if self.files > 0 {
                let (files, read) = (count(self.files), count(self.files_read));
                write!(out, ", {files} files are there, {read} of them read back")?;
            }
            if self.one_in > 1 {
                write!(out, " (one in {}, by id; sums are over all)", self.one_in)?;
            }
            return Ok(());
        }
        write!(out, "{} findings", count(self.wrong))?;
        for finding in &self.findings {
            write!(out, "\n  {finding}")?;
        }
        if self.wrong > self.findings.len() {
            let more = self.wrong - self.findings.len();
            write!(out, "\n  and {} more", count(more))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_separated_thousands() {
        let clean = Verdict {
            transactions: 60_031,
            states: 1_234_567,
            one_in: 1,
            ..Verdict::default()
        };
        let wrong = Verdict {
            findings: vec!["a".to_owned()],
            wrong: 12_001,
            ..Verdict::default()
        };
        for (verdict, expected) in [
            (
                &clean,
                "60,031 transactions, 1,234,567 unconsumed and 0 consumed states agree",
            ),
            (&wrong, "12,001 findings\n  a\n  and 12,000 more"),
        ] {
            assert_eq!(verdict.to_string(), expected);
        }
    }
}
