//! Programs that a host runs, and signals to their processes.

use std::path::PathBuf;

use rustix::process::Signal;

/// A node prints this on standard output when it is ready.
pub(crate) const READY: &str = "\"ready\":";

/// A program to run.
#[derive(Clone, Debug)]
pub struct Program {
    /// A name for people.
    pub name: String,
    /// The executable.
    pub binary: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Extra environment variables.
    pub environment: Vec<(String, String)>,
    /// The file that its standard error and output are appended to.
    pub log: PathBuf,
    /// The process is ready when a line of its standard output contains this.
    pub ready_marker: String,
}

/// Sends a signal to a child process that has not been waited for, so its id cannot have been reused.
pub fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
    {
        // A process that has just ended needs no signal.
        let _ = rustix::process::kill_process(pid, signal);
    }
}
