//! The lines that the laboratory and a connector exchange.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::results::is_load;

/// The version of the lines.
pub const PROTOCOL: u32 = 1;

/// A request, one line to the connector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Its number, which the answer repeats. No two requests have the same.
    pub id: u64,
    /// What to do.
    #[serde(flatten)]
    pub task: Task,
}

/// A task of a connector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Task {
    /// Get ready for units of this work. What was there before has been audited and may be discarded.
    Prepare {
        /// The keys of `[work]`, except `kind`, `label` and `weight`.
        work: BTreeMap<String, Value>,
        /// The seed of all random choices.
        seed: u64,
        /// About how many units will run before the next preparation.
        units_expected: u64,
    },
    /// Run a unit to its end: durable, and known to all participants. Many are outstanding at once.
    Start {
        /// The number of the unit, unique since the preparation.
        unit: u64,
    },
    /// Check everything since the preparation. Units in doubt may still be running.
    Audit {
        /// Units that were answered well.
        acknowledged: u64,
        /// Units that failed or were not answered, so that they may have been carried out or not.
        in_doubt: u64,
    },
    /// Report the present values of the system's own metrics.
    Metrics,
}

/// The first line of a connector.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The version of the lines that follow: [`PROTOCOL`].
    pub protocol: u32,
    /// The system and its version, for the report.
    pub name: String,
    /// The processes of the system on this machine, to be monitored.
    #[serde(default)]
    pub processes: Vec<HelloProcess>,
}

/// A process of the system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HelloProcess {
    /// Its name in the report.
    pub name: String,
    /// Its process id. The processes that it has started count as parts of it.
    pub pid: u32,
    /// The folder of its data, if its growth is to be measured.
    #[serde(default)]
    pub folder: Option<PathBuf>,
}

/// An answer, one line from the connector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The number of the request.
    pub id: u64,
    /// The result: an empty object for `prepare` and `start`, an [`Audited`] for `audit`, names and numbers for `metrics`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<Value>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<AnswerError>,
}

/// The reason why a connector failed at a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerError {
    /// A stable code, at most 100 small letters, digits, dots, dashes and underscores. Failures are counted by it.
    pub code: String,
    /// A message for people.
    pub message: String,
}

/// Maximum length of a code and of a metric's name.
pub(super) const NAME_CHARS_MAX: usize = 100;
/// Maximum number of processes of a system, and length of a process's name.
const PROCESSES_MAX: usize = 64;
const PROCESS_CHARS_MAX: usize = 64;
/// Maximum length of a system's name.
const SYSTEM_CHARS_MAX: usize = 100;

impl AnswerError {
    /// Returns whether its code can be counted and printed.
    pub(super) fn is_valid(&self) -> bool {
        is_plain(&self.code, NAME_CHARS_MAX)
    }
}

/// Returns whether a text has so many small letters, digits, dots, dashes and underscores at most, and nothing else.
pub(super) fn is_plain(text: &str, chars_max: usize) -> bool {
    let fits =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    (1..=chars_max).contains(&text.len()) && text.bytes().all(fits)
}

impl Hello {
    /// Checks that its names can be told from others and printed. An error names the first that cannot.
    pub(super) fn check(&self) -> Result<(), String> {
        let is_printed = |c: char| !c.is_control();
        let chars = self.name.chars().count();
        if !(1..=SYSTEM_CHARS_MAX).contains(&chars) || !self.name.chars().all(is_printed) {
            return Err(format!(
                "its name has to have 1 to {SYSTEM_CHARS_MAX} characters"
            ));
        }
        if self.processes.len() > PROCESSES_MAX {
            return Err(format!("it names more than {PROCESSES_MAX} processes"));
        }
        let mut seen = BTreeSet::new();
        for process in &self.processes {
            let name = &process.name;
            if !is_plain(name, PROCESS_CHARS_MAX) || is_load(name) || !seen.insert(name) {
                return Err(format!(
                    "the process name {name:?} is not plain, reserved, or there twice"
                ));
            }
            let folder = process.folder.as_deref();
            if folder.is_some_and(|folder| !folder.is_absolute() || folder.parent().is_none()) {
                return Err(format!("the folder of {name} has to be an absolute path"));
            }
        }
        Ok(())
    }
}

/// The result of an audit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Audited {
    /// Units whose effects are there. The laboratory compares it with the units that were acknowledged.
    pub recorded: u64,
    /// The findings, one line each.
    #[serde(default)]
    pub findings: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let work = BTreeMap::from([("accounts".to_owned(), Value::from(10))]);
        for (id, task, line) in [
            (
                1,
                Task::Prepare {
                    work,
                    seed: 7,
                    units_expected: 500,
                },
                r#"{"id":1,"do":"prepare","work":{"accounts":10},"seed":7,"units_expected":500}"#,
            ),
            (
                2,
                Task::Start { unit: 9 },
                r#"{"id":2,"do":"start","unit":9}"#,
            ),
            (
                3,
                Task::Audit {
                    acknowledged: 4,
                    in_doubt: 1,
                },
                r#"{"id":3,"do":"audit","acknowledged":4,"in_doubt":1}"#,
            ),
            (4, Task::Metrics, r#"{"id":4,"do":"metrics"}"#),
        ] {
            let request = Request { id, task };
            assert_eq!(serde_json::to_string(&request).expect("JSON"), line);
            let read: Request = serde_json::from_str(line).expect(line);
            assert_eq!(read, request);
        }
    }

    #[test]
    fn names_of_processes_are_plain_and_no_others() {
        for (names, folder, good) in [
            (&["postgres"][..], Some("/data"), true),
            (&[], None, true),
            (&["a", "b"], None, true),
            (&["a", "a"], None, false),
            (&["generator"], None, false),
            (&["agent-db"], None, false),
            (&["A"], None, false),
            (&[""], None, false),
            (&["x"], Some("data"), false),
            (&["x"], Some("/"), false),
        ] {
            let process = |name: &&str| HelloProcess {
                name: (*name).to_owned(),
                pid: 1,
                folder: folder.map(PathBuf::from),
            };
            let hello = Hello {
                protocol: PROTOCOL,
                name: "x".to_owned(),
                processes: names.iter().map(process).collect(),
            };
            assert_eq!(hello.check().is_ok(), good, "{names:?} {folder:?}");
        }
    }

    #[test]
    fn codes_are_short_and_plain() {
        for (code, is_valid) in [
            ("pg.deadlock", true),
            ("40P01", false),
            ("", false),
            ("with space", false),
            ("line\nbreak", false),
            (&"x".repeat(100), true),
            (&"x".repeat(101), false),
        ] {
            let error = AnswerError {
                code: code.to_owned(),
                message: String::new(),
            };
            assert_eq!(error.is_valid(), is_valid, "{code:?}");
        }
    }
}
