//! Our own network, which can be brought up, restarted and wiped, with its preparations. Long steps run in a separate
//! thread, so that Ctrl-C is handled and progress is drawn meanwhile.

use std::collections::BTreeMap;
use std::path::PathBuf;

use client::Endpoint;

use super::care::{Shape, care, link_speeds};
use super::error::RunError;
use crate::monitor::Subject;
use crate::plan;
use crate::topology::{Network, NetworkError, Who};
use crate::workload::{Site, SiteBooks, SiteNode};

/// The folder within a network's folder that holds copies of its data.
const SNAPSHOTS: &str = "snapshots";
/// Starts that one stream of a site should carry. A node can take a few thousand.
const PER_STREAM: u32 = 1_000;
/// Upper limit on streams to one node.
const STREAMS_MAX: u32 = 16;

/// A network of our own.
pub(super) struct Ours {
    /// `None` only while a step is using it.
    network: Option<Network>,
    /// Whether anything was recorded since it was bootstrapped or wiped.
    used: bool,
    snapshots: BTreeMap<String, Snapshot>,
}

/// A copy of all nodes' data, with the matching books.
struct Snapshot {
    folder: PathBuf,
    books: SiteBooks,
}

impl Ours {
    /// Creates keys, certificates and folders. Nothing runs yet.
    pub async fn bootstrap(binary: PathBuf, shape: &Shape) -> Result<Self, RunError> {
        let options = shape.options(binary);
        let made = tokio::task::spawn_blocking(move || Network::bootstrap(&options));
        Ok(Self {
            network: Some(made.await??),
            used: false,
            snapshots: BTreeMap::new(),
        })
    }

    /// Runs a long step. If the caller gives up, the network is cleaned up when the step has ended.
    async fn step<T: Send + 'static>(
        &mut self,
        step: impl FnOnce(&mut Network) -> Result<T, NetworkError> + Send + 'static,
    ) -> Result<T, RunError> {
        let Some(mut network) = self.network.take() else {
            return Err(NetworkError::Bootstrap("the network is gone".to_owned()).into());
        };
        let (network, result) = tokio::task::spawn_blocking(move || {
            let result = step(&mut network);
            (network, result)
        })
        .await?;
        self.network = Some(network);
        Ok(result?)
    }

    /// Applies the scenario's configuration to every node. Nodes with a different configuration are restarted. Returns
    /// whether any was.
    pub async fn configure(&mut self, network: &plan::Network) -> Result<bool, RunError> {
        let plan = network.clone();
        self.step(move |network| {
            if let Some(links) = network.links() {
                links.set(link_speeds(&plan));
            }
            if let Some(latency_ms) = plan.database_latency_ms {
                network.set_database_latency(latency_ms);
            }
            network.configure(|who| care(&plan, who))
        })
        .await
    }

    /// Starts all nodes that do not run.
    pub async fn start(&mut self) -> Result<(), RunError> {
        self.step(Network::start_all).await
    }

    /// Stops all running nodes.
    pub async fn stop(&mut self) -> Result<(), RunError> {
        self.step(Network::stop_all).await
    }

    /// Restarts all nodes.
    pub async fn restart(&mut self) -> Result<(), RunError> {
        self.step(Network::restart_all).await
    }

    /// Wipes the data and runs again.
    pub async fn wipe(&mut self) -> Result<(), RunError> {
        self.step(Network::wipe).await?;
        self.used = false;
        Ok(())
    }

    /// Returns whether it may hold data.
    pub fn is_used(&self) -> bool {
        self.used
    }

    /// Notes that the network may hold data.
    pub fn use_it(&mut self) {
        self.used = true;
    }

    /// Returns whether any of its nodes runs.
    pub fn is_up(&self) -> bool {
        let network = self.network.as_ref();
        network.is_some_and(|network| network.pid(Who::Notary).is_some())
    }

    /// Returns whether there is a copy under this name.
    pub fn has(&self, name: &str) -> bool {
        self.snapshots.contains_key(name)
    }

    /// Copies the data unchanged.
    pub async fn snapshot(&mut self, name: &str, books: SiteBooks) -> Result<(), RunError> {
        let number = self.snapshots.len();
        let folder = self
            .step(move |network| {
                let folder = network.root().join(SNAPSHOTS).join(number.to_string());
                network.snapshot(&folder)?;
                Ok(folder)
            })
            .await?;
        let snapshot = Snapshot { folder, books };
        self.snapshots.insert(name.to_owned(), snapshot);
        Ok(())
    }

    /// Restores a copy. Returns its books, or `None` if there is no copy of this name.
    pub async fn restore(&mut self, name: &str) -> Result<Option<SiteBooks>, RunError> {
        let Some(snapshot) = self.snapshots.get(name) else {
            return Ok(None);
        };
        let (folder, books) = (snapshot.folder.clone(), snapshot.books.clone());
        self.step(move |network| network.restore(&folder)).await?;
        self.used = true;
        Ok(Some(books))
    }

    /// Returns the site for workloads, with its own connections.
    pub fn site(&self, seed: u64, outstanding: u32) -> Result<Site, RunError> {
        let network = self.network()?;
        let node = |who| site_node(network, who, outstanding);
        let banks: Result<Vec<SiteNode>, NetworkError> = (0..network.banks())
            .map(|bank| node(Who::Bank(bank)))
            .collect();
        let site = Site::new(banks?, Some(node(Who::Notary)?), seed);
        Ok(site.with_requesters(network.requesters().to_vec()))
    }

    /// Returns its banks' names and APIs, in order.
    pub fn banks(&self) -> Result<Vec<(String, Endpoint)>, RunError> {
        let network = self.network()?;
        let bank = |at| {
            let who = Who::Bank(at);
            Ok((network.name(who).to_owned(), network.endpoint(who)?))
        };
        (0..network.banks()).map(bank).collect()
    }

    /// Returns the subjects to monitor.
    pub fn subjects(&self) -> Result<Vec<Subject>, RunError> {
        let network = self.network()?;
        let subject = |who: Who| {
            Ok(Subject {
                name: who.to_string(),
                pid: network.pid(who),
                folder: Some(network.data(who)),
                log: Some(network.store_log(who)),
                endpoint: Some(network.endpoint(who)?),
                ..Subject::default()
            })
        };
        let nodes = network.everybody().into_iter().map(subject);
        let databases = network.databases().into_iter().map(|server| {
            Ok(Subject {
                name: server.name,
                pid: server.pid,
                with_children: true,
                folder: Some(server.folder),
                log: server.log,
                ..Subject::default()
            })
        });
        nodes.chain(databases).collect()
    }

    /// Returns the bytes on all disks together; `None` if they cannot be read.
    pub fn disk_bytes(&self) -> Option<u64> {
        let size = self.network.as_ref()?.disk_use().ok()?;
        Some(size.live_bytes)
    }

    /// Returns the process of a node, by the node's name, if it runs.
    pub fn pid(&self, node: &str) -> Option<u32> {
        let network = self.network.as_ref()?;
        network.pid(network.find(node)?)
    }

    /// Starts a node again that a fault has killed.
    pub async fn revive(&mut self, node: &str) -> Result<(), RunError> {
        let node = node.to_owned();
        self.step(move |network| {
            let Some(who) = network.find(&node) else {
                return Ok(());
            };
            network.kill(who);
            network.start(who).map(drop)
        })
        .await
    }

    /// Returns the node that has exited without being stopped, with the last lines of its log.
    pub fn died(&mut self) -> Option<RunError> {
        let network = self.network.as_mut()?;
        let who = network
            .everybody()
            .into_iter()
            .find(|who| network.pid(*who).is_some() && network.process(*who).has_ended())?;
        let log = network.log(who).to_owned();
        Some(RunError::NodeDied {
            name: who.to_string(),
            tail: crate::topology::tail(&log),
            log: log.display().to_string(),
        })
    }

    /// Releases the network, which keeps running. Returns its folder and processes.
    pub fn keep(mut self) -> Option<(PathBuf, Vec<u32>)> {
        let network = self.network.take()?;
        let pids = network.everybody().into_iter();
        let pids = pids.filter_map(|who| network.pid(who)).collect();
        Some((network.keep(), pids))
    }

    fn network(&self) -> Result<&Network, RunError> {
        let gone = || NetworkError::Bootstrap("the network is gone".to_owned());
        Ok(self.network.as_ref().ok_or_else(gone)?)
    }
}

/// Returns the number of streams to one node for this many units outstanding.
pub(super) fn streams(outstanding: u32) -> u32 {
    outstanding.div_ceil(PER_STREAM).clamp(1, STREAMS_MAX)
}

fn site_node(network: &Network, who: Who, outstanding: u32) -> Result<SiteNode, NetworkError> {
    let mut node = SiteNode::new(network.name(who), network.client(who)?)
        .with_endpoint(network.endpoint(who)?)
        .with_data(network.data(who));
    for _ in 1..streams(outstanding) {
        node = node.with_stream(network.client(who)?.stream());
    }
    Ok(node)
}
