//! Knobs: a workload's settings in a scenario, checked one by one.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use thiserror::Error;

/// An invalid knob of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{knob}: {message}")]
pub struct KnobError {
    /// Its name in the scenario; `kind` for a kind that is not registered.
    pub knob: String,
    /// The error and the allowed values.
    pub message: String,
}

impl KnobError {
    /// Creates an error of a rule that only the workload knows.
    pub fn new(knob: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            knob: knob.into(),
            message: message.into(),
        }
    }
}

/// The knobs of one piece of work. Each read removes one. A knob that remains at the end is an error.
#[derive(Clone, Debug, Default)]
pub struct Knobs {
    set: BTreeMap<String, toml::Value>,
    asked: Vec<String>,
}

impl Knobs {
    /// Creates the knobs that a scenario sets.
    pub fn new(set: BTreeMap<String, toml::Value>) -> Self {
        let asked = Vec::new();
        Self { set, asked }
    }

    /// Reads a whole number within `allowed`; `default` if it is not set.
    pub fn number(
        &mut self,
        knob: &str,
        default: u64,
        allowed: RangeInclusive<u64>,
    ) -> Result<u64, KnobError> {
        let wrong = |found: String| {
            let (least, most) = (allowed.start(), allowed.end());
            let message = format!("{found}: a whole number from {least} to {most} is allowed");
            KnobError::new(knob, message)
        };
        match self.take(knob) {
            None => Ok(default),
            Some(toml::Value::Integer(value)) => u64::try_from(value)
                .ok()
                .filter(|value| allowed.contains(value))
                .ok_or_else(|| wrong(value.to_string())),
            Some(other) => Err(wrong(other.to_string())),
        }
    }

    /// Reads a flag; `default` if it is not set.
    pub fn flag(&mut self, knob: &str, default: bool) -> Result<bool, KnobError> {
        match self.take(knob) {
            None => Ok(default),
            Some(toml::Value::Boolean(value)) => Ok(value),
            Some(other) => Err(KnobError::new(
                knob,
                format!("{other}: true or false is allowed"),
            )),
        }
    }

    /// Reads a text that satisfies `fits`; `what` describes that rule. Returns `default` if it is not set.
    pub fn text(
        &mut self,
        knob: &str,
        default: &str,
        what: &str,
        fits: impl Fn(&str) -> bool,
    ) -> Result<String, KnobError> {
        match self.take(knob) {
            None => Ok(default.to_owned()),
            Some(toml::Value::String(value)) if fits(&value) => Ok(value),
            Some(other) => Err(KnobError::new(knob, format!("{other}: {what} is allowed"))),
        }
    }

    /// Reads one of several words; the first if it is not set.
    pub fn word(
        &mut self,
        knob: &str,
        words: &'static [&'static str],
    ) -> Result<&'static str, KnobError> {
        let first = *words.first().expect("a knob of words has at least one");
        let found = match self.take(knob) {
            None => return Ok(first),
            Some(value) => value,
        };
        let matching = words.iter().find(|word| found.as_str() == Some(**word));
        matching.copied().ok_or_else(|| {
            let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            KnobError::new(knob, format!("{found}: {} is allowed", quoted.join(" or ")))
        })
    }

    /// Reads a currency: three capital letters.
    pub fn currency(&mut self, default: &str) -> Result<String, KnobError> {
        self.text(
            "currency",
            default,
            "a currency of three capital letters",
            |text| text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase()),
        )
    }

    /// Takes any value; `None` if it is not set. For knobs of other forms.
    pub fn take(&mut self, knob: &str) -> Option<toml::Value> {
        self.asked.push(knob.to_owned());
        self.set.remove(knob)
    }

    /// Takes all knobs that are left, to pass them on.
    pub fn take_all(&mut self) -> BTreeMap<String, toml::Value> {
        std::mem::take(&mut self.set)
    }

    /// Returns the names of the knobs that were read, sorted.
    pub(super) fn asked(&self) -> Vec<&str> {
        let mut known: Vec<&str> = self.asked.iter().map(String::as_str).collect();
        known.sort_unstable();
        known.dedup();
        known
    }

    /// Fails if a knob was not read.
    pub fn end(self) -> Result<(), KnobError> {
        let known = self.asked();
        let Some(knob) = self.set.keys().next().cloned() else {
            return Ok(());
        };
        let message = if known.is_empty() {
            "this kind of work has no knobs".to_owned()
        } else {
            format!("no such knob; there are {}", known.join(", "))
        };
        Err(KnobError { knob, message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks for one of each, as a workload does.
    fn ask(text: &str) -> Result<String, KnobError> {
        let set: BTreeMap<String, toml::Value> = toml::from_str(text).expect("TOML");
        let mut knobs = Knobs::new(set);
        let states = knobs.number("states", 1, 1..=1_000)?;
        let retry = knobs.flag("retry", false)?;
        let sessions = knobs.word("sessions", &["parallel", "sequential"])?;
        let currency = knobs.currency("GBP")?;
        knobs.end()?;
        Ok(format!("{states} {retry} {sessions} {currency}"))
    }

    #[test]
    fn what_is_not_set_has_its_default_and_what_is_not_allowed_is_named() {
        for (text, expected) in [
            ("", "1 false parallel GBP"),
            ("states = 160\nretry = true", "160 true parallel GBP"),
            (
                "sessions = 'sequential'\ncurrency = 'CHF'",
                "1 false sequential CHF",
            ),
        ] {
            assert_eq!(ask(text), Ok(expected.to_owned()), "{text}");
        }
        let number = "a whole number from 1 to 1000 is allowed";
        for (text, knob, message) in [
            ("states = 0", "states", format!("0: {number}")),
            ("states = -1", "states", format!("-1: {number}")),
            ("states = 1.5", "states", format!("1.5: {number}")),
            ("states = 'x'", "states", format!("\"x\": {number}")),
            ("retry = 1", "retry", "1: true or false is allowed".into()),
            (
                "sessions = 'both'",
                "sessions",
                "\"both\": \"parallel\" or \"sequential\" is allowed".into(),
            ),
            (
                "currency = 'pound'",
                "currency",
                "\"pound\": a currency of three capital letters is allowed".into(),
            ),
            (
                "stats = 1",
                "stats",
                "no such knob; there are currency, retry, sessions, states".into(),
            ),
        ] {
            assert_eq!(ask(text), Err(KnobError::new(knob, message)), "{text}");
        }
    }
}
