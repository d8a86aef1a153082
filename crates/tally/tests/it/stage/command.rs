//! `tally` as people and scripts run it.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
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

/// Runs `tally` with the space-separated arguments in `line`. `%` stands for the folder of a node.
pub fn tally(folder: &Path, line: &str) -> Ran {
    started(folder, line).ran()
}

/// `tally` while it runs.
pub struct Running(Child);

/// Starts `tally` with the space-separated arguments in `line`. `%` stands for the folder of a node.
pub fn started(folder: &Path, line: &str) -> Running {
    let folder = folder.to_string_lossy().into_owned();
    let words = line.split(' ').map(|word| word.replace('%', &folder));
    let mut command = Command::new(binary());
    command
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .env_remove("TALLY_NODE");
    Running(command.spawn().expect("tally runs"))
}

impl Running {
    /// Asks it to stop.
    pub fn signal(&self, signal: Signal) {
        send(self.0.id(), signal);
    }

    /// Returns whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        let ended = self.0.try_wait().expect("it is a child of this process");
        ended.is_some()
    }

    /// Waits for its end.
    pub fn ran(self) -> Ran {
        let Output {
            status,
            stdout,
            stderr,
        } = self.0.wait_with_output().expect("it ends");
        Ran {
            code: status.code().unwrap_or(-1),
            out: String::from_utf8(stdout).expect("text"),
            err: String::from_utf8(stderr).expect("text"),
        }
    }
}

/// Sends a signal to a process that this test started.
pub fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).expect("a process id");
    let pid = Pid::from_raw(pid).expect("a process id");
    kill_process(pid, signal).expect("it runs");
}
