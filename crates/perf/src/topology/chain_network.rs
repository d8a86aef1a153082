//! A network of chain nodes, on this machine or on several hosts: real processes in a temporary folder, on free ports,
//! removed at the end.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::time::Instant;

use client::Endpoint;
use serde::Deserialize;
use tempfile::TempDir;

use super::chain_genesis::{GENESIS_FILE, genesis_of, settings_of};
use super::config_file::ConfigFile;
use super::external::{CHAIN_CONFIG_FILE as CONFIG_FILE, chain_endpoint};
use super::host::{
    Host, HostError, NodeFolder, Placement, RemoteFolders, this_machine, two_addresses,
};
use super::network::{READY_MAX, STOP_MAX};
use super::network_error::{NetworkError, system};
use super::process::NodeProcess;
use crate::plan::ChainPlan;

/// In a node's folder: its data.
const DATA: &str = "data";
/// In a node's data: the write-ahead log of its store.
const STORE_LOG: &str = "chain/log";
/// In a node's data: its snapshots, and the one that shows the size of an export.
const SNAPSHOTS: &str = "snapshots";
const EXPORT: &str = "size-of-an-export";
/// The output of `tally chain history`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub struct HistoryBuilt {
    /// Payments in blocks.
    pub transactions: u64,
    /// Blocks, empty ones at the end included.
    pub blocks: u64,
    /// The duration.
    pub seconds: f64,
    /// Bytes of the store's files.
    pub disk_bytes: u64,
}

/// Nodes of one chain. Dropping it kills its processes and removes its temporary folder and its folders on other machines.
#[derive(Debug)]
pub struct ChainNetwork {
    // Processes come first: they are dropped, and so killed, before their folder goes.
    nodes: Vec<ChainNode>,
    /// The folders on other machines, without processes by the time that they go.
    _remote: RemoteFolders,
    binary: PathBuf,
    root: PathBuf,
    temporary: Option<TempDir>,
}

/// A node of the network.
#[derive(Debug)]
struct ChainNode {
    name: String,
    folder: NodeFolder,
    endpoint: Endpoint,
    process: NodeProcess,
}

impl ChainNetwork {
    /// Creates the folders of a scenario's chain. Nothing runs yet.
    ///
    /// # Errors
    /// Fails with the error of `tally chain genesis`, for inaccessible files, for settings that a node does not accept,
    /// and with the errors of the hosts.
    pub fn make(
        binary: &Path,
        plan: &ChainPlan,
        placement: &Placement,
    ) -> Result<Self, NetworkError> {
        let temporary = tempfile::Builder::new()
            .prefix("tally-chain-")
            .tempdir()
            .map_err(|source| system("a temporary folder", source))?;
        let root = temporary.path().join("network");
        let output = Command::new(binary)
            .args([
                "chain",
                "genesis",
                "--servers",
                &plan.nodes.to_string(),
                "--out",
            ])
            .arg(&root)
            .output()
            .map_err(|source| system(&binary.display().to_string(), source))?;
        if !output.status.success() {
            return Err(NetworkError::Bootstrap(
                String::from_utf8_lossy(&output.stderr).into_owned(),
            ));
        }
        let genesis =
            toml::to_string(&genesis_of(plan)?).map_err(|error| NetworkError::Setting {
                name: GENESIS_FILE.to_owned(),
                message: error.to_string(),
            })?;
        write(&root.join(GENESIS_FILE), &genesis)?;
        let names: Vec<String> = (1..=plan.nodes).map(|at| format!("node-{at}")).collect();
        let hosts = names.iter().enumerate();
        let hosts: Vec<Arc<dyn Host>> = hosts
            .map(|(at, name)| placement.host_of(name, at))
            .collect();
        let addresses = addresses_of(&hosts)?;
        // Before the first file there, so that a failure leaves nothing behind.
        let remote = RemoteFolders::new(&hosts, &root);
        let mut nodes = Vec::new();
        for ((at, name), host) in (1..).zip(names).zip(hosts) {
            let folder = NodeFolder::new(host, &root, root.join(format!("server{at}")));
            folder.write(GENESIS_FILE, genesis.as_bytes())?;
            let mut config = ConfigFile::read(&folder, CONFIG_FILE)?;
            set_addresses(&mut config, &addresses, at as usize - 1)?;
            config.lay(&settings_of(plan, at))?;
            folder.upload()?;
            let program = folder.program(name.clone(), binary, &["chain", "run"]);
            nodes.push(ChainNode {
                endpoint: chain_endpoint(folder.here())?,
                process: NodeProcess::on(Arc::clone(folder.host()), program),
                name,
                folder,
            });
        }
        Ok(Self {
            nodes,
            _remote: remote,
            binary: binary.to_owned(),
            root,
            temporary: Some(temporary),
        })
    }

    /// Writes the scenario's history into the stores of these nodes (numbers from 0) before they are started. It is made
    /// once on each host, and copied to the other nodes there. Does nothing if the scenario has none. Returns what was
    /// made on the first host.
    pub fn make_history(
        &self,
        plan: &ChainPlan,
        those: &[usize],
    ) -> Result<HistoryBuilt, NetworkError> {
        let mut made: Vec<usize> = Vec::new();
        let mut first = None;
        for at in those.iter().copied().filter(|_| plan.history > 0) {
            let Some(node) = self.nodes.get(at) else {
                continue;
            };
            let host = node.folder.host();
            let there = made.iter().map(|other| &self.nodes[*other]);
            let like = there
                .clone()
                .find(|other| other.folder.host().name() == host.name());
            match like {
                Some(other) => {
                    host.copy(&other.folder.there(DATA), &node.folder.there(DATA))?;
                    self.accept_store(node, at)?;
                }
                None => {
                    let built = self.make_history_of(node, plan.history)?;
                    first.get_or_insert(built);
                }
            }
            made.push(at);
        }
        Ok(first.unwrap_or_default())
    }

    fn make_history_of(&self, node: &ChainNode, count: u64) -> Result<HistoryBuilt, NetworkError> {
        let failed = |text: String| NetworkError::Setting {
            name: "chain.history".to_owned(),
            message: text,
        };
        let count = count.to_string();
        let words = ["chain", "history", "--json", "--transactions", &count];
        let program = node.folder.program(node.name.clone(), &self.binary, &words);
        let output = node.folder.host().run(&program);
        let output = output.map_err(|error| match error {
            HostError::Failed { .. } => failed(error.to_string()),
            error => error.into(),
        })?;
        let text = || String::from_utf8_lossy(&output).into_owned();
        serde_json::from_slice(&output).map_err(|_| failed(text()))
    }

    /// Turns a store that was copied from another node into this node's own.
    fn accept_store(&self, node: &ChainNode, at: usize) -> Result<(), NetworkError> {
        let name = format!("server{}", at + 1);
        let words = ["chain", "accept-store", "--confirm", &name];
        let program = node.folder.program(node.name.clone(), &self.binary, &words);
        node.folder.host().run(&program)?;
        Ok(())
    }

    /// Starts those of these nodes (numbers from 0) that do not run, and waits until they are ready.
    pub fn start(&mut self, those: &[usize]) -> Result<(), NetworkError> {
        for at in those {
            if let Some(node) = self
                .nodes
                .get_mut(*at)
                .filter(|node| node.process.pid().is_none())
            {
                node.process.start()?;
            }
        }
        let deadline = Instant::now() + READY_MAX;
        for at in those {
            if let Some(node) = self.nodes.get_mut(*at) {
                node.process.wait_ready_until(deadline)?;
            }
        }
        Ok(())
    }

    /// Starts all of them.
    pub fn start_all(&mut self) -> Result<(), NetworkError> {
        let all: Vec<usize> = (0..self.nodes.len()).collect();
        self.start(&all)
    }

    /// Asks all running nodes to finish and end.
    pub fn stop_all(&mut self) -> Result<(), NetworkError> {
        let mut running: Vec<&mut ChainNode> = self
            .nodes
            .iter_mut()
            .filter(|node| node.process.pid().is_some())
            .collect();
        for node in &mut running {
            node.process.ask_to_stop();
        }
        for node in &mut running {
            node.process.stop(STOP_MAX)?;
        }
        Ok(())
    }

    /// Asks one node to finish and end. After a time limit it is killed. Returns its exit status, which is a success only if it has ended in
    /// order.
    pub fn stop(&mut self, at: usize) -> Result<ExitStatus, NetworkError> {
        let node = self
            .nodes
            .get_mut(at)
            .ok_or_else(|| NetworkError::Setting {
                name: "chain.nodes".to_owned(),
                message: format!("there is no node {at}"),
            })?;
        Ok(node.process.stop(STOP_MAX)?)
    }

    /// Starts a node again that a fault has killed, and waits until it is ready.
    pub fn revive(&mut self, at: usize) -> Result<(), NetworkError> {
        if let Some(node) = self.nodes.get_mut(at) {
            node.process.kill();
        }
        self.start(&[at])
    }

    /// Returns the number of the node of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// Lets a running node export its database: a snapshot in its data folder. Returns the snapshot's bytes. It is removed
    /// again.
    pub fn export(&self, at: usize) -> Result<u64, NetworkError> {
        let output = Command::new(&self.binary)
            .args(["chain", "snapshot", EXPORT, "--node"])
            .arg(self.folder(at))
            .output()
            .map_err(|source| system(&self.binary.display().to_string(), source))?;
        if !output.status.success() {
            return Err(NetworkError::Bootstrap(
                String::from_utf8_lossy(&output.stderr).into_owned(),
            ));
        }
        let folder = self.data(at).join(SNAPSHOTS).join(EXPORT);
        let host = self.host(at);
        let size = host.size(&folder);
        host.remove(&folder)?;
        Ok(size?.live_bytes)
    }

    /// Returns a node's host.
    #[must_use]
    pub fn host(&self, at: usize) -> Arc<dyn Host> {
        let node = self.nodes.get(at);
        node.map_or_else(this_machine, |node| Arc::clone(node.folder.host()))
    }

    /// Returns the error of the first host that is gone.
    #[must_use]
    pub fn lost_host(&self) -> Option<HostError> {
        let mut nodes = self.nodes.iter();
        nodes.find_map(|node| node.folder.host().lost())
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns a node's name: `node-1`.
    #[must_use]
    pub fn name(&self, at: usize) -> &str {
        self.nodes.get(at).map_or("", |node| node.name.as_str())
    }

    /// Returns a node's API.
    #[must_use]
    pub fn endpoint(&self, at: usize) -> Option<Endpoint> {
        self.nodes.get(at).map(|node| node.endpoint.clone())
    }

    /// Returns a node's process id on its host, while it runs.
    #[must_use]
    pub fn pid(&self, at: usize) -> Option<u32> {
        self.nodes.get(at).and_then(|node| node.process.pid())
    }

    /// Returns a node's folder. If its host is another machine, these are its settings alone.
    #[must_use]
    pub fn folder(&self, at: usize) -> PathBuf {
        let node = self.nodes.get(at);
        node.map_or_else(PathBuf::new, |node| node.folder.here().to_owned())
    }

    /// Returns the folder of a node's data on its host.
    #[must_use]
    pub fn data(&self, at: usize) -> PathBuf {
        let node = self.nodes.get(at);
        node.map_or_else(PathBuf::new, |node| node.folder.there(DATA))
    }

    /// Returns the folder within a node's data with the log of its store, which has a bounded size.
    #[must_use]
    pub fn store_log(&self, at: usize) -> PathBuf {
        self.data(at).join(STORE_LOG)
    }

    /// Returns the bytes of all nodes' data together; `None` if a node's data cannot be read.
    #[must_use]
    pub fn disk_bytes(&self) -> Option<u64> {
        let nodes = self.nodes.iter();
        let sizes = nodes.map(|node| node.folder.host().size(&node.folder.there(DATA)).ok());
        sizes.map(|size| Some(size?.live_bytes)).sum()
    }

    /// Returns the name, the log and the log's end of a started node that has ended by itself.
    pub fn died(&mut self) -> Option<(String, PathBuf, String)> {
        let node = self.nodes.iter_mut().find_map(|node| {
            (node.process.pid().is_some() && node.process.has_ended()).then_some(node)
        })?;
        let log = node.process.log().to_owned();
        Some((node.name.clone(), log, node.process.tail()))
    }

    /// Releases the network, which keeps running. Returns its folder and processes.
    pub fn keep(mut self) -> (PathBuf, Vec<u32>) {
        let pids = self
            .nodes
            .iter()
            .filter_map(|node| node.process.pid())
            .collect();
        for node in &mut self.nodes {
            node.process.leave_running();
        }
        if let Some(temporary) = self.temporary.take() {
            // From here on the folder is kept.
            let _ = temporary.keep();
        }
        (self.root.clone(), pids)
    }
}

/// Returns the addresses of each node, for peers and for clients. If all nodes are on this machine, they keep those of the
/// genesis, and there are none.
fn addresses_of(hosts: &[Arc<dyn Host>]) -> Result<Vec<[SocketAddr; 2]>, NetworkError> {
    if hosts.iter().all(|host| host.is_here()) {
        return Ok(Vec::new());
    }
    let all: Result<_, HostError> = hosts.iter().map(|host| two_addresses(&**host)).collect();
    Ok(all?)
}

/// Sets a node's addresses, and those of the others as the peers that it begins with.
fn set_addresses(
    config: &mut ConfigFile,
    addresses: &[[SocketAddr; 2]],
    at: usize,
) -> Result<(), NetworkError> {
    let Some([p2p, api]) = addresses.get(at) else {
        return Ok(());
    };
    let seeds = addresses.iter().map(|[peer, _]| peer);
    let seeds = seeds.filter(|peer| *peer != p2p);
    let seeds: Vec<toml::Value> = seeds.map(|peer| peer.to_string().into()).collect();
    config.set_base("p2p", "seeds", seeds.into())?;
    config.listen("p2p", *p2p)?;
    config.listen("api", *api)
}

fn write(path: &Path, text: &str) -> Result<(), NetworkError> {
    fs::write(path, text).map_err(|source| system(&path.display().to_string(), source))
}
