//! A network that is ours to bring up, restart and wipe, with what was prepared on it. Whatever takes long runs beside the
//! runner's own thread, so that Ctrl-C is heard and progress is drawn meanwhile.

use std::collections::BTreeMap;
use std::path::PathBuf;

use client::Endpoint;

use super::care::{Shape, care, link_speeds};
use super::error::RunError;
use crate::monitor::Subject;
use crate::plan;
use crate::topology::{Network, NetworkError, Who};
use crate::workload::{Site, SiteBooks, SiteNode};

/// Within a network's folder: copies of its data.
const SNAPSHOTS: &str = "snapshots";
/// Starts that one stream of a site should have to carry; a node takes a few thousand.
const PER_STREAM: u32 = 1_000;
/// Streams to one node at most.
const STREAMS_MAX: u32 = 16;

/// See the module.
pub(super) struct Ours {
    /// Away only while a step has it.
    network: Option<Network>,
    /// Whether anything was recorded since it was bootstrapped or wiped.
    used: bool,
    snapshots: BTreeMap<String, Snapshot>,
}

/// A copy of everybody's data, with the books that belong to it.
struct Snapshot {
    folder: PathBuf,
    books: SiteBooks,
}

impl Ours {
    /// Keys, certificates and folders; nothing runs yet.
    pub async fn bootstrap(binary: PathBuf, shape: &Shape) -> Result<Self, RunError> {
        let options = shape.options(binary);
        let made = tokio::task::spawn_blocking(move || Network::bootstrap(&options));
        Ok(Self {
            network: Some(made.await??),
            used: false,
            snapshots: BTreeMap::new(),
        })
    }

    /// Does something that may take long. If the caller gives up, the network is cleaned up when the step has ended.
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

    /// Makes every node run with what the scenario says; those that run with something else are restarted. Returns whether
    /// any was.
    pub async fn configure(&mut self, network: &plan::Network) -> Result<bool, RunError> {
        let plan = network.clone();
        self.step(move |network| {
            if let Some(links) = network.links() {
                links.set(link_speeds(&plan));
            }
            network.configure(|who| care(&plan, who))
        })
        .await
    }

    /// Starts whatever does not run.
    pub async fn start(&mut self) -> Result<(), RunError> {
        self.step(Network::start_all).await
    }

    /// Stops whatever runs.
    pub async fn stop(&mut self) -> Result<(), RunError> {
        self.step(Network::stop_all).await
    }

    /// Restarts everybody.
    pub async fn restart(&mut self) -> Result<(), RunError> {
        self.step(Network::restart_all).await
    }

    /// Runs without data.
    pub async fn wipe(&mut self) -> Result<(), RunError> {
        self.step(Network::wipe).await?;
        self.used = false;
        Ok(())
    }

    /// Whether it may hold anything.
    pub fn is_used(&self) -> bool {
        self.used
    }

    /// Notes that it may hold something from now on.
    pub fn use_it(&mut self) {
        self.used = true;
    }

    /// Whether anything of it runs.
    pub fn is_up(&self) -> bool {
        let network = self.network.as_ref();
        network.is_some_and(|network| network.pid(Who::Notary).is_some())
    }

    /// Whether there is a copy under this name.
    pub fn has(&self, name: &str) -> bool {
        self.snapshots.contains_key(name)
    }

    /// Copies the data as it is.
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

    /// Puts a copy back; returns the books that belong to it, or `None` if there is none of this name.
    pub async fn restore(&mut self, name: &str) -> Result<Option<SiteBooks>, RunError> {
        let Some(snapshot) = self.snapshots.get(name) else {
            return Ok(None);
        };
        let (folder, books) = (snapshot.folder.clone(), snapshot.books.clone());
        self.step(move |network| network.restore(&folder)).await?;
        self.used = true;
        Ok(Some(books))
    }

    /// The network as workloads see it, with connections of its own.
    pub fn site(&self, seed: u64, outstanding: u32) -> Result<Site, RunError> {
        let network = self.network()?;
        let node = |who| site_node(network, who, outstanding);
        let banks: Result<Vec<SiteNode>, NetworkError> = (0..network.banks())
            .map(|bank| node(Who::Bank(bank)))
            .collect();
        Ok(Site::new(banks?, Some(node(Who::Notary)?), seed))
    }

    /// Its banks' names and APIs, in order.
    pub fn banks(&self) -> Result<Vec<(String, Endpoint)>, RunError> {
        let network = self.network()?;
        let bank = |at| {
            let who = Who::Bank(at);
            Ok((network.name(who).to_owned(), network.endpoint(who)?))
        };
        (0..network.banks()).map(bank).collect()
    }

    /// What there is to watch.
    pub fn subjects(&self) -> Result<Vec<Subject>, RunError> {
        let network = self.network()?;
        let subject = |who: Who| {
            Ok(Subject {
                name: who.to_string(),
                pid: network.pid(who),
                folder: Some(network.data(who)),
                endpoint: Some(network.endpoint(who)?),
            })
        };
        network.everybody().into_iter().map(subject).collect()
    }

    /// Bytes on all disks together.
    pub fn disk_bytes(&self) -> u64 {
        let network = self.network.as_ref();
        let size = network.and_then(|network| network.disk_use().ok());
        size.map_or(0, |size| size.live_bytes)
    }

    /// Who has ended by itself, and the end of its log.
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

    /// Gives the network up: it goes on without us. Returns its folder and processes.
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

/// Streams to one node, for so many units outstanding.
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
