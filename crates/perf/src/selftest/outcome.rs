//! The outcomes of a self-test.

use serde::{Deserialize, Serialize};

use crate::stats::{CompareError, Comparison, Verdict};

/// Comparisons of identical sides.
pub const COMPARISONS: u32 = 20;

/// The results of comparisons of identical sides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// The number of comparisons.
    pub comparisons: u32,
    /// Pairs of stretches in each.
    pub pairs: u32,
    /// Comparisons that found a change; one in a hundred is expected, 0.2 of twenty.
    pub false_findings: u32,
    /// The findings, in words.
    pub found: Vec<String>,
}

impl Tried {
    /// Records a comparison of identical sides. A comparison that failed counts as a false finding.
    pub(super) fn note(&mut self, number: u64, comparison: &Result<Comparison, CompareError>) {
        let words = match comparison {
            Err(error) => vec![error.to_string()],
            Ok(comparison) => {
                let changed = comparison
                    .metrics
                    .iter()
                    .filter(|metric| metric.verdict != Verdict::NotShown);
                changed
                    .map(|metric| {
                        format!(
                            "{} changed by {:.3} (p {:.4})",
                            metric.metric, metric.change.value, metric.p
                        )
                    })
                    .collect()
            }
        };
        if !words.is_empty() {
            self.false_findings += 1;
            self.found.extend(
                words
                    .into_iter()
                    .map(|word| format!("comparison {number}: {word}")),
            );
        }
    }
}

/// A planted change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Planted {
    /// The change of the target's service time, as a ratio.
    pub planted: f64,
    /// The measured change of the mean latency.
    pub measured: f64,
    /// Whether it was found.
    pub found: bool,
    /// The smallest change that would have been found four times out of five, as a ratio; `None` if none would.
    pub seen_from: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_compared_counts_as_wrong() {
        let mut tried = Tried::default();
        tried.note(1, &Err(CompareError::Sides(1)));
        assert_eq!(tried.false_findings, 1);
    }
}
