//! One node as a real process: ready line, log file, stop and kill -9. The process never outlives us by accident.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use thiserror::Error;

use super::host::{Host, HostError, HostProcess, PlacedProcess, Program, Readiness, this_machine};

/// A running (or stopped) process. Dropping it kills the process.
#[derive(Debug)]
pub struct NodeProcess {
    program: Program,
    host: Arc<dyn Host>,
    cores: Option<u32>,
    running: Option<Running>,
    /// The id of the process that was started last; 0 before the first.
    last: Arc<AtomicU32>,
}

#[derive(Debug)]
struct Running {
    process: Box<dyn HostProcess>,
    /// Whether it was asked to end. A node that is asked twice ends at once.
    asked: bool,
}

/// Why a process operation failed.
#[derive(Debug, Error)]
pub enum ProcessError {
    /// The executable or its log could not be opened.
    #[error("{name} does not start: {source} (log: {log})")]
    Start {
        /// The process.
        name: String,
        /// Its log file.
        log: PathBuf,
        /// The error of its host.
        source: HostError,
    },
    /// It ended before it was ready.
    #[error("{name} ended before it was ready; the end of its log {log}:\n{tail}")]
    Ended {
        /// The process.
        name: String,
        /// Its log file.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// It did not become ready in time.
    #[error("{name} is not ready after {seconds} s; the end of its log {log}:\n{tail}")]
    NotReady {
        /// The process.
        name: String,
        /// The time limit that has passed.
        seconds: u64,
        /// Its log file.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// It is running already, or not running.
    #[error("{name} is {state}")]
    State {
        /// The process.
        name: String,
        /// Its state, in words.
        state: &'static str,
    },
    /// Waiting for the exit failed.
    #[error("{name} cannot be stopped: {source}")]
    Stop {
        /// The process.
        name: String,
        /// The error of its host.
        source: HostError,
    },
    /// Its host is gone.
    #[error("{name}: {source}")]
    Host {
        /// The process.
        name: String,
        /// The error of its host.
        source: HostError,
    },
}

impl NodeProcess {
    /// Creates a process of this machine that is not running yet.
    pub fn new(program: Program) -> Self {
        Self::on(this_machine(), program)
    }

    /// Creates a process of a host that is not running yet.
    pub fn on(host: Arc<dyn Host>, program: Program) -> Self {
        Self {
            program,
            host,
            cores: None,
            running: None,
            last: Arc::default(),
        }
    }

    /// Sets the number of cores for future starts, or no limit. Returns whether that changed it.
    pub fn set_cores(&mut self, cores: Option<u32>) -> bool {
        std::mem::replace(&mut self.cores, cores) != cores
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.program.name
    }

    /// The program that it runs.
    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    /// Its log file.
    pub fn log(&self) -> &Path {
        &self.program.log
    }

    /// Its process id on its host while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.running.as_ref().map(|running| running.process.pid())
    }

    /// Returns the running process, for signals.
    pub fn placed(&self) -> Option<PlacedProcess> {
        Some(PlacedProcess {
            host: Arc::clone(&self.host),
            pid: self.pid()?,
        })
    }

    /// Returns the end of its log.
    pub fn tail(&self) -> String {
        self.host.tail(&self.program.log)
    }

    /// Sets an environment variable for future starts.
    pub fn set_environment(&mut self, name: &str, value: &str) {
        self.program.environment.retain(|(known, _)| known != name);
        self.program
            .environment
            .push((name.to_owned(), value.to_owned()));
    }

    /// Removes an environment variable for future starts.
    pub fn remove_environment(&mut self, name: &str) {
        self.program.environment.retain(|(known, _)| known != name);
    }

    /// Starts it.
    pub fn start(&mut self) -> Result<(), ProcessError> {
        if self.running.is_some() {
            return Err(self.state("running already"));
        }
        let started = self.host.start(&self.program, self.cores);
        let process = started.map_err(|source| {
            self.lost().unwrap_or(ProcessError::Start {
                name: self.program.name.clone(),
                log: self.program.log.clone(),
                source,
            })
        })?;
        self.last.store(process.pid(), Ordering::Relaxed);
        self.running = Some(Running {
            process,
            asked: false,
        });
        Ok(())
    }

    /// Stores the id of each started process in `last`.
    pub(super) fn noted_in(mut self, last: Arc<AtomicU32>) -> Self {
        self.last = last;
        self
    }

    /// Waits for the ready line until a point in time, and not at all after it.
    pub(super) fn wait_ready_until(&mut self, deadline: Instant) -> Result<Duration, ProcessError> {
        self.wait_ready(deadline.saturating_duration_since(Instant::now()))
    }

    /// Waits for the ready line; returns how long it took since the start.
    pub fn wait_ready(&mut self, deadline: Duration) -> Result<Duration, ProcessError> {
        let Some(running) = &mut self.running else {
            return Err(self.state("not running"));
        };
        match running.process.wait_ready(deadline) {
            Readiness::Ready(took) => Ok(took),
            Readiness::NotYet => Err(self.lost().unwrap_or_else(|| ProcessError::NotReady {
                name: self.program.name.clone(),
                seconds: deadline.as_secs(),
                log: self.program.log.clone(),
                tail: self.tail(),
            })),
            Readiness::Ended => {
                self.kill();
                Err(self.lost().unwrap_or_else(|| ProcessError::Ended {
                    name: self.program.name.clone(),
                    log: self.program.log.clone(),
                    tail: self.tail(),
                }))
            }
        }
    }

    /// Kills the process (kill -9), and waits until it is gone. Does nothing to a process that is not running.
    pub fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            // Fails only for a process that is gone already, or together with its host.
            let _ = running.process.kill();
        }
    }

    /// Asks it to finish its work and end (SIGTERM), without waiting. [`stop`](Self::stop) waits.
    pub fn ask_to_stop(&mut self) {
        if let Some(running) = &mut self.running
            && !std::mem::replace(&mut running.asked, true)
        {
            running.process.signal(Signal::TERM);
        }
    }

    /// Asks it to finish its work and end (SIGTERM). After `patience` it is killed. Returns its exit status.
    pub fn stop(&mut self, patience: Duration) -> Result<ExitStatus, ProcessError> {
        self.ask_to_stop();
        let Some(mut running) = self.running.take() else {
            return Err(self.state("not running"));
        };
        let ended = match running.process.ended_within(patience) {
            Ok(Some(status)) => Ok(status),
            Ok(None) => running.process.kill(),
            Err(error) => Err(error),
        };
        let name = self.program.name.clone();
        match self.lost() {
            Some(lost) => Err(lost),
            None => ended.map_err(|source| ProcessError::Stop { name, source }),
        }
    }

    /// Returns whether it has ended by itself since it was started.
    pub fn has_ended(&mut self) -> bool {
        match &mut self.running {
            Some(running) => !matches!(running.process.ended_within(Duration::ZERO), Ok(None)),
            None => true,
        }
    }

    /// Waits until it ends by itself. Returns its exit status, or `None` if it still runs after `patience` or never ran.
    pub fn ended_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        let ended = self.running.as_mut()?.process.ended_within(patience);
        let status = ended.ok().flatten()?;
        self.running = None;
        Some(status)
    }

    /// Releases the process: it keeps running after us and is not killed.
    pub fn leave_running(&mut self) {
        self.running = None;
    }

    fn lost(&self) -> Option<ProcessError> {
        Some(ProcessError::Host {
            name: self.program.name.clone(),
            source: self.host.lost()?,
        })
    }

    fn state(&self, state: &'static str) -> ProcessError {
        ProcessError::State {
            name: self.program.name.clone(),
            state,
        }
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(folder: &Path, script: &str) -> NodeProcess {
        NodeProcess::new(Program {
            name: "fake".into(),
            binary: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: Vec::new(),
            log: folder.join("log"),
            ready_marker: "ready".into(),
        })
    }

    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn becomes_ready_and_stops() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut process = process(
            folder.path(),
            "trap 'echo bye; exit 7' TERM; echo hello; echo ready; while :; do sleep 0.01; done",
        );
        assert!(process.has_ended());
        process.start().expect("sh is there");
        assert!(matches!(process.start(), Err(ProcessError::State { .. })));
        process.wait_ready(SOON).expect("it says so");
        assert!(!process.has_ended() && process.pid().is_some());
        let log = std::fs::read_to_string(process.log()).expect("a log");
        assert!(log.starts_with("hello\n"), "{log}");
        process.kill();
        assert!(process.has_ended() && process.pid().is_none());
        process.start().expect("again");
        process.wait_ready(SOON).expect("again");
    }

    #[test]
    fn stops_by_itself_when_asked() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut process = process(
            folder.path(),
            "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done",
        );
        process.start().expect("sh is there");
        process.wait_ready(SOON).expect("it says so");
        let status = process.stop(SOON).expect("it ends");
        assert_eq!(status.code(), Some(7));
    }

    #[test]
    fn an_early_end_shows_the_log() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut process = process(folder.path(), "echo what went wrong >&2; exit 3");
        process.start().expect("sh is there");
        let error = process.wait_ready(SOON).expect_err("it never is");
        assert!(error.to_string().contains("what went wrong"), "{error}");
    }

    #[test]
    fn not_ready_in_time() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut process = process(folder.path(), "exec sleep 60");
        process.start().expect("sh is there");
        let error = process
            .wait_ready(Duration::from_millis(10))
            .expect_err("it never is");
        assert!(matches!(error, ProcessError::NotReady { .. }));
    }

    #[test]
    fn a_missing_program_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut process = process(folder.path(), "");
        process.program.binary = folder.path().join("missing");
        let error = process.start().expect_err("no such file");
        assert!(error.to_string().starts_with("fake does not start"));
    }
}
