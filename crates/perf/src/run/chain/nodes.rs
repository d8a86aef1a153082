//! The nodes that a stretch runs on.

use std::path::PathBuf;
use std::sync::Arc;

use client::Endpoint;

use super::sizes::store_sizes;
use crate::chain::ChainTarget;
use crate::chain::connect;
use crate::monitor::Subject;
use crate::plan::{ChainPlan, ChainServers};
use crate::report::number;
use crate::results::StoreSizes;
use crate::run::error::RunError;
use crate::run::event::{Events, Step};
use crate::run::own_network::long_step;
use crate::run::shown::Shown;
use crate::topology::{
    ChainNetwork, HistoryBuilt, NetworkError, PlacedProcess, Placement, chain_endpoint,
};

/// The nodes that a stretch runs on.
pub(super) struct ChainNodes {
    targets: Vec<Arc<dyn ChainTarget>>,
    /// How to reach nodes of ours; empty for servers of the Ardor/Nxt family.
    endpoints: Vec<Endpoint>,
    /// The network, if it was brought up for this stretch.
    network: Option<ChainNetwork>,
    /// Payments in the network's blocks before the load.
    history: u64,
}

impl ChainNodes {
    /// Brings nodes up, or connects to running ones.
    pub async fn begin(
        chain: &ChainPlan,
        binary: PathBuf,
        hosts: &Placement,
        events: &Events,
    ) -> Result<Self, RunError> {
        let step = Shown::begin(events, Step::Network);
        let mut network = None;
        let mut endpoints = Vec::new();
        let mut history = HistoryBuilt::default();
        let targets = match &chain.target {
            Some(ChainServers::Nxt { urls, prepared }) => nxt(chain, urls, *prepared).await?,
            Some(ChainServers::Tally(folders)) => {
                let there = folders.iter().map(|folder| chain_endpoint(folder));
                endpoints = there.collect::<Result<_, NetworkError>>()?;
                tally(chain, &endpoints, false).await?
            }
            None => {
                let (plan, hosts) = (chain.clone(), hosts.clone());
                let made = tokio::task::spawn_blocking(move || {
                    let mut network = ChainNetwork::make(&binary, &plan, &hosts)?;
                    let all: Vec<usize> = (0..network.nodes()).collect();
                    let built = network.make_history(&plan, &all)?;
                    network.start_all()?;
                    Ok::<(ChainNetwork, HistoryBuilt), NetworkError>((network, built))
                });
                let (made, built) = made.await??;
                history = built;
                endpoints = (0..made.nodes())
                    .filter_map(|at| made.endpoint(at))
                    .collect();
                let targets = tally(chain, &endpoints, true).await?;
                network = Some(made);
                targets
            }
        };
        step.end(&format!(
            "{} nodes, {} s a block{}{}",
            targets.len(),
            chain.block_s,
            if network.is_some() {
                hosts.to_string()
            } else {
                String::new()
            },
            told(&history)
        ));
        Ok(Self {
            targets,
            endpoints,
            network,
            history: history.transactions,
        })
    }

    /// Returns the nodes, in order.
    pub fn targets(&self) -> &[Arc<dyn ChainTarget>] {
        &self.targets
    }

    /// Returns how to reach nodes of ours; nothing for servers of the Ardor/Nxt family.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Returns the subjects to monitor.
    pub fn subjects(&self) -> Vec<Subject> {
        let Some(network) = &self.network else {
            return Vec::new();
        };
        let subject = |at| Subject {
            name: network.name(at).to_owned(),
            pid: network.pid(at),
            host: network.host(at),
            folder: Some(network.data(at)),
            log: Some(network.store_log(at)),
            endpoint: network.endpoint(at),
            ..Subject::default()
        };
        (0..network.nodes()).map(subject).collect()
    }

    /// Returns the bytes on all disks together; `None` if they are not accessible.
    pub fn disk_bytes(&self) -> Option<u64> {
        self.network.as_ref()?.disk_bytes()
    }

    /// Reads the sizes of the first node's database, which is stopped and started in between; `None` for nodes that this
    /// run did not start. A reading that fails is left out and shown. `transactions` have come into blocks since the load began.
    pub async fn store_sizes(
        &mut self,
        transactions: u64,
        events: &Events,
    ) -> Result<Option<StoreSizes>, RunError> {
        if self.network.is_none() {
            return Ok(None);
        }
        let step = Shown::begin(events, Step::Database);
        let read = long_step(&mut self.network, |network| store_sizes(network, 0)).await?;
        let Some(mut sizes) = read else {
            return Ok(None);
        };
        sizes.transactions = self.history.checked_add(transactions);
        let told = |(name, size): (&str, Option<u64>)| {
            size.map(|size| format!("{} bytes {name}", number(size as f64)))
        };
        let words: Vec<String> = sizes.all().into_iter().filter_map(told).collect();
        let words = [words, sizes.missing.clone()].concat();
        step.close(sizes.missing.is_empty(), &words.join(", "));
        Ok(Some(sizes))
    }

    /// Returns an error if a node has ended by itself.
    pub fn died(&mut self) -> Option<RunError> {
        let network = self.network.as_mut()?;
        if let Some(lost) = network.lost_host() {
            return Some(NetworkError::from(lost).into());
        }
        let (name, log, tail) = network.died()?;
        Some(RunError::NodeDied {
            name,
            log: log.display().to_string(),
            tail,
        })
    }

    /// Returns the process of a node that was brought up, by the node's name, if it runs.
    pub fn process(&self, node: &str) -> Option<PlacedProcess> {
        let network = self.network.as_ref()?;
        let at = network.find(node)?;
        Some(PlacedProcess {
            host: network.host(at),
            pid: network.pid(at)?,
        })
    }

    /// Starts a node again that a fault has killed.
    pub async fn revive(&mut self, node: &str) -> Result<(), RunError> {
        let node = node.to_owned();
        let revived = long_step(&mut self.network, move |network| {
            let found = network.find(&node);
            found.map_or(Ok(()), |at| network.revive(at))
        });
        Ok(revived.await?.unwrap_or(Ok(()))?)
    }

    /// Takes down the network that was brought up.
    pub async fn take_down(self) {
        // Ignore the result: the network is no longer used. Waiting for its processes takes a moment.
        let _ = tokio::task::spawn_blocking(move || drop(self.network)).await;
    }

    /// Releases the network that was brought up, which keeps running. Returns its folder and processes.
    pub fn keep(self) -> Option<(PathBuf, Vec<u32>)> {
        Some(self.network?.keep())
    }
}

/// Returns words for people about a history; nothing without one.
fn told(history: &HistoryBuilt) -> String {
    if history.transactions == 0 {
        return String::new();
    }
    format!(
        ", {} payments in {} blocks before, made in {:.1} s",
        number(history.transactions as f64),
        number(history.blocks as f64),
        history.seconds
    )
}

/// Connects to servers of the Ardor/Nxt family, and starts forging and bundling.
async fn nxt(
    chain: &ChainPlan,
    urls: &[String],
    prepared: bool,
) -> Result<Vec<Arc<dyn ChainTarget>>, RunError> {
    let servers = connect::servers(chain, urls, prepared).await;
    let mut targets: Vec<Arc<dyn ChainTarget>> = Vec::with_capacity(urls.len());
    for target in servers.map_err(RunError::of("connecting"))? {
        target.forge(true).await.map_err(RunError::of("forging"))?;
        target.bundle().await.map_err(RunError::of("bundling"))?;
        targets.push(Arc::new(target));
    }
    Ok(targets)
}

/// Connects to Tallystick nodes. If they were not brought up for this run, their operator decides which accounts forge.
pub(super) async fn tally(
    chain: &ChainPlan,
    endpoints: &[Endpoint],
    own: bool,
) -> Result<Vec<Arc<dyn ChainTarget>>, RunError> {
    let nodes = connect::nodes(chain, endpoints, own).await;
    let nodes = nodes.map_err(RunError::of("connecting"))?.into_iter();
    Ok(nodes
        .map(|node| Arc::new(node) as Arc<dyn ChainTarget>)
        .collect())
}
