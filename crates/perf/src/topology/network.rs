//! A network of real processes on this machine: bootstrapped into a folder, on free ports, restartable, removed at the
//! end.

use std::fmt;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use client::{Client, Endpoint};
use pgserver::{GaleraCluster, PgServer, ServerError, free_ports};
use tempfile::TempDir;

use super::config_file::{CONFIG_FILE, ConfigFile};
use super::database::NetworkDatabase;
use super::database_process::DatabaseProcess;
use super::description::{NOTARY, NetworkOptions, legal_name};
use super::link::{Behind, Links};
use super::network_error::{NetworkError, system};
use super::notary_database::{NotaryBackend, NotaryDatabase};
use super::process::{NodeProcess, Program, READY, tail};
use super::standby::{Standby, StandbyPorts, local};
use crate::measure::{DiskUse, ProcessReading};

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

/// A notary and banks. Dropping it kills its processes and removes its temporary folder.
#[derive(Debug)]
pub struct Network {
    // Processes come first: they are dropped, and so killed, before their folder goes.
    notary: Member,
    banks: Vec<Member>,
    workers: Vec<Member>,
    standby: Option<Standby>,
    requesters: Vec<PathBuf>,
    notary_database: Option<NotaryDatabase>,
    links: Option<Links>,
    database: Option<NetworkDatabase>,
    root: PathBuf,
    temporary: Option<TempDir>,
}

#[derive(Debug)]
pub(super) struct Member {
    name: String,
    folder: PathBuf,
    api_port: u16,
    pub(super) config: ConfigFile,
    pub(super) process: NodeProcess,
    /// Its anchor as bootstrap made it: without a store.
    pub(super) fresh_anchor: Vec<u8>,
}

/// A process of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The notary.
    Notary,
    /// A bank by position.
    Bank(usize),
    /// A further worker of a replicated notary, by position; [`Who::Notary`] is the first.
    Worker(usize),
}

impl fmt::Display for Who {
    /// Writes the name used in results and scenarios: `notary`, `bank-1`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Notary => out.write_str("notary"),
            Who::Bank(at) => write!(out, "bank-{}", at + 1),
            Who::Worker(at) => write!(out, "notary-{}", at + 2),
        }
    }
}

impl Network {
    /// Bootstraps, starts every process and waits until all are ready.
    pub fn bring_up(options: &NetworkOptions) -> Result<Self, NetworkError> {
        let mut network = Self::bootstrap(options)?;
        network.start_all()?;
        Ok(network)
    }

    /// Creates keys, certificates and folders. Nothing runs yet.
    pub fn bootstrap(options: &NetworkOptions) -> Result<Self, NetworkError> {
        options.check()?;
        let (root, temporary) = match &options.folder {
            Some(folder) => (folder.clone(), None),
            None => {
                let folder = tempfile::Builder::new()
                    .prefix("tally-")
                    .tempdir()
                    .map_err(|source| system("a temporary folder", source))?;
                (folder.path().to_path_buf(), Some(folder))
            }
        };
        let members = options.members();
        let ports = 2 * (members + usize::from(options.standby));
        let mut ports = free_ports(ports).map_err(|source| system("free ports", source))?;
        let standby = options.standby.then(|| ports.split_off(2 * members));
        let standby = standby.map(|two| StandbyPorts {
            p2p: two[0],
            api: two[1],
        });
        // A link can identify a process as soon as it runs.
        let pids: Vec<Arc<AtomicU32>> = (0..members).map(|_| Arc::default()).collect();
        let links = match options.links {
            true => Some(links(&ports, &pids).map_err(|source| system("links", source))?),
            false => None,
        };
        let mut advertised = match &links {
            Some(links) => {
                let addresses = links.addresses().iter();
                addresses.map(|link| vec![link.to_string()]).collect()
            }
            None => options.advertised.clone(),
        };
        if let Some(standby) = &standby {
            advertised.resize(members, Vec::new());
            let first = &mut advertised[1];
            if first.is_empty() {
                first.push(local(ports[2]).to_string());
            }
            first.push(local(standby.p2p).to_string());
        }
        let description = root.join("NETWORK.toml");
        fs::write(&description, options.network_toml(&ports, &advertised))
            .map_err(|source| system(&description.display().to_string(), source))?;
        let nodes = root.join("nodes");
        let output = Command::new(&options.binary)
            .args(["network", "bootstrap"])
            .arg(&description)
            .arg("--out")
            .arg(&nodes)
            .output()
            .map_err(|source| system(&options.binary.display().to_string(), source))?;
        if !output.status.success() {
            return Err(NetworkError::Bootstrap(
                String::from_utf8_lossy(&output.stderr).into_owned(),
            ));
        }
        let member = |position: usize, name: String| {
            let folder = nodes.join(options.folder_name(position));
            let anchor = folder.join(ANCHOR_FILE);
            let fresh_anchor = fs::read(&anchor)
                .map_err(|source| system(&anchor.display().to_string(), source))?;
            Ok::<Member, NetworkError>(Member {
                fresh_anchor,
                config: ConfigFile::read(folder.join(CONFIG_FILE))?,
                process: NodeProcess::new(Program {
                    name: name.clone(),
                    binary: options.binary.clone(),
                    arguments: vec![
                        "node".into(),
                        "run".into(),
                        folder.to_string_lossy().into_owned(),
                    ],
                    environment: Vec::new(),
                    log: folder.join("node.log"),
                    ready_marker: READY.into(),
                })
                .noted_in(Arc::clone(&pids[position])),
                name,
                folder,
                api_port: ports[2 * position + 1],
            })
        };
        let banks: Result<Vec<Member>, NetworkError> = options
            .banks
            .iter()
            .enumerate()
            .map(|(at, bank)| member(at + 1, legal_name(bank)))
            .collect();
        let workers: Result<Vec<Member>, NetworkError> = (options.banks.len() + 1..options.nodes())
            .map(|at| member(at, legal_name(&options.short_name(at))))
            .collect();
        let mut network = Self {
            notary: member(0, legal_name(NOTARY))?,
            banks: banks?,
            workers: workers?,
            standby: None,
            requesters: (options.nodes()..members)
                .map(|at| nodes.join(options.folder_name(at)))
                .collect(),
            notary_database: None,
            links,
            database: None,
            root,
            temporary,
        };
        if options.notary_workers > 0 {
            network.add_notary_database(options.notary_backend)?;
        }
        if options.database {
            network.add_database(options.database_link)?;
        }
        if let Some(ports) = standby {
            let first = &network.banks[0];
            let folder = nodes.join(format!("{}-standby", options.folder_name(1)));
            let program = first.process.program().clone();
            network.standby = Some(Standby::new(&first.folder, &folder, program, ports)?);
        }
        Ok(network)
    }

    /// Starts a database server, and configures every node to use it.
    fn add_database(&mut self, link: bool) -> Result<(), NetworkError> {
        let database = NetworkDatabase::start(link)?;
        for member in self.members_mut() {
            database.configure(&member.folder, &mut member.config)?;
        }
        self.database = Some(database);
        Ok(())
    }

    /// Starts the database of a replicated notary, and configures its workers to use it.
    fn add_notary_database(&mut self, backend: NotaryBackend) -> Result<(), NetworkError> {
        let database = NotaryDatabase::start(backend)?;
        let workers = std::iter::once(&mut self.notary).chain(&mut self.workers);
        for member in workers {
            database.configure(&member.folder, &mut member.config)?;
        }
        self.notary_database = Some(database);
        Ok(())
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

    /// Returns a member's folder.
    pub fn folder(&self, who: Who) -> &Path {
        &self.member(who).folder
    }

    /// Returns the folder of a member's data: ledger, vault view, everything that grows.
    pub fn data(&self, who: Who) -> PathBuf {
        self.folder(who).join(DATA)
    }

    /// Returns the folder within a member's data with the log of its store, which has a bounded size.
    pub fn store_log(&self, who: Who) -> PathBuf {
        self.data(who).join(STORE_LOG)
    }

    /// Returns a member's log file.
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

    /// Returns the bytes on disk, over all members.
    pub fn disk_use(&self) -> Result<DiskUse, NetworkError> {
        let mut sum = match &self.database {
            Some(database) => database.disk_use()?,
            None => DiskUse::default(),
        };
        if let Some(database) = &self.notary_database {
            let part = database.disk_use()?;
            sum.live_bytes += part.live_bytes;
            sum.allocated_bytes += part.allocated_bytes;
        }
        for who in self.everybody() {
            let folder = self.data(who);
            let part = DiskUse::of(&folder)
                .map_err(|source| system(&folder.display().to_string(), source))?;
            sum.live_bytes += part.live_bytes;
            sum.allocated_bytes += part.allocated_bytes;
        }
        Ok(sum)
    }

    /// Returns a member's API with its bootstrapped token: at both addresses, if it has a second process.
    pub fn endpoint(&self, who: Who) -> Result<Endpoint, NetworkError> {
        let member = self.member(who);
        let read = |name: &str| {
            let path = member.folder.join(name);
            fs::read_to_string(&path).map_err(|source| system(&path.display().to_string(), source))
        };
        let mut address = format!("127.0.0.1:{}", member.api_port);
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

    /// Returns a member's process id while it runs.
    pub fn pid(&self, who: Who) -> Option<u32> {
        self.member(who).process.pid()
    }

    /// Returns the peak resident memory of the largest process, in megabytes (10^6); 0 if none runs.
    pub fn rss_mb_max(&self) -> f64 {
        let running = self.everybody().into_iter().filter_map(|who| self.pid(who));
        let peaks = running.filter_map(|pid| ProcessReading::of(pid).ok());
        let largest = peaks.map(|reading| reading.rss_peak_bytes).max();
        largest.unwrap_or(0) as f64 / 1e6
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

    fn members_mut(&mut self) -> impl Iterator<Item = &mut Member> {
        std::iter::once(&mut self.notary)
            .chain(&mut self.banks)
            .chain(&mut self.workers)
    }
}

/// Starts a proxy in front of each node.
fn links(ports: &[u16], pids: &[Arc<AtomicU32>]) -> std::io::Result<Links> {
    let nodes = ports.chunks_exact(2).zip(pids);
    let behind = nodes.map(|(pair, pid)| Behind {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, pair[0])),
        pid: Arc::clone(pid),
    });
    Links::start(behind.collect())
}

impl Drop for Network {
    /// During a panic, prints the end of each process's log.
    fn drop(&mut self) {
        if std::thread::panicking() {
            for member in self.members_mut() {
                eprintln!(
                    "--- the end of {}\n{}",
                    member.process.log().display(),
                    tail(member.process.log())
                );
            }
        }
    }
}
