//! One node as a real process: ready line, log file, stop and kill -9. The process never outlives us by accident.

use rustix::process::Signal;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::affinity::spawn_on;

/// Interval between two checks for the exit while stopping.
const POLL: Duration = Duration::from_millis(2);
/// Bytes of a log's end that are read.
const TAIL_BYTES: u64 = 8_000;

/// A node prints this on standard output when it is ready.
pub(super) const READY: &str = "\"ready\":";

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

/// A running (or stopped) process. Dropping it kills the process.
#[derive(Debug)]
pub struct NodeProcess {
    program: Program,
    cores: Option<u32>,
    running: Option<Running>,
    /// The id of the process that was started last; 0 before the first.
    last: Arc<AtomicU32>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    /// Whether it was asked to end. A node that is asked twice ends at once.
    asked: bool,
    started: Instant,
    ready: Receiver<Instant>,
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
        /// The system's error.
        source: std::io::Error,
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
    /// A signal could not be sent, or waiting for the exit failed.
    #[error("{name} cannot be stopped: {source}")]
    Stop {
        /// The process.
        name: String,
        /// The system's error.
        source: std::io::Error,
    },
}

impl NodeProcess {
    /// Creates a process that is not running yet.
    pub fn new(program: Program) -> Self {
        Self {
            program,
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

    /// Its process id while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.running.as_ref().map(|running| running.child.id())
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

    /// Starts it in its own process group, so that a Ctrl-C reaches only us.
    pub fn start(&mut self) -> Result<(), ProcessError> {
        if self.running.is_some() {
            return Err(self.state("running already"));
        }
        let running = self.spawn().map_err(|source| ProcessError::Start {
            name: self.program.name.clone(),
            log: self.program.log.clone(),
            source,
        })?;
        self.last.store(running.child.id(), Ordering::Relaxed);
        self.running = Some(running);
        Ok(())
    }

    /// Stores the id of each started process in `last`.
    pub(super) fn noted_in(mut self, last: Arc<AtomicU32>) -> Self {
        self.last = last;
        self
    }

    fn spawn(&self) -> std::io::Result<Running> {
        let program = &self.program;
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&program.log)?;
        let copy = log.try_clone()?;
        let started = Instant::now();
        let mut command = Command::new(&program.binary);
        command
            .args(&program.arguments)
            .envs(program.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .process_group(0);
        let mut child = match self.cores {
            Some(cores) => spawn_on(command, cores)?,
            None => command.spawn()?,
        };
        let stdout = child.stdout.take();
        let (sender, ready) = channel();
        let marker = program.ready_marker.clone();
        std::thread::spawn(move || {
            if let Some(stdout) = stdout {
                copy_lines(BufReader::new(stdout), copy, &marker, |at| {
                    // Ignore the error: the waiting caller may be gone. The line is in the log anyway.
                    let _ = sender.send(at);
                });
            }
        });
        Ok(Running {
            child,
            asked: false,
            started,
            ready,
        })
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
        match running.ready.recv_timeout(deadline) {
            Ok(at) => Ok(at.duration_since(running.started)),
            Err(RecvTimeoutError::Timeout) => Err(ProcessError::NotReady {
                name: self.program.name.clone(),
                seconds: deadline.as_secs(),
                log: self.program.log.clone(),
                tail: tail(&self.program.log),
            }),
            Err(RecvTimeoutError::Disconnected) => {
                self.kill();
                Err(ProcessError::Ended {
                    name: self.program.name.clone(),
                    log: self.program.log.clone(),
                    tail: tail(&self.program.log),
                })
            }
        }
    }

    /// Kills the process (kill -9), and waits until it is gone. Does nothing to a process that is not running.
    pub fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            // Both fail only for a process that is gone already.
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
    }

    /// Asks it to finish its work and end (SIGTERM), without waiting. [`stop`](Self::stop) waits.
    pub fn ask_to_stop(&mut self) {
        if let Some(running) = &mut self.running
            && !std::mem::replace(&mut running.asked, true)
        {
            signal(running.child.id(), Signal::TERM);
        }
    }

    /// Asks it to finish its work and end (SIGTERM). After `patience` it is killed. Returns its exit status.
    pub fn stop(&mut self, patience: Duration) -> Result<ExitStatus, ProcessError> {
        let name = self.program.name.clone();
        self.ask_to_stop();
        let Some(mut running) = self.running.take() else {
            return Err(self.state("not running"));
        };
        let failed = |source| ProcessError::Stop { name, source };
        let start = Instant::now();
        while start.elapsed() < patience {
            match running.child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => std::thread::sleep(POLL),
                Err(source) => return Err(failed(source)),
            }
        }
        // Ignore the error: it may have ended just now.
        let _ = running.child.kill();
        running.child.wait().map_err(failed)
    }

    /// Returns whether it has ended by itself since it was started.
    pub fn has_ended(&mut self) -> bool {
        match &mut self.running {
            Some(running) => !matches!(running.child.try_wait(), Ok(None)),
            None => true,
        }
    }

    /// Waits until it ends by itself. Returns its exit status, or `None` if it still runs after `patience` or never ran.
    pub fn ended_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        let start = Instant::now();
        loop {
            let running = self.running.as_mut()?;
            if let Ok(Some(status)) = running.child.try_wait() {
                self.running = None;
                return Some(status);
            }
            if start.elapsed() >= patience {
                return None;
            }
            std::thread::sleep(POLL);
        }
    }

    /// Releases the process: it keeps running after us and is not killed.
    pub fn leave_running(&mut self) {
        self.running = None;
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

/// Copies standard output to the log and reports the first line with the marker.
fn copy_lines(from: impl BufRead, mut to: File, marker: &str, ready: impl Fn(Instant)) {
    let mut seen = false;
    for line in from.lines().map_while(Result::ok) {
        if !seen && line.contains(marker) {
            seen = true;
            ready(Instant::now());
        }
        // A full disk must not stop the process whose output this is.
        let _ = writeln!(to, "{line}");
    }
}

/// Reads the last bytes of a file, however long it is.
fn end_of(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(file)?;
    let length = file.metadata()?.len();
    // A shorter file is read whole.
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    // It may grow meanwhile.
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the last lines of a log; empty if it cannot be read.
pub fn tail(log: &Path) -> String {
    let text = end_of(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    // A list that is shorter is shown whole.
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
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
    fn only_the_end_of_a_log_is_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let log = folder.path().join("log");
        assert_eq!(tail(&log), "", "there is none");
        for (lines, first) in [(3, "line 0"), (20, "line 5")] {
            let text: Vec<String> = (0..lines).map(|number| format!("line {number}")).collect();
            std::fs::write(&log, text.join("\n")).expect("written");
            assert!(tail(&log).starts_with(first), "{lines}: {}", tail(&log));
        }
        // A file of 64 GiB, with text at its end.
        let file = OpenOptions::new().write(true).open(&log).expect("there");
        file.set_len(1 << 36).expect("a hole");
        drop(file);
        let mut file = OpenOptions::new().append(true).open(&log).expect("there");
        write!(file, "\nthe end").expect("written");
        assert!(tail(&log).ends_with("\nthe end"));
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
