//! The second process of a node, which waits to take over: the same files and the same database, other addresses.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use super::config_file::{CONFIG_FILE, ConfigFile};
use super::host::NodeFolder;
use super::host::{Program, READY};
use super::network_error::{NetworkError, system};
use super::process::NodeProcess;

/// The last line of its start, before it has the lease.
const WAITS: &str = "waits for the lease";
/// In its log, once it has the lease.
const TOOK: &str = "took the lease";

/// The second process of a network's first bank. It is started like any process, and is ready once it has taken over.
#[derive(Debug)]
pub struct Standby {
    process: NodeProcess,
    api: SocketAddr,
}

/// Its two ports on this machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct StandbyPorts {
    /// For other nodes.
    pub(super) p2p: u16,
    /// For clients.
    pub(super) api: u16,
}

impl Standby {
    /// Makes its folder: the files of the node, without data.
    pub(super) fn new(
        node: &Path,
        folder: &Path,
        mut program: Program,
        ports: StandbyPorts,
    ) -> Result<Self, NetworkError> {
        copy_files(node, folder).map_err(|source| system(&folder.display().to_string(), source))?;
        let mut config =
            ConfigFile::read(&NodeFolder::on_this_machine(folder.to_owned()), CONFIG_FILE)?;
        let api = local(ports.api);
        config.listen("p2p", local(ports.p2p))?;
        config.listen("api", api)?;
        let arguments = ["node", "run", "--standby"].map(str::to_owned);
        program.arguments = arguments.to_vec();
        program
            .arguments
            .push(folder.to_string_lossy().into_owned());
        program.name = format!("{} (standby)", program.name);
        program.log = folder.join("node.log");
        Ok(Self {
            process: NodeProcess::new(program),
            api,
        })
    }

    /// Returns its process.
    pub fn process(&mut self) -> &mut NodeProcess {
        &mut self.process
    }

    /// Returns the address for clients.
    pub fn api(&self) -> SocketAddr {
        self.api
    }

    /// Returns its log so far. It is empty before the start.
    pub fn log(&self) -> String {
        fs::read_to_string(self.process.log()).unwrap_or_default()
    }

    /// Tells whether it waits for the lease, or has waited.
    pub fn has_waited(&self) -> bool {
        self.log().contains(WAITS)
    }

    /// Tells whether it has taken over.
    pub fn has_taken_over(&self) -> bool {
        self.log().contains(TOOK)
    }

    /// Tells whether it serves clients and other nodes, which it does after it has taken over.
    pub fn is_ready(&self) -> bool {
        self.log().contains(READY)
    }
}

/// Returns an address on this machine.
pub(super) fn local(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// Copies a node's folder with its view of the network, without data.
fn copy_files(from: &Path, into: &Path) -> std::io::Result<()> {
    fs::create_dir_all(into.join("network/nodes"))?;
    for folder in ["", "network", "network/nodes"] {
        for entry in fs::read_dir(from.join(folder))? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                fs::copy(entry.path(), into.join(folder).join(entry.file_name()))?;
            }
        }
    }
    Ok(())
}
