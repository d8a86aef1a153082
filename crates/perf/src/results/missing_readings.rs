//! The readings that a sample of a process lacks, so that an unknown value is not taken for 0.

use serde::{Deserialize, Serialize};

/// The groups of readings that a sample lacks. Their values are 0 in the sample, and unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MissingReadings {
    /// Processor time and memory.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub process: bool,
    /// Bytes read from and written to disks, which only the process's machine knows.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub io: bool,
    /// The counters that a node reports: commits, and bytes from and to nodes and clients.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub counters: bool,
    /// The size of its folder.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disk: bool,
}

impl MissingReadings {
    /// Returns whether the sample has every reading.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_lacking_is_written() {
        for (missing, json) in [
            (MissingReadings::default(), "{}"),
            (
                MissingReadings {
                    io: true,
                    disk: true,
                    ..MissingReadings::default()
                },
                r#"{"io":true,"disk":true}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&missing).expect("JSON"), json);
            let read: MissingReadings = serde_json::from_str(json).expect("reads");
            assert_eq!((read, read.is_nothing()), (missing, json == "{}"));
        }
    }
}
