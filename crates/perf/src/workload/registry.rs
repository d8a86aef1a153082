//! The kinds of work, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{KnobError, Knobs, Workload};

/// Makes a workload from its knobs. It reads every knob that it supports. The registry refuses the remaining ones.
pub type Make = fn(&mut Knobs) -> Result<Arc<dyn Workload>, KnobError>;

/// The registered kinds of work.
#[derive(Clone)]
pub struct Workloads {
    kinds: BTreeMap<String, Kind>,
}

#[derive(Clone)]
struct Kind {
    about: String,
    make: Make,
}

impl Workloads {
    /// Returns an empty registry.
    pub fn none() -> Self {
        let kinds = BTreeMap::new();
        Self { kinds }
    }

    /// Adds a kind under a name, with one line about it; replaces one that has this name.
    pub fn register(&mut self, kind: &str, about: &str, make: Make) {
        let about = about.to_owned();
        self.kinds.insert(kind.to_owned(), Kind { about, make });
    }

    /// Returns the names, with a line about each.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, &str)> {
        let kinds = self.kinds.iter();
        kinds.map(|(kind, known)| (kind.as_str(), known.about.as_str()))
    }

    /// Makes a workload of a kind with its knobs set. An error names the knob, or `kind`, and the allowed values.
    pub fn make(
        &self,
        kind: &str,
        knobs: &BTreeMap<String, toml::Value>,
    ) -> Result<Arc<dyn Workload>, KnobError> {
        let known = self.kinds.get(kind).ok_or_else(|| {
            let names: Vec<&str> = self.kinds.keys().map(String::as_str).collect();
            let message = format!("no kind of work {kind:?}; there are {}", names.join(", "));
            KnobError::new("kind", message)
        })?;
        let mut knobs = Knobs::new(knobs.clone());
        let workload = (known.make)(&mut knobs)?;
        knobs.end()?;
        Ok(workload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::issue;

    /// The reference page.
    const PAGE: &str = include_str!("../../../../docs/reference/workloads.md");

    #[test]
    fn the_reference_has_every_kind_with_all_its_knobs() {
        let sections: BTreeMap<&str, &str> = PAGE
            .split("\n## ")
            .filter_map(|section| section.split_once('\n'))
            .collect();
        for (kind, known) in Workloads::shipped().kinds {
            let section = sections.get(kind.as_str()).unwrap_or(&"");
            let mut knobs = Knobs::default();
            assert!((known.make)(&mut knobs).is_ok(), "{kind} has its defaults");
            for knob in knobs.asked() {
                assert!(section.contains(&format!("`{knob}`")), "{kind}: {knob}");
            }
        }
    }

    /// Checks a kind's error for these knobs; the expected text is empty if it accepts them.
    fn check(kind: &str, knobs: &str, expected: &str) {
        let set: BTreeMap<String, toml::Value> = toml::from_str(knobs).expect("TOML");
        let said = match Workloads::shipped().make(kind, &set) {
            Ok(workload) => {
                assert_eq!(workload.kind(), kind);
                String::new()
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(said, expected, "{kind}: {knobs}");
    }

    #[test]
    fn every_kind_takes_its_knobs_and_names_what_it_does_not_take() {
        for (kind, _) in Workloads::shipped().kinds() {
            check(kind, "", "");
        }
        check("issue", "currency = 'CHF'\nquantity = 5\nstates = 5", "");
        check(
            "issue",
            "quantity = 4\nstates = 5",
            "states: no more states than minor units (4) are allowed",
        );
        check("issue_and_pay", "selection = true\nanonymous = true", "");
        check("empty", "retry = true\nstarts = 'requests'", "");
        check("issue", "starts = 'requests'\nfollowers = 200", "");
        check(
            "issue",
            "followers = 10001",
            "followers: 10001: a whole number from 0 to 10000 is allowed",
        );
        check(
            "empty",
            "states = 1",
            "states: no such knob; there are followers, gateway_workers, retry, starts",
        );
        check("transfer", "depth = 10000\nanonymous = true", "");
        check(
            "transfer",
            "depth = 10001",
            "depth: 10001: a whole number from 0 to 10000 is allowed",
        );
        check(
            "swap",
            "parties = 10\ndepth = 10\nselection = 'tracked'\nsessions = 'sequential'\nresolution = 'single'",
            "",
        );
        check(
            "swap",
            "parties = 5",
            "parties: 5: an even number from 2 to 10 is allowed",
        );
        check(
            "swap",
            "resolution = 'one'",
            "resolution: \"one\": \"bulk\" or \"single\" is allowed",
        );
        for symbol in ["", "tly", "1A", "A B", "ABCDEFGHIJKLMNOPQ"] {
            let said = format!(
                "symbol: {:?}: a symbol of 1 to 16 letters, digits, dots and dashes that begins with a capital letter is allowed",
                symbol
            );
            check("swap", &format!("symbol = '{symbol}'"), &said);
        }
        check(
            "vault-query",
            "states = 1000000\nquery = 'by_linear_id'",
            "",
        );
        check(
            "vault-query",
            "states = 99",
            "states: 99: a whole number from 100 to 100000000 is allowed",
        );
        check("pay", "states = 160\ncoins = 10\nretry = true", "");
        check(
            "pay",
            "states = 2000",
            "states: 2000: a whole number from 1 to 1000 is allowed",
        );
    }

    #[test]
    fn an_unknown_kind_is_told_what_there_is() {
        let mut all = Workloads::none();
        all.register("a", "", issue::REGISTERED.2);
        all.register("b", "", issue::REGISTERED.2);
        let said = all.make("c", &BTreeMap::new()).err();
        assert_eq!(
            said,
            Some(KnobError::new(
                "kind",
                "no kind of work \"c\"; there are a, b"
            ))
        );
    }
}
