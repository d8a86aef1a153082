//! A process of this machine.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use pgserver::KeptChild;
use rustix::process::Signal;

use super::error::HostError;
use super::machine::{HostProcess, Readiness};
use super::program::{Program, signal};
use crate::topology::affinity::spawn_on;

/// Interval between two checks for the exit.
const POLL: Duration = Duration::from_millis(2);

/// A process of this machine.
#[derive(Debug)]
pub(super) struct LocalProcess {
    child: KeptChild,
    started: Instant,
    ready: Receiver<Instant>,
}

impl LocalProcess {
    /// Starts a program in its own process group, so that a Ctrl-C reaches only us.
    pub(super) fn start(program: &Program, cores: Option<u32>) -> io::Result<Self> {
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
        let mut child = match cores {
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
        Ok(Self {
            child: KeptChild::new(child),
            started,
            ready,
        })
    }
}

impl HostProcess for LocalProcess {
    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn wait_ready(&mut self, patience: Duration) -> Readiness {
        match self.ready.recv_timeout(patience) {
            Ok(at) => Readiness::Ready(at.duration_since(self.started)),
            Err(RecvTimeoutError::Timeout) => Readiness::NotYet,
            Err(RecvTimeoutError::Disconnected) => Readiness::Ended,
        }
    }

    fn ended_within(&mut self, patience: Duration) -> Result<Option<ExitStatus>, HostError> {
        let start = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(None) if start.elapsed() < patience => std::thread::sleep(POLL),
                Ok(status) => return Ok(status),
                Err(source) => return Err(HostError::system("waiting for a process", source)),
            }
        }
    }

    fn signal(&mut self, wanted: Signal) {
        signal(self.child.id(), wanted);
    }

    fn kill(&mut self) -> Result<ExitStatus, HostError> {
        // Fails only for a process that is gone already.
        let _ = self.child.kill();
        let waited = self.child.wait();
        waited.map_err(|source| HostError::system("waiting for a process", source))
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
