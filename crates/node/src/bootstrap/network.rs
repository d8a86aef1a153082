//! Making the folders.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ledger::{NetworkParameters, NodeInfo, NotaryInfo, Party, SignedDocument};
use primitives::{Encode, Hash, KeyPair, Scheme, Timestamp, hex};

use super::authority::{Authority, folder, random_seed, read_seed};
use super::error::BootstrapError;
use super::files::{
    CHAIN, CONFIG, IDENTITY, NETWORK_KEY, NODES, PARAMETERS, ROOT, TLS_KEY, TOKEN, create, read,
    write, write_secret,
};
use super::spec::{NetworkSpec, NodeSpec};
use crate::config::NodeConfig;

/// The version of the protocols that this software speaks.
pub const PLATFORM_VERSION: u32 = 1;

/// What was made.
#[derive(Clone, Debug)]
pub struct Bootstrapped {
    /// In the order of the description.
    pub nodes: Vec<BootstrappedNode>,
}

/// One node's folder.
#[derive(Clone, Debug)]
pub struct BootstrappedNode {
    /// Who it is.
    pub party: Party,
    /// Its folder.
    pub dir: PathBuf,
    /// Where other nodes find it.
    pub address: SocketAddr,
    /// Where clients find it.
    pub api: SocketAddr,
    /// Whether the folder was there before.
    pub existed: bool,
}

/// Makes a network, or adds to it what is new in the description.
pub fn bootstrap(spec: &NetworkSpec, out: &Path) -> Result<Bootstrapped, BootstrapError> {
    let authority = Authority::open(&folder(out))?;
    let mut nodes = Vec::with_capacity(spec.nodes.len());
    // Held until all ports are chosen, so that none is chosen twice.
    let mut held = Vec::new();
    for node in &spec.nodes {
        nodes.push(make_node(node, out, &authority, &mut held)?);
    }
    drop(held);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let now = Timestamp::from_ms(u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
    let infos = spec.nodes.iter().zip(&nodes).map(|(spec, made)| NodeInfo {
        party: made.party.clone(),
        addresses: vec![made.address.to_string()],
        platform_version: PLATFORM_VERSION,
        serial: now.as_ms(),
        notary: spec.notary.then_some(NotaryInfo { validating: false }),
    });
    let infos: Vec<NodeInfo> = infos.collect();
    let notaries = infos.iter().filter(|info| info.notary.is_some());
    let notaries = notaries.map(|info| info.party.clone()).collect();
    let mut parameters = NetworkParameters::new(notaries, now);
    if let Some(bytes) = spec.max_message_bytes {
        parameters.max_message_bytes = bytes;
    }
    if let Some(bytes) = spec.max_transaction_bytes {
        parameters.max_transaction_bytes = bytes;
    }
    let key = authority.documents();
    let signed = SignedDocument::sign(&parameters, key).to_bytes();
    for made in &nodes {
        write(&made.dir.join(PARAMETERS), &signed)?;
        for info in &infos {
            let path = made.dir.join(NODES).join(info.party.id().to_string());
            write(&path, &SignedDocument::sign(info, key).to_bytes())?;
        }
    }
    Ok(Bootstrapped { nodes })
}

fn make_node(
    spec: &NodeSpec,
    out: &Path,
    authority: &Authority,
    held: &mut Vec<TcpListener>,
) -> Result<BootstrappedNode, BootstrapError> {
    let dir = out.join(spec.folder());
    let existed = dir.join(CONFIG).exists();
    create(&dir.join(NODES))?;
    let identity_path = dir.join(IDENTITY);
    if !identity_path.exists() {
        write_secret(&identity_path, hex::encode(&random_seed()?).as_bytes())?;
    }
    let identity = KeyPair::from_seed(Scheme::Ed25519, read_seed(&identity_path)?);
    let party = Party {
        name: spec.name.clone(),
        key: identity.public().clone(),
    };
    if !dir.join(CHAIN).exists() {
        let (chain, key) = authority.certify(&spec.name, &party.id(), &spec.host_names)?;
        write_secret(&dir.join(TLS_KEY), key.as_bytes())?;
        write(&dir.join(CHAIN), chain.as_bytes())?;
    }
    write(&dir.join(ROOT), authority.root_pem().as_bytes())?;
    let trusted = hex::encode(&authority.documents().public().to_bytes());
    write(&dir.join(NETWORK_KEY), trusted.as_bytes())?;
    let token_path = dir.join(TOKEN);
    if !token_path.exists() {
        write_secret(&token_path, hex::encode(&random_seed()?).as_bytes())?;
    }
    let config_path = dir.join(CONFIG);
    if !config_path.exists() {
        let token = read(&token_path)?;
        let sha256 = Hash::plain(token.trim().as_bytes()).to_string();
        let text = config_text(spec, &sha256, held)?;
        write(&config_path, text.as_bytes())?;
    }
    let config = NodeConfig::read(&config_path)?;
    if config.node.name != spec.name {
        let message = format!("it belongs to {}, not to {}", config.node.name, spec.name);
        return Err(BootstrapError::Mismatched {
            path: config_path,
            message,
        });
    }
    let (address, api) = (config.p2p.listen, config.api.listen);
    Ok(BootstrappedNode {
        party,
        dir,
        address,
        api,
        existed,
    })
}

fn config_text(
    spec: &NodeSpec,
    token_sha256: &str,
    held: &mut Vec<TcpListener>,
) -> Result<String, BootstrapError> {
    let mut table = spec.config.clone();
    let mut set = |section: &str, key: &str, value: toml::Value| {
        let section = table
            .entry(section)
            .or_insert_with(|| toml::Value::Table(toml::Table::new()));
        if let Some(section) = section.as_table_mut() {
            section.insert(key.to_owned(), value);
        }
    };
    set("node", "name", spec.name.to_string().into());
    set(
        "p2p",
        "listen",
        chosen(spec.address, held)?.to_string().into(),
    );
    set("api", "listen", chosen(spec.api, held)?.to_string().into());
    let mut entry = toml::Table::new();
    entry.insert("user".to_owned(), "operator".into());
    entry.insert("sha256".to_owned(), token_sha256.into());
    set(
        "api",
        "tokens",
        toml::Value::Array(vec![toml::Value::Table(entry)]),
    );
    if spec.notary {
        table
            .entry("notary")
            .or_insert_with(|| toml::Value::Table(toml::Table::new()));
    }
    let text = toml::to_string(&table)
        .map_err(|error| BootstrapError::Description(format!("{}: {error}", spec.name)))?;
    Ok(format!("# Every field: docs/reference/config.md\n\n{text}"))
}

/// An address with a port of its own.
fn chosen(
    wanted: Option<SocketAddr>,
    held: &mut Vec<TcpListener>,
) -> Result<SocketAddr, BootstrapError> {
    let wanted = wanted.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, 0).into());
    if wanted.port() != 0 {
        return Ok(wanted);
    }
    let free = || {
        let listener = TcpListener::bind(wanted)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    let (listener, address) = free().map_err(|error: std::io::Error| {
        BootstrapError::Description(format!("no free port on {wanted}: {error}"))
    })?;
    held.push(listener);
    Ok(address)
}
