//! The share of one coordinator in a host: a folder, and the processes that run in it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use super::order::{Answer, Order, ProcessEvent};
use super::program::NodeKind;
use super::share_paths::{refused, resolve, resolve_new};
use crate::measure::{DiskUse, ProcessKey, whole_micros};
use crate::topology::host::{
    Host, HostError, HostProcess, NodeFolder, Readiness, Seen, ThisMachine, Wanted,
};
use crate::topology::{Program, signal};

/// Its running processes at most.
const PROCESSES_MAX: usize = 64;
/// The largest file that it may write.
const FILE_BYTES_MAX: usize = 16 << 20;
/// The bytes of all files that it writes, over the whole connection.
const WRITTEN_BYTES_MAX: u64 = 1 << 30;
/// The bytes of its folder above which nothing more is started or copied.
const FOLDER_BYTES_MAX: u64 = 256 << 30;
/// Ports of one order at most.
const PORTS_MAX: u32 = 16;

/// The share of one coordinator. Dropping it kills its processes and removes its folder.
pub(super) struct Share {
    machine: ThisMachine,
    /// The executable of its nodes: the agent's own.
    binary: PathBuf,
    folder: TempDir,
    written_bytes: AtomicU64,
    is_closed: AtomicBool,
    processes: Mutex<BTreeMap<u32, Running>>,
    /// Processes of commands that run to their end.
    commands: Mutex<Vec<u32>>,
}

struct Running {
    process: Box<dyn HostProcess>,
    key: Option<ProcessKey>,
    is_ready: bool,
}

impl Share {
    /// Makes the folder. Nodes listen on `address`.
    pub(super) fn new(binary: PathBuf, address: IpAddr) -> Result<Self, HostError> {
        let folder = tempfile::Builder::new().prefix("tally-host-").tempdir();
        let folder =
            folder.map_err(|source| HostError::system("a folder for the coordinator", source))?;
        Ok(Self {
            machine: ThisMachine::at(address),
            binary,
            folder,
            written_bytes: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            processes: Mutex::default(),
            commands: Mutex::default(),
        })
    }

    /// Performs an order. Takes as long as the order does.
    pub(super) fn perform(&self, order: Order) -> Result<Answer, HostError> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(refused("the connection has ended"));
        }
        Ok(match order {
            Order::FreePorts { count } if count > PORTS_MAX => {
                return Err(refused(format!("more than {PORTS_MAX} ports")));
            }
            Order::FreePorts { count } => Answer::Ports(self.machine.free_ports(count as usize)?),
            Order::Write { path, bytes } => {
                self.write(&path, &bytes)?;
                Answer::Done
            }
            Order::Copy { from, to } => {
                let from = resolve(self.folder.path(), &from)?;
                let to = resolve_new(self.folder.path(), &to)?;
                self.has_room()?;
                self.machine.copy(&from, &to)?;
                Answer::Done
            }
            Order::Remove { path } => {
                self.machine.remove(&resolve(self.folder.path(), &path)?)?;
                Answer::Done
            }
            Order::Size { path } => {
                Answer::Size(self.machine.size(&resolve(self.folder.path(), &path)?)?)
            }
            Order::FreeBytes { path } => Answer::Bytes(
                self.machine
                    .free_bytes(&resolve(self.folder.path(), &path)?)?,
            ),
            Order::Tail { path } => {
                Answer::Text(self.machine.tail(&resolve(self.folder.path(), &path)?))
            }
            Order::Start {
                process,
                name,
                node,
                folder,
                cores,
            } => {
                self.start(process, name, node, &folder, cores)?;
                Answer::Done
            }
            Order::Run { command, folder } => {
                let words = command.words();
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let program = self.program("a command".to_owned(), &folder, &words)?;
                Answer::Output(self.run(&program)?)
            }
            Order::Signal { process, signal } => {
                self.signal(process, signal.signal());
                Answer::Done
            }
            Order::Kill { process } => Answer::Killed(self.kill(process)?),
            Order::Look {
                process,
                with_children,
                folder,
                log,
            } => Answer::Seen(self.look(process, with_children, folder, log)),
        })
    }

    /// Sends a signal to a process; nothing if it has ended.
    pub(super) fn signal(&self, process: u32, signal: Signal) {
        if let Some(running) = self.processes().get_mut(&process) {
            running.process.signal(signal);
        }
    }

    /// Returns the changes of its processes since the last call.
    pub(super) fn events(&self) -> Vec<(u32, ProcessEvent)> {
        let mut events = Vec::new();
        self.processes().retain(|number, running| {
            if !running.is_ready
                && let Readiness::Ready(after) = running.process.wait_ready(Duration::ZERO)
            {
                running.is_ready = true;
                let after_us = whole_micros(after);
                events.push((*number, ProcessEvent::Ready { after_us }));
            }
            match running.process.ended_within(Duration::ZERO) {
                Ok(None) => true,
                Ok(Some(status)) => {
                    let status = status.into_raw();
                    events.push((*number, ProcessEvent::Ended { status }));
                    false
                }
                // The system does not know the process any more.
                Err(_) => {
                    let status = Signal::KILL.as_raw();
                    events.push((*number, ProcessEvent::Ended { status }));
                    false
                }
            }
        });
        events
    }

    /// Kills all processes, and refuses all later orders. Returns how many nodes ran.
    pub(super) fn close(&self) -> usize {
        self.is_closed.store(true, Ordering::Release);
        for command in lock(&self.commands).iter() {
            signal(*command, Signal::KILL);
        }
        let running = std::mem::take(&mut *self.processes());
        let count = running.len();
        for (_, mut running) in running {
            // Fails only for a process that is gone.
            let _ = running.process.kill();
        }
        count
    }

    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), HostError> {
        if bytes.len() > FILE_BYTES_MAX {
            return Err(refused(format!(
                "{path} has more than {FILE_BYTES_MAX} bytes"
            )));
        }
        let file = resolve_new(self.folder.path(), path)?;
        let bytes_before = self
            .written_bytes
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if bytes_before + bytes.len() as u64 > WRITTEN_BYTES_MAX {
            return Err(refused(format!(
                "this run has written {WRITTEN_BYTES_MAX} bytes"
            )));
        }
        self.machine.write(&file, bytes)
    }

    fn start(
        &self,
        number: u32,
        name: String,
        node: NodeKind,
        folder: &str,
        cores: Option<u32>,
    ) -> Result<(), HostError> {
        if let Some(cores) = cores.filter(|cores| *cores > self.machine.cores()) {
            let have = self.machine.cores();
            return Err(refused(format!("{name}: {cores} cores of {have}")));
        }
        let program = self.program(name, folder, &node.words())?;
        self.has_room()?;
        // Held until the process is in it, so that the end of the connection finds it.
        let mut processes = self.processes();
        if self.is_closed.load(Ordering::Acquire) {
            return Err(refused("the connection has ended"));
        }
        if processes.len() >= PROCESSES_MAX || processes.contains_key(&number) {
            return Err(refused(format!(
                "more than {PROCESSES_MAX} processes, or process {number} runs"
            )));
        }
        let process = self.machine.start(&program, cores)?;
        let running = Running {
            key: self.machine.process(process.pid()),
            process,
            is_ready: false,
        };
        processes.insert(number, running);
        Ok(())
    }

    fn run(&self, program: &Program) -> Result<Vec<u8>, HostError> {
        let mut noted = None;
        let output = self.machine.run_noting(program, |pid| {
            let mut commands = lock(&self.commands);
            commands.push(pid);
            noted = Some(pid);
            if self.is_closed.load(Ordering::Acquire) {
                signal(pid, Signal::KILL);
            }
        });
        lock(&self.commands).retain(|pid| Some(*pid) != noted);
        output
    }

    /// Describes a program of the agent's own executable in a folder of this share.
    fn program(&self, name: String, folder: &str, words: &[&str]) -> Result<Program, HostError> {
        let folder = NodeFolder::on_this_machine(resolve(self.folder.path(), folder)?);
        Ok(folder.program(name, &self.binary, words))
    }

    fn kill(&self, number: u32) -> Result<Option<i32>, HostError> {
        let running = self.processes().remove(&number);
        let Some(mut running) = running else {
            return Ok(None);
        };
        Ok(Some(running.process.kill()?.into_raw()))
    }

    fn look(
        &self,
        process: Option<u32>,
        with_children: bool,
        folder: Option<String>,
        log: Option<String>,
    ) -> Seen {
        let key = process.and_then(|number| self.processes().get(&number)?.key);
        let path = |path: Option<String>| resolve(self.folder.path(), &path?).ok();
        self.machine.look_now(Wanted {
            process: key,
            with_children,
            folder: path(folder),
            log: path(log),
        })
    }

    /// Returns an error if the folder has more bytes than a share may have.
    fn has_room(&self) -> Result<(), HostError> {
        let size = DiskUse::of(self.folder.path())
            .map_err(|source| HostError::system("the size of the share", source))?;
        match size.allocated_bytes > FOLDER_BYTES_MAX {
            true => Err(refused(format!(
                "the folders of this run have more than {FOLDER_BYTES_MAX} bytes"
            ))),
            false => Ok(()),
        }
    }

    fn processes(&self) -> MutexGuard<'_, BTreeMap<u32, Running>> {
        lock(&self.processes)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.close();
    }
}

/// Locks. A thread that panicked has left the collection whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::super::share_paths::FOLDERS_MAX;
    use super::*;

    fn share() -> Share {
        let address = "127.0.0.1".parse().expect("an address");
        Share::new("/bin/false".into(), address).expect("a folder")
    }

    #[test]
    fn limits_are_kept() {
        let share = share();
        let write = |path: String, count: usize| {
            let bytes = vec![0; count];
            share.perform(Order::Write { path, bytes })
        };
        assert!(write("a/large".to_owned(), FILE_BYTES_MAX + 1).is_err());
        for number in 1..FOLDERS_MAX {
            write(format!("{number}/file"), 1).expect("a folder of its own");
        }
        write("a/file".to_owned(), 1).expect("the last folder");
        assert!(write("b/file".to_owned(), 1).is_err(), "one more");
        write("a/file".to_owned(), 1).expect("a folder that is there");
        let ports = share.perform(Order::FreePorts {
            count: PORTS_MAX + 1,
        });
        assert!(ports.is_err());
        share.close();
        assert!(write("a/file".to_owned(), 1).is_err(), "it is closed");
    }
}
