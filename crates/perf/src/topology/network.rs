//! A network of real processes, on this machine or on several hosts: bootstrapped into a folder, on free ports,
//! restartable, removed at the end.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use client::{Client, Endpoint};
use pgserver::{GaleraCluster, PgServer, ServerError};
use tempfile::TempDir;

use super::config_file::ConfigFile;
use super::database::NetworkDatabase;
use super::database_process::DatabaseProcess;
use super::description::NetworkOptions;
use super::host::{Host, HostError, NodeFolder, PlacedProcess, RemoteFolders};
use super::link::Links;
use super::network_error::{NetworkError, system};
use super::notary_database::NotaryDatabase;
use super::process::NodeProcess;
use super::standby::Standby;
use super::who::Who;

/// Time limit for a node to become ready.
pub(super) const READY_MAX: Duration = Duration::from_secs(60);
/// Time limit for a node to finish its work.
pub(super) const STOP_MAX: Duration = Duration::from_secs(30);

/// In a node's folder: the certificate that its API chains to.
pub(super) const ROOT_FILE: &str = "root.pem";
/// In a node's folder: its data.
pub(super) const DATA: &str = "data";
/// In a node's data: the write-ahead log of its store.
const STORE_LOG: &str = "ledger/log";
/// The file in a node's folder that identifies its store.
pub(super) const ANCHOR_FILE: &str = "ledger.anchor";
/// In a node's folder: the token of its API.
pub(super) const TOKEN_FILE: &str = "api-token";

/// A notary and banks. Dropping it kills its processes and removes its temporary folder and its folders on other machines.
#[derive(Debug)]
pub struct Network {
    // Processes come first: they are dropped, and so killed, before their folder goes.
    pub(super) notary: Member,
    pub(super) banks: Vec<Member>,
    pub(super) workers: Vec<Member>,
    pub(super) standby: Option<Standby>,
    pub(super) requesters: Vec<PathBuf>,
    pub(super) notary_database: Option<NotaryDatabase>,
    pub(super) links: Option<Links>,
    pub(super) database: Option<NetworkDatabase>,
    /// The folders on other machines, without processes by the time that they go.
    pub(super) _remote: RemoteFolders,
    pub(super) root: PathBuf,
    pub(super) temporary: Option<TempDir>,
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) folder: NodeFolder,
    pub(super) api: SocketAddr,
    pub(super) config: ConfigFile,
    pub(super) process: NodeProcess,
    /// Its anchor as bootstrap made it: without a store.
    pub(super) fresh_anchor: Vec<u8>,
}

impl Network {
    /// Bootstraps, starts every process and waits until all are ready.
    pub fn bring_up(options: &NetworkOptions) -> Result<Self, NetworkError> {
        let mut network = Self::bootstrap(options)?;
        network.start_all()?;
        Ok(network)
    }

    /// Returns the second process of the first bank. It is started apart from the others ([`NetworkOptions::standby`]).
    pub fn standby(&mut self) -> Option<&mut Standby> {
        self.standby.as_mut()
    }

    /// Returns the cluster of the replicated notary, for tests that disturb it.
    pub fn notary_cluster(&mut self) -> Option<&mut GaleraCluster> {
        self.notary_database.as_mut()?.cluster()
    }

    /// Returns the PostgreSQL server of the replicated notary, for tests that disturb it.
    pub fn notary_server(&mut self) -> Option<&mut PgServer> {
        self.notary_database.as_mut()?.server()
    }

    /// Returns the folders of the members without a node ([`NetworkOptions::requesters`]).
    pub fn requesters(&self) -> &[PathBuf] {
        &self.requesters
    }

    pub(super) fn notary_database(&mut self) -> Option<&mut NotaryDatabase> {
        self.notary_database.as_mut()
    }

    /// Returns the database server, for tests that disturb it.
    pub fn database_server(&mut self) -> Option<&mut PgServer> {
        self.database.as_mut().map(NetworkDatabase::server)
    }

    /// Returns the first value of a query on the database server, if there is one.
    pub fn database_query(&self, sql: &str) -> Option<Result<String, ServerError>> {
        let database = self.database.as_ref()?;
        Some(database.query(sql))
    }

    /// Returns the database servers that the network has started.
    pub fn databases(&self) -> Vec<DatabaseProcess> {
        let of_nodes = self.database.iter().map(NetworkDatabase::process);
        let of_notary = self.notary_database.iter();
        of_nodes
            .chain(of_notary.flat_map(NotaryDatabase::processes))
            .collect()
    }

    /// Sets the time of a round trip to the database server, if the nodes reach it through a proxy.
    pub fn set_database_latency(&self, latency_ms: f64) {
        if let Some(database) = &self.database {
            database.set_latency(latency_ms);
        }
    }

    /// Returns the database of the nodes.
    pub(super) fn nodes_database(&self) -> Option<&NetworkDatabase> {
        self.database.as_ref()
    }

    /// Returns the database of a replicated notary.
    pub(super) fn notarys_database(&self) -> Option<&NotaryDatabase> {
        self.notary_database.as_ref()
    }

    pub(super) fn database(&mut self) -> Option<&mut NetworkDatabase> {
        self.database.as_mut()
    }

    /// Starts all members that do not run, and waits until all are ready. Returns how long the slowest took.
    pub fn start_all(&mut self) -> Result<Duration, NetworkError> {
        for member in self.members_mut() {
            if member.process.pid().is_none() {
                member.process.start()?;
            }
        }
        let mut slowest = Duration::ZERO;
        for member in self.members_mut() {
            slowest = slowest.max(member.process.wait_ready(READY_MAX)?);
        }
        Ok(slowest)
    }

    /// Kills a member (kill -9).
    pub fn kill(&mut self, who: Who) {
        self.member_mut(who).process.kill();
    }

    /// Returns the member of this name, as [`Who`] writes it.
    pub fn find(&self, name: &str) -> Option<Who> {
        self.everybody()
            .into_iter()
            .find(|who| who.to_string() == name)
    }

    /// Asks a member to finish and end. Kills it if it takes too long.
    pub fn stop(&mut self, who: Who) -> Result<(), NetworkError> {
        self.member_mut(who).process.stop(STOP_MAX)?;
        Ok(())
    }

    /// Starts a member that was killed or stopped and waits until it is ready. Returns how long that took.
    pub fn start(&mut self, who: Who) -> Result<Duration, NetworkError> {
        let process = &mut self.member_mut(who).process;
        process.start()?;
        Ok(process.wait_ready(READY_MAX)?)
    }

    /// Restarts a member in good order. Returns how long it took from start to ready.
    pub fn restart(&mut self, who: Who) -> Result<Duration, NetworkError> {
        self.stop(who)?;
        self.start(who)
    }

    /// Returns the links between the nodes, if the network was made with any ([`NetworkOptions::links`]).
    pub fn links(&self) -> Option<&Links> {
        self.links.as_ref()
    }

    /// Returns the number of banks.
    pub fn banks(&self) -> usize {
        self.banks.len()
    }

    /// Returns all members.
    pub fn everybody(&self) -> Vec<Who> {
        std::iter::once(Who::Notary)
            .chain((0..self.banks.len()).map(Who::Bank))
            .chain((0..self.workers.len()).map(Who::Worker))
            .collect()
    }

    /// Returns a member's legal name.
    pub fn name(&self, who: Who) -> &str {
        &self.member(who).name
    }

    /// Returns a member's folder. If its host is another machine, these are its settings alone.
    pub fn folder(&self, who: Who) -> &Path {
        self.member(who).folder.here()
    }

    /// Returns a member's host.
    pub fn host(&self, who: Who) -> &Arc<dyn Host> {
        self.member(who).folder.host()
    }

    /// Returns the error of the first host that is gone.
    pub fn lost_host(&self) -> Option<HostError> {
        let everybody = self.everybody().into_iter();
        everybody.filter_map(|who| self.host(who).lost()).next()
    }

    /// Returns the folder of a member's data on its host: ledger, vault view, everything that grows.
    pub fn data(&self, who: Who) -> PathBuf {
        self.member(who).folder.there(DATA)
    }

    /// Returns the file on a member's host that names its store.
    pub(super) fn anchor(&self, who: Who) -> PathBuf {
        self.member(who).folder.there(ANCHOR_FILE)
    }

    /// Returns the folder within a member's data with the log of its store, which has a bounded size.
    pub fn store_log(&self, who: Who) -> PathBuf {
        self.data(who).join(STORE_LOG)
    }

    /// Returns a member's log file on its host.
    pub fn log(&self, who: Who) -> &Path {
        self.member(who).process.log()
    }

    /// Returns a member's process, for tests that need more than this type offers.
    pub fn process(&mut self, who: Who) -> &mut NodeProcess {
        &mut self.member_mut(who).process
    }

    /// Returns a client of a member's API with its bootstrapped token.
    pub fn client(&self, who: Who) -> Result<Client, NetworkError> {
        let endpoint = self.endpoint(who)?;
        Ok(Client::new(endpoint)?)
    }

    /// Returns the network's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a member's API with its bootstrapped token: at both addresses, if it has a second process.
    pub fn endpoint(&self, who: Who) -> Result<Endpoint, NetworkError> {
        let member = self.member(who);
        let read = |name: &str| {
            let path = member.folder.here().join(name);
            fs::read_to_string(&path).map_err(|source| system(&path.display().to_string(), source))
        };
        let mut address = member.api.to_string();
        if let (Who::Bank(0), Some(standby)) = (who, &self.standby) {
            address = format!("{address}, {}", standby.api());
        }
        Ok(Endpoint {
            address,
            server_name: "localhost".into(),
            root_pem: read(ROOT_FILE)?,
            token: read(TOKEN_FILE)?.trim().into(),
        })
    }

    /// Returns a member's process id on its host while it runs.
    pub fn pid(&self, who: Who) -> Option<u32> {
        self.member(who).process.pid()
    }

    /// Returns a member's running process, for signals.
    pub fn placed(&self, who: Who) -> Option<PlacedProcess> {
        self.member(who).process.placed()
    }

    /// Leaves processes and folder behind and returns the folder. Links end with this process, so nodes behind them lose
    /// each other.
    pub fn keep(mut self) -> PathBuf {
        for member in self.members_mut() {
            member.process.leave_running();
        }
        if let Some(database) = self.database.take() {
            database.leave_running();
        }
        if let Some(database) = self.notary_database.take() {
            database.leave_running();
        }
        if let Some(temporary) = self.temporary.take() {
            return temporary.keep();
        }
        self.root.clone()
    }

    fn member(&self, who: Who) -> &Member {
        match who {
            Who::Notary => &self.notary,
            Who::Bank(at) => &self.banks[at],
            Who::Worker(at) => &self.workers[at],
        }
    }

    pub(super) fn member_mut(&mut self, who: Who) -> &mut Member {
        match who {
            Who::Notary => &mut self.notary,
            Who::Bank(at) => &mut self.banks[at],
            Who::Worker(at) => &mut self.workers[at],
        }
    }

    pub(super) fn members_mut(&mut self) -> impl Iterator<Item = &mut Member> {
        std::iter::once(&mut self.notary)
            .chain(&mut self.banks)
            .chain(&mut self.workers)
    }
}

impl Drop for Network {
    /// During a panic, prints the end of each process's log.
    fn drop(&mut self) {
        if std::thread::panicking() {
            for member in self.members_mut() {
                eprintln!(
                    "--- the end of {}\n{}",
                    member.process.log().display(),
                    member.process.tail()
                );
            }
        }
    }
}
