//! Failures by code: a bounded number of codes, each with a count and one sample message.

use std::collections::BTreeMap;

use crate::load::Fault;
use crate::results;

/// Upper limit on distinct codes. Failures of further ones count under [`OTHERS`].
const CODES_MAX: usize = 100;
/// The code of failures beyond [`CODES_MAX`].
const OTHERS: &str = "lab.other_codes";
/// Characters of a message that are kept.
const MESSAGE_CHARS_MAX: usize = 500;

/// Counts by code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Faults {
    by_code: BTreeMap<String, (u64, String)>,
}

impl Faults {
    /// Counts a failure. Returns its code if `wanted`.
    pub fn add(&mut self, fault: Fault, wanted: bool) -> Option<String> {
        if let Some((count, _)) = self.by_code.get_mut(&fault.code) {
            *count += 1;
            return wanted.then_some(fault.code);
        }
        let code = wanted.then(|| fault.code.clone());
        self.add_many(fault.code, 1, fault.message);
        code
    }

    /// Counts `more` failures of a code.
    pub fn add_many(&mut self, code: String, more: u64, message: String) {
        let known = self.by_code.contains_key(&code) || self.by_code.len() < CODES_MAX;
        let code = if known { code } else { OTHERS.to_owned() };
        let words = || message.chars().take(MESSAGE_CHARS_MAX).collect();
        let (count, _) = self.by_code.entry(code).or_insert_with(|| (0, words()));
        *count += more;
    }

    /// Adds the counts of another one.
    pub fn merge(&mut self, other: Faults) {
        for (code, (count, message)) in other.by_code {
            self.add_many(code, count, message);
        }
    }

    /// Returns them in the document's form.
    pub fn results(self) -> Vec<results::Fault> {
        let by_code = self.by_code.into_iter();
        by_code
            .map(|(code, (count, message))| results::Fault {
                code,
                count,
                message,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_counted_and_bounded() {
        let mut faults = Faults::default();
        for number in 0..CODES_MAX * 2 {
            let fault = |message: &str| Fault {
                code: format!("fake.code_{number}"),
                message: message.to_owned(),
            };
            let code = faults.add(fault("first"), true);
            assert_eq!(code, Some(format!("fake.code_{number}")));
            faults.add(fault("second"), false);
        }
        let mut twice = faults.clone();
        twice.merge(faults.clone());
        let sum = |faults: Faults| faults.results().iter().map(|one| one.count).sum::<u64>();
        assert_eq!(sum(faults.clone()), 4 * CODES_MAX as u64);
        assert_eq!(sum(twice), 8 * CODES_MAX as u64);
        let results = faults.results();
        assert_eq!(results.len(), CODES_MAX + 1);
        assert!(results.iter().all(|one| one.message == "first"));
    }
}
