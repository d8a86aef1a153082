//! The trait of a host.

use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::error::HostError;
use super::program::Program;
use crate::measure::{DiskUse, Look, ProcessKey};

/// A reading that is on its way.
pub type Looking = Pin<Box<dyn Future<Output = Seen> + Send>>;

/// A machine that holds the folders of nodes and runs the nodes. Paths are those that the host understands.
pub trait Host: fmt::Debug + Send + Sync {
    /// Returns its name, for people and for placing nodes.
    fn name(&self) -> &str;

    /// Returns whether it is this machine, whose paths and processes this program can reach itself.
    fn is_here(&self) -> bool;

    /// Returns the address that its nodes listen on and at which all other hosts reach them.
    fn address(&self) -> IpAddr;

    /// Returns the number of processor cores that its nodes may use.
    fn cores(&self) -> u32;

    /// Returns ports of its address that nothing listens on.
    fn free_ports(&self, count: usize) -> Result<Vec<u16>, HostError>;

    /// Returns the folder there for a network whose folder here is `root`. It may not exist yet.
    fn root(&self, root: &Path) -> PathBuf;

    /// Writes a file that only its owner may read, and the folders above it. A file of this name is replaced at once.
    fn write(&self, file: &Path, bytes: &[u8]) -> Result<(), HostError>;

    /// Copies a file, or a folder with everything in it to a path that must not exist.
    fn copy(&self, from: &Path, to: &Path) -> Result<(), HostError>;

    /// Removes a file, or a folder with everything in it, if there is one.
    fn remove(&self, path: &Path) -> Result<(), HostError>;

    /// Returns the bytes under a folder.
    fn size(&self, folder: &Path) -> Result<DiskUse, HostError>;

    /// Returns the bytes that the disk of a folder has room for.
    fn free_bytes(&self, folder: &Path) -> Result<u64, HostError>;

    /// Returns the last lines of a log, or why it cannot be read there.
    fn tail(&self, log: &Path) -> String;

    /// Starts a program, on the first `cores` of those that it may use.
    fn start(
        &self,
        program: &Program,
        cores: Option<u32>,
    ) -> Result<Box<dyn HostProcess>, HostError>;

    /// Runs a program to its end and returns its standard output. If it fails, the error has its standard error.
    fn run(&self, program: &Program) -> Result<Vec<u8>, HostError>;

    /// Sends a signal to a process that this host has started.
    fn signal(&self, pid: u32, signal: Signal);

    /// Returns the process with this id; `None` if there is none.
    fn process(&self, pid: u32) -> Option<ProcessKey>;

    /// Takes a reading.
    fn look(&self, wanted: Wanted) -> Looking;

    /// Returns the error if the host is gone. A host that is gone does not come back.
    fn lost(&self) -> Option<HostError>;
}

/// Returns two free addresses on a host, for other nodes and for clients.
pub(crate) fn two_addresses(host: &dyn Host) -> Result<[SocketAddr; 2], HostError> {
    let ports = host.free_ports(2)?;
    Ok([ports[0], ports[1]].map(|port| SocketAddr::new(host.address(), port)))
}

/// A process on a host. Dropping it leaves the process running.
pub trait HostProcess: fmt::Debug + Send {
    /// Returns its id on its host.
    fn pid(&self) -> u32;

    /// Waits until it is ready or has ended, or until the time is over.
    fn wait_ready(&mut self, patience: Duration) -> Readiness;

    /// Returns its exit status if it has ended within this time; without waiting if the time is zero.
    fn ended_within(&mut self, patience: Duration) -> Result<Option<ExitStatus>, HostError>;

    /// Sends it a signal.
    fn signal(&mut self, signal: Signal);

    /// Kills it (kill -9) and waits until it is gone.
    fn kill(&mut self) -> Result<ExitStatus, HostError>;
}

/// The result of waiting for a process to be ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It was ready this long after its start.
    Ready(Duration),
    /// It runs and is not ready.
    NotYet,
    /// It ended before it was ready.
    Ended,
}

/// The parts of a reading.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The process.
    pub process: Option<ProcessKey>,
    /// Whether the processes that it has started are parts of it.
    pub with_children: bool,
    /// A folder whose size is read.
    pub folder: Option<PathBuf>,
    /// A folder within it whose size is read.
    pub log: Option<PathBuf>,
}

/// A reading. Everything that could not be read is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The process.
    pub process: Option<Look>,
    /// Bytes of the folder.
    pub folder_bytes: Option<u64>,
    /// Bytes of the folder within it.
    pub log_bytes: Option<u64>,
}

/// A process of a network, for signals.
#[derive(Clone, Debug)]
pub struct PlacedProcess {
    /// Its host.
    pub host: Arc<dyn Host>,
    /// Its id there.
    pub pid: u32,
}

impl PlacedProcess {
    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        self.host.signal(self.pid, signal);
    }
}
