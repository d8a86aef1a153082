//! A host for tests that has a name and nothing else.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use super::error::HostError;
use super::machine::{Host, HostProcess, Looking, Seen, Wanted};
use super::program::Program;
use crate::measure::{DiskUse, ProcessKey};

/// A host that is gone.
#[derive(Debug)]
pub(crate) struct FakeHost(String);

impl FakeHost {
    pub(crate) fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    fn gone<T>(&self) -> Result<T, HostError> {
        Err(HostError::Lost {
            host: self.0.clone(),
            reason: "it is a fake".to_owned(),
        })
    }
}

impl Host for FakeHost {
    fn name(&self) -> &str {
        &self.0
    }

    fn is_here(&self) -> bool {
        false
    }

    fn address(&self) -> IpAddr {
        Ipv4Addr::LOCALHOST.into()
    }

    fn cores(&self) -> u32 {
        1
    }

    fn free_ports(&self, _count: usize) -> Result<Vec<u16>, HostError> {
        self.gone()
    }

    fn root(&self, root: &Path) -> PathBuf {
        root.to_owned()
    }

    fn write(&self, _file: &Path, _bytes: &[u8]) -> Result<(), HostError> {
        self.gone()
    }

    fn copy(&self, _from: &Path, _to: &Path) -> Result<(), HostError> {
        self.gone()
    }

    fn remove(&self, _path: &Path) -> Result<(), HostError> {
        self.gone()
    }

    fn size(&self, _folder: &Path) -> Result<DiskUse, HostError> {
        self.gone()
    }

    fn free_bytes(&self, _folder: &Path) -> Result<u64, HostError> {
        self.gone()
    }

    fn tail(&self, _log: &Path) -> String {
        String::new()
    }

    fn start(
        &self,
        _program: &Program,
        _cores: Option<u32>,
    ) -> Result<Box<dyn HostProcess>, HostError> {
        self.gone()
    }

    fn run(&self, _program: &Program) -> Result<Vec<u8>, HostError> {
        self.gone()
    }

    fn signal(&self, _pid: u32, _signal: Signal) {}

    fn process(&self, pid: u32) -> Option<ProcessKey> {
        Some(ProcessKey::new(pid, 0))
    }

    fn look(&self, _wanted: Wanted) -> Looking {
        Box::pin(std::future::ready(Seen::default()))
    }

    fn lost(&self) -> Option<HostError> {
        self.gone::<()>().err()
    }
}
