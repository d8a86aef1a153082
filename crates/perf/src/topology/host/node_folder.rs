//! A node's folder on its host.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::HostError;
use super::machine::Host;
use super::program::{Program, READY};
use super::this_machine::this_machine;

/// Upper limit on nested folders of settings.
const DEPTH_MAX: u32 = 8;

/// A node's folder on its host. If the host is another machine, the files that bootstrap made are here as well, so that
/// clients find address, certificate and token.
#[derive(Clone, Debug)]
pub(crate) struct NodeFolder {
    host: Arc<dyn Host>,
    here: PathBuf,
    there: PathBuf,
}

impl NodeFolder {
    /// Creates a node's folder. `here` is below `root`, the network's folder on this machine.
    pub(crate) fn new(host: Arc<dyn Host>, root: &Path, here: PathBuf) -> Self {
        let below = here.strip_prefix(root).unwrap_or(&here);
        let there = host.root(root).join(below);
        Self { host, here, there }
    }

    /// Creates the folder of a node of this machine.
    pub(crate) fn on_this_machine(here: PathBuf) -> Self {
        Self {
            host: this_machine(),
            there: here.clone(),
            here,
        }
    }

    /// Describes a program of the node: this executable with these words and the node's folder.
    pub(crate) fn program(&self, name: String, binary: &Path, words: &[&str]) -> Program {
        let words = words.iter().map(|word| (*word).to_owned());
        let place = self.there("").to_string_lossy().into_owned();
        Program {
            name,
            binary: binary.to_owned(),
            arguments: words.chain([place]).collect(),
            environment: Vec::new(),
            log: self.there("node.log"),
            ready_marker: READY.into(),
        }
    }

    /// Returns the node's host.
    pub(crate) fn host(&self) -> &Arc<dyn Host> {
        &self.host
    }

    /// Returns the folder with the node's settings on this machine.
    pub(crate) fn here(&self) -> &Path {
        &self.here
    }

    /// Returns the folder on the host, or a path within it.
    pub(crate) fn there(&self, name: &str) -> PathBuf {
        match name {
            "" => self.there.clone(),
            name => self.there.join(name),
        }
    }

    /// Writes a file of settings.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), HostError> {
        this_machine().write(&self.here.join(name), bytes)?;
        match self.host.is_here() {
            true => Ok(()),
            false => self.host.write(&self.there(name), bytes),
        }
    }

    /// Brings all files to the host. Does nothing if the host is this machine.
    pub(crate) fn upload(&self) -> Result<(), HostError> {
        match self.host.is_here() {
            true => Ok(()),
            false => self.upload_from(&self.here, &self.there, DEPTH_MAX),
        }
    }

    fn upload_from(&self, from: &Path, to: &Path, depth: u32) -> Result<(), HostError> {
        let failed = |source| HostError::system(from.display(), source);
        if depth == 0 {
            return Err(failed(io::Error::other("nested too deeply")));
        }
        for entry in fs::read_dir(from).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let to = to.join(entry.file_name());
            if entry.file_type().map_err(failed)?.is_dir() {
                self.upload_from(&entry.path(), &to, depth - 1)?;
            } else {
                let bytes = fs::read(entry.path()).map_err(failed)?;
                self.host.write(&to, &bytes)?;
            }
        }
        Ok(())
    }
}

/// The folders of a network on other machines. Dropping it removes them.
#[derive(Debug)]
pub(crate) struct RemoteFolders(Vec<(Arc<dyn Host>, PathBuf)>);

impl RemoteFolders {
    /// Names the folder of a network, whose folder here is `root`, on each of these hosts.
    pub(crate) fn new(hosts: &[Arc<dyn Host>], root: &Path) -> Self {
        let mut folders: Vec<(Arc<dyn Host>, PathBuf)> = Vec::new();
        for host in hosts.iter().filter(|host| !host.is_here()) {
            if !folders.iter().any(|(other, _)| other.name() == host.name()) {
                folders.push((Arc::clone(host), host.root(root)));
            }
        }
        Self(folders)
    }
}

impl Drop for RemoteFolders {
    fn drop(&mut self) {
        for (host, folder) in &self.0 {
            // An agent that is gone, or that does not remove it, removes all folders when the connection ends.
            let _ = host.remove(folder);
        }
    }
}
