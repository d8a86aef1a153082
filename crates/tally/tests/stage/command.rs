//! `tally` as people and scripts run it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::binary;

/// Exit code, standard output, standard error.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}

/// Runs `tally` with words; `%` stands for the folder of a node.
pub fn tally(folder: &Path, line: &str) -> Ran {
    let folder = folder.to_string_lossy().into_owned();
    let words = line.split(' ').map(|word| word.replace('%', &folder));
    let mut command = Command::new(binary());
    command
        .args(words)
        .stdin(Stdio::null())
        .env_remove("TALLY_NODE");
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("tally runs");
    Ran {
        code: status.code().unwrap_or(-1),
        out: String::from_utf8(stdout).expect("text"),
        err: String::from_utf8(stderr).expect("text"),
    }
}
