//! Makes a network: addresses, links, folders with keys and certificates, and the databases that it needs.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use pgserver::free_ports;
use tempfile::TempDir;

use super::config_file::{CONFIG_FILE, ConfigFile};
use super::database::NetworkDatabase;
use super::description::{NetworkOptions, legal_name};
use super::host::{Host, NodeFolder, RemoteFolders, two_addresses};
use super::link::{Behind, Links};
use super::network::{ANCHOR_FILE, Member, Network};
use super::network_error::{NetworkError, system};
use super::notary_database::{NotaryBackend, NotaryDatabase};
use super::process::NodeProcess;
use super::standby::{Standby, StandbyPorts, local};

impl Network {
    /// Creates keys, certificates and folders. Nothing runs yet.
    pub fn bootstrap(options: &NetworkOptions) -> Result<Self, NetworkError> {
        options.check()?;
        let (root, temporary) = root_of(options)?;
        let members = options.members();
        let hosts: Vec<Arc<dyn Host>> = (0..members).map(|at| options.host_of(at)).collect();
        let addresses = hosts.iter().map(|host| two_addresses(&**host));
        let addresses: Vec<[SocketAddr; 2]> = addresses.collect::<Result<_, _>>()?;
        let standby = standby_ports(options)?;
        // A link can identify a process as soon as it runs.
        let pids: Vec<Arc<AtomicU32>> = (0..members).map(|_| Arc::default()).collect();
        let links = match options.links {
            true => Some(links(&addresses, &pids).map_err(|source| system("links", source))?),
            false => None,
        };
        let advertised = advertised(options, &addresses, links.as_ref(), standby);
        let nodes = make_folders(options, &root, &addresses, &advertised)?;
        // Before the first file there, so that a failure leaves nothing behind.
        let remote = RemoteFolders::new(&hosts, &root);
        let mut made = Vec::with_capacity(options.nodes());
        for (at, host) in hosts.iter().enumerate().take(options.nodes()) {
            let folder = nodes.join(options.folder_name(at));
            let folder = NodeFolder::new(Arc::clone(host), &root, folder);
            let pid = Arc::clone(&pids[at]);
            made.push(member(options, at, folder, addresses[at][1], pid)?);
        }
        let workers = made.split_off(1 + options.banks.len());
        let banks = made.split_off(1);
        let mut network = Self {
            notary: made.remove(0),
            banks,
            workers,
            standby: None,
            requesters: (options.nodes()..members)
                .map(|at| nodes.join(options.folder_name(at)))
                .collect(),
            notary_database: None,
            links,
            database: None,
            _remote: remote,
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
            network.standby = Some(Standby::new(first.folder.here(), &folder, program, ports)?);
        }
        Ok(network)
    }

    /// Starts a database server, and configures every node to use it.
    fn add_database(&mut self, link: bool) -> Result<(), NetworkError> {
        let database = NetworkDatabase::start(link)?;
        for member in self.members_mut() {
            database.configure(member.folder.here(), &mut member.config)?;
        }
        self.database = Some(database);
        Ok(())
    }

    /// Starts the database of a replicated notary, and configures its workers to use it.
    fn add_notary_database(&mut self, backend: NotaryBackend) -> Result<(), NetworkError> {
        let database = NotaryDatabase::start(backend)?;
        let workers = std::iter::once(&mut self.notary).chain(&mut self.workers);
        for member in workers {
            database.configure(member.folder.here(), &mut member.config)?;
        }
        self.notary_database = Some(database);
        Ok(())
    }
}

/// Returns the folder of a network, which is temporary if the options name none.
fn root_of(options: &NetworkOptions) -> Result<(PathBuf, Option<TempDir>), NetworkError> {
    if let Some(folder) = &options.folder {
        return Ok((folder.clone(), None));
    }
    let folder = tempfile::Builder::new()
        .prefix("tally-")
        .tempdir()
        .map_err(|source| system("a temporary folder", source))?;
    Ok((folder.path().to_path_buf(), Some(folder)))
}

fn standby_ports(options: &NetworkOptions) -> Result<Option<StandbyPorts>, NetworkError> {
    if !options.standby {
        return Ok(None);
    }
    let two = free_ports(2).map_err(|source| system("free ports", source))?;
    Ok(Some(StandbyPorts {
        p2p: two[0],
        api: two[1],
    }))
}

/// Starts a proxy in front of each node.
fn links(addresses: &[[SocketAddr; 2]], pids: &[Arc<AtomicU32>]) -> std::io::Result<Links> {
    let behind = addresses.iter().zip(pids).map(|([p2p, _], pid)| Behind {
        address: *p2p,
        pid: Arc::clone(pid),
    });
    Links::start(behind.collect())
}

/// Returns the addresses at which the others reach each node: its link, else those of the options. The first bank also has
/// that of its standby.
fn advertised(
    options: &NetworkOptions,
    addresses: &[[SocketAddr; 2]],
    links: Option<&Links>,
    standby: Option<StandbyPorts>,
) -> Vec<Vec<String>> {
    let mut advertised = match links {
        Some(links) => {
            let addresses = links.addresses().iter();
            addresses.map(|link| vec![link.to_string()]).collect()
        }
        None => options.advertised.clone(),
    };
    if let Some(standby) = standby {
        advertised.resize(addresses.len(), Vec::new());
        let first = &mut advertised[1];
        if first.is_empty() {
            first.push(addresses[1][0].to_string());
        }
        first.push(local(standby.p2p).to_string());
    }
    advertised
}

/// Has `tally network bootstrap` make the folders of all members. Returns the folder that holds them.
fn make_folders(
    options: &NetworkOptions,
    root: &Path,
    addresses: &[[SocketAddr; 2]],
    advertised: &[Vec<String>],
) -> Result<PathBuf, NetworkError> {
    let description = root.join("NETWORK.toml");
    fs::write(&description, options.network_toml(addresses, advertised))
        .map_err(|source| system(&description.display().to_string(), source))?;
    let nodes = root.join("nodes");
    let output = Command::new(&options.binary)
        .args(["network", "bootstrap"])
        .arg(&description)
        .arg("--out")
        .arg(&nodes)
        .output()
        .map_err(|source| system(&options.binary.display().to_string(), source))?;
    match output.status.success() {
        true => Ok(nodes),
        false => Err(NetworkError::Bootstrap(
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )),
    }
}

/// Brings a node's folder to its host, and describes its process.
fn member(
    options: &NetworkOptions,
    at: usize,
    folder: NodeFolder,
    api: SocketAddr,
    pid: Arc<AtomicU32>,
) -> Result<Member, NetworkError> {
    let name = legal_name(&options.short_name(at));
    let anchor = folder.here().join(ANCHOR_FILE);
    let fresh_anchor =
        fs::read(&anchor).map_err(|source| system(&anchor.display().to_string(), source))?;
    folder.upload()?;
    let program = folder.program(name.clone(), &options.binary, &["node", "run"]);
    let process = NodeProcess::on(Arc::clone(folder.host()), program);
    Ok(Member {
        fresh_anchor,
        config: ConfigFile::read(&folder, CONFIG_FILE)?,
        process: process.noted_in(pid),
        name,
        folder,
        api,
    })
}
