//! Errors in a scenario, with their places.

use std::fmt;

use primitives::{Coded, ErrorInfo};

use super::source::Place;

/// The file can't be read.
pub(super) const UNREADABLE: &str = "lab.unreadable_scenario";
/// The scenario contains an error.
pub(super) const BAD: &str = "lab.bad_scenario";
/// A key that does not exist.
pub(super) const UNKNOWN_SETTING: &str = "lab.unknown_setting";
/// A malformed `--set`.
pub(super) const BAD_OVERRIDE: &str = "lab.bad_override";
/// Neither a file nor the name of a shipped scenario.
pub(super) const UNKNOWN: &str = "lab.unknown_scenario";

/// Minimum length of a prefix that identifies a name.
const BEGUN_CHARS_MIN: usize = 3;

/// The codes of scenarios.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: BAD_OVERRIDE,
        cause: "A --set on the command line is not of the form key=value, or no setting has its key.",
        action: "Write it as in the file, such as --set run.seconds=20; a word needs no quotes, a list is [1, 2].",
    },
    ErrorInfo {
        code: BAD,
        cause: "A scenario is not TOML, or something in it is missing, of the wrong type, out of its range or contradictory.",
        action: "Correct the line that the message shows; docs/reference/scenarios.md lists every key with its range.",
    },
    ErrorInfo {
        code: UNKNOWN,
        cause: "The argument is neither a scenario file nor the name of a shipped scenario.",
        action: "List the shipped ones with 'tally lab list', or give the path of a file.",
    },
    ErrorInfo {
        code: UNKNOWN_SETTING,
        cause: "A scenario has an unknown key, or a key at the wrong place.",
        action: "Take the key that the message suggests; docs/reference/scenarios.md lists every one.",
    },
    ErrorInfo {
        code: UNREADABLE,
        cause: "A scenario file can't be read, is too long or is not UTF-8.",
        action: "Check the path, the file's permissions and that it is a text.",
    },
];

/// An error in a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// `lab.bad_scenario`, ...
    pub code: &'static str,
    /// Its place; `None` if it has none.
    pub place: Option<Place>,
    /// The error and the allowed values.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) if place.line > 0 => write!(
                f,
                "{}:{}:{}: {}\n{}",
                place.source, place.line, place.column, self.message, place.shown
            ),
            Some(place) => write!(f, "{}: {}", place.source, self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Why a scenario can't be used: all its errors, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// In the order of detection; at most `PROBLEMS_MAX`.
    pub problems: Vec<Problem>,
}

impl PlanError {
    /// Returns an error with a single problem without a place.
    pub(super) fn plain(code: &'static str, message: String) -> Self {
        let place = None;
        Self {
            problems: vec![Problem {
                code,
                place,
                message,
            }],
        }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for PlanError {}

impl Coded for PlanError {
    fn code(&self) -> &'static str {
        self.problems.first().map_or(BAD, |problem| problem.code)
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}

/// Returns the name that an unknown word probably means, if one is near: a typing error away, or a prefix of it.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    // Longer words are no typing errors, and comparing them takes quadratic time.
    if length > super::limits::NAME_CHARS_MAX {
        return None;
    }
    let distance = |name: &'a str| {
        let distance = strsim::damerau_levenshtein(word, name);
        let near = distance <= name.chars().count().div_ceil(3).max(1);
        let begun = length >= BEGUN_CHARS_MIN && name.starts_with(word);
        (near || begun).then_some((distance, name))
    };
    names
        .into_iter()
        .filter_map(distance)
        .min()
        .map(|(_, name)| name)
}

/// Returns `; did you mean ...?`, or nothing.
pub(super) fn suggestion<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, names).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_suggested_and_far_ones_not() {
        let names = ["seconds", "repeats", "warm_up_s"];
        for (word, wanted) in [
            ("second", Some("seconds")),
            ("repaets", Some("repeats")),
            ("warmup_s", Some("warm_up_s")),
            ("duration", None),
            ("warm", Some("warm_up_s")),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), wanted, "{word}");
        }
        assert_eq!(nearest(&"s".repeat(100_000), names), None);
    }
}
