//! A network of chain nodes on this machine: real processes in a temporary folder, on free ports, removed at the end.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chain::genesis::{BalanceSpec, ChainSpec, GenesisSpec, ParamsOverrides, SUPPLY_MAX};
use chain::history::History;
use chain::key_of_passphrase;
use chain::{ChainId, MinorUnits, Seconds};
use client::Endpoint;
use serde::Deserialize;
use tempfile::TempDir;

use super::config_file::{ConfigFile, Settings};
use super::copy::copy_folder;
use super::external::{CHAIN_CONFIG_FILE as CONFIG_FILE, chain_endpoint};
use super::network::{READY_MAX, STOP_MAX};
use super::network_error::{NetworkError, system};
use super::process::{NodeProcess, Program, tail};
use crate::measure::{DiskUse, unix_now, whole_millis};
use crate::plan::{Bundlers, ChainPlan};

/// A node prints this on standard output when it is ready.
const READY: &str = "\"ready\":";
/// The file with the genesis, in a network's and a node's folder.
const GENESIS_FILE: &str = "genesis.toml";
/// In a node's folder: its data.
const DATA: &str = "data";
/// In a node's data: the write-ahead log of its store.
const STORE_LOG: &str = "chain/log";
/// In a node's data: its snapshots, and the one that shows the size of an export.
const SNAPSHOTS: &str = "snapshots";
const EXPORT: &str = "size-of-an-export";
/// Initial whole tokens of each chain per test account, as far as the chain's supply limit allows.
const TOKENS_EACH: u64 = 100_000_000;
/// How long before the present a chain begins. A node's clock may differ a little.
const BEFORE: Duration = Duration::from_secs(1);

/// A history's blocks may take this many times the target time, so that the history fits into the time before the
/// present.
const HISTORY_SLACK: f64 = 1.5;
/// Further seconds allowed.
const HISTORY_MORE_S: f64 = 120.0;

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

/// Nodes of one chain. Dropping it kills its processes and removes its temporary folder.
#[derive(Debug)]
pub struct ChainNetwork {
    // Processes come first: they are dropped, and so killed, before their folder goes.
    nodes: Vec<ChainNode>,
    binary: PathBuf,
    root: PathBuf,
    temporary: Option<TempDir>,
}

/// A node of the network.
#[derive(Debug)]
struct ChainNode {
    name: String,
    folder: PathBuf,
    endpoint: Endpoint,
    process: NodeProcess,
}

impl ChainNetwork {
    /// Creates the folders of a scenario's chain. Nothing runs yet.
    ///
    /// # Errors
    /// Fails with the error of `tally chain genesis`, for inaccessible files, and for settings that a node does not
    /// accept.
    pub fn make(binary: &Path, plan: &ChainPlan) -> Result<Self, NetworkError> {
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
        let mut nodes = Vec::new();
        for at in 1..=plan.nodes {
            let folder = root.join(format!("server{at}"));
            write(&folder.join(GENESIS_FILE), &genesis)?;
            let mut config = ConfigFile::read(folder.join(CONFIG_FILE))?;
            config.lay(&settings_of(plan, at))?;
            let name = format!("node-{at}");
            nodes.push(ChainNode {
                endpoint: chain_endpoint(&folder)?,
                process: NodeProcess::new(Program {
                    name: name.clone(),
                    binary: binary.to_owned(),
                    arguments: vec![
                        "chain".into(),
                        "run".into(),
                        folder.to_string_lossy().into_owned(),
                    ],
                    environment: Vec::new(),
                    log: folder.join("node.log"),
                    ready_marker: READY.into(),
                }),
                name,
                folder,
            });
        }
        Ok(Self {
            nodes,
            binary: binary.to_owned(),
            root,
            temporary: Some(temporary),
        })
    }

    /// Writes the scenario's history into the stores of these nodes (numbers from 0) before they are started. It is made
    /// once, and copied to the others. Does nothing if the scenario has none.
    pub fn make_history(
        &self,
        plan: &ChainPlan,
        those: &[usize],
    ) -> Result<HistoryBuilt, NetworkError> {
        let Some((first, others)) = those.split_first().filter(|_| plan.history > 0) else {
            return Ok(HistoryBuilt::default());
        };
        let Some(node) = self.nodes.get(*first) else {
            return Ok(HistoryBuilt::default());
        };
        let output = Command::new(&self.binary)
            .args(["chain", "history", "--json", "--transactions"])
            .arg(plan.history.to_string())
            .arg(&node.folder)
            .output()
            .map_err(|source| system(&self.binary.display().to_string(), source))?;
        let failed = |text: &[u8]| NetworkError::Setting {
            name: "chain.history".to_owned(),
            message: String::from_utf8_lossy(text).into_owned(),
        };
        if !output.status.success() {
            return Err(failed(&output.stderr));
        }
        let built = serde_json::from_slice(&output.stdout).map_err(|_| failed(&output.stdout))?;
        for at in others {
            let (from, to) = (self.data(*first), self.data(*at));
            copy_folder(&from, &to).map_err(|source| system(&to.display().to_string(), source))?;
            self.accept_store(*at)?;
        }
        Ok(built)
    }

    /// Turns a store that was copied from another node into this node's own.
    fn accept_store(&self, at: usize) -> Result<(), NetworkError> {
        let Some(node) = self.nodes.get(at) else {
            return Ok(());
        };
        let output = Command::new(&self.binary)
            .args(["chain", "accept-store"])
            .arg(&node.folder)
            .args(["--confirm", &format!("server{}", at + 1)])
            .output()
            .map_err(|source| system(&self.binary.display().to_string(), source))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(NetworkError::Bootstrap(
                String::from_utf8_lossy(&output.stderr).into_owned(),
            )),
        }
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

    /// Lets a running node export its database: a snapshot in its data folder. Returns the snapshot's folder.
    pub fn export(&self, at: usize) -> Result<PathBuf, NetworkError> {
        let output = Command::new(&self.binary)
            .args(["chain", "snapshot", EXPORT, "--node"])
            .arg(self.folder(at))
            .output()
            .map_err(|source| system(&self.binary.display().to_string(), source))?;
        match output.status.success() {
            true => Ok(self.data(at).join(SNAPSHOTS).join(EXPORT)),
            false => Err(NetworkError::Bootstrap(
                String::from_utf8_lossy(&output.stderr).into_owned(),
            )),
        }
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

    /// Returns a node's process, while it runs.
    #[must_use]
    pub fn pid(&self, at: usize) -> Option<u32> {
        self.nodes.get(at).and_then(|node| node.process.pid())
    }

    /// Returns a node's folder.
    #[must_use]
    pub fn folder(&self, at: usize) -> PathBuf {
        self.nodes
            .get(at)
            .map_or_else(PathBuf::new, |node| node.folder.clone())
    }

    /// Returns the folder of a node's data.
    #[must_use]
    pub fn data(&self, at: usize) -> PathBuf {
        self.folder(at).join(DATA)
    }

    /// Returns the folder within a node's data with the log of its store, which has a bounded size.
    #[must_use]
    pub fn store_log(&self, at: usize) -> PathBuf {
        self.data(at).join(STORE_LOG)
    }

    /// Returns the bytes of all nodes' data together; `None` if a node's data cannot be read.
    #[must_use]
    pub fn disk_bytes(&self) -> Option<u64> {
        let nodes = (0..self.nodes.len()).map(|at| DiskUse::of(&self.data(at)).ok());
        nodes.map(|size| Some(size?.live_bytes)).sum()
    }

    /// Returns the name, the log and the log's end of a started node that has ended by itself.
    pub fn died(&mut self) -> Option<(String, PathBuf, String)> {
        let node = self.nodes.iter_mut().find_map(|node| {
            (node.process.pid().is_some() && node.process.has_ended()).then_some(node)
        })?;
        let log = node.process.log().to_owned();
        Some((node.name.clone(), log.clone(), tail(&log)))
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

/// Returns the genesis of a scenario's chain: its chains, and the same balance for every test account. With a history, it
/// begins long enough ago for its blocks.
fn genesis_of(plan: &ChainPlan) -> Result<GenesisSpec, NetworkError> {
    let mut spec = spec_of(plan);
    if plan.history == 0 {
        return Ok(spec);
    }
    let refused = |rejection: chain::Rejection| NetworkError::Setting {
        name: "chain.history".to_owned(),
        message: rejection.to_string(),
    };
    let genesis = spec.build().map_err(refused)?;
    let keys = plan.accounts.iter();
    let keys = keys.map(|account| key_of_passphrase(account.passphrase.expose()));
    let history = History::new(Arc::new(genesis), keys.collect(), usize::MAX).map_err(refused)?;
    let blocks = plan.history.div_ceil(history.per_block() as u64);
    let seconds = blocks as f64 * f64::from(plan.block_s) * HISTORY_SLACK + HISTORY_MORE_S;
    let begun_ms = spec.time_ms.checked_sub((seconds * 1_000.0) as u64);
    spec.time_ms = begun_ms.ok_or_else(|| NetworkError::Setting {
        name: "chain.history".to_owned(),
        message: "the first of these blocks would be before 1970; use fewer transactions"
            .to_owned(),
    })?;
    Ok(spec)
}

fn spec_of(plan: &ChainPlan) -> GenesisSpec {
    let symbol = |id: u8| format!("C{id}");
    let each = |decimals: u8| {
        let wanted = 10u64
            .checked_pow(u32::from(decimals))
            .and_then(|unit| unit.checked_mul(TOKENS_EACH));
        let most = SUPPLY_MAX.get() / plan.accounts.len().max(1) as u64;
        // An amount that does not fit is above the maximum too.
        MinorUnits::new(wanted.unwrap_or(most).min(most))
    };
    let amounts: BTreeMap<String, MinorUnits> = plan
        .chains
        .iter()
        .map(|chain| (symbol(chain.id.0), each(chain.decimals)))
        .collect();
    GenesisSpec {
        network: "load test".to_owned(),
        // If the machine's clock was never set, genesis counts as 1970 too.
        time_ms: whole_millis(unix_now().saturating_sub(BEFORE)),
        profile: plan.profile.clone(),
        params: ParamsOverrides {
            block_seconds: Some(Seconds::new(plan.block_s)),
            ..ParamsOverrides::default()
        },
        chains: plan
            .chains
            .iter()
            .map(|one| ChainSpec {
                id: ChainId(one.id.0),
                name: one.name.clone(),
                symbol: symbol(one.id.0),
                decimals: one.decimals,
            })
            .collect(),
        balances: plan
            .accounts
            .iter()
            .map(|account| BalanceSpec {
                passphrase: Some(account.passphrase.clone()),
                amounts: amounts.clone(),
                ..BalanceSpec::default()
            })
            .collect(),
    }
}

/// Returns the settings of a node. Its own accounts forge, and the first or all of them bundle every child chain. The scenario's settings
/// override these.
fn settings_of(plan: &ChainPlan, node: u32) -> Settings {
    let own = plan.accounts.iter().filter(|account| account.node == node);
    let own: Vec<toml::Value> = own
        .map(|account| account.passphrase.expose().clone().into())
        .collect();
    let mut bundlers = Vec::new();
    let bundling = match plan.bundlers {
        Bundlers::First => 1,
        Bundlers::All => own.len(),
    };
    for passphrase in own.iter().take(bundling) {
        for one in plan.chains.iter().skip(1) {
            let mut rules = toml::Table::new();
            rules.insert("child".into(), i64::from(one.id.0).into());
            // Any fee that the scenario's payments offer is enough.
            rules.insert("rate_min".into(), 1.into());
            let mut bundler = toml::Table::new();
            bundler.insert("passphrase".into(), passphrase.clone());
            bundler.insert("rules".into(), rules.into());
            bundlers.push(toml::Value::Table(bundler));
        }
    }
    let mut settings = Settings::from([
        ("forging.passphrases".to_owned(), toml::Value::Array(own)),
        ("bundlers".to_owned(), toml::Value::Array(bundlers)),
    ]);
    settings.extend(plan.settings.clone());
    settings
}

fn write(path: &Path, text: &str) -> Result<(), NetworkError> {
    fs::write(path, text).map_err(|source| system(&path.display().to_string(), source))
}
