//! Makes the folders of a network, or adds nodes to it.

use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use ledger::{LegalName, NodeInfo, NotaryInfo, Party};
use primitives::{Hash, KeyPair, Scheme, Seed};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use store::CustodyKey;

use super::authority::{Authority, random_seed, read_seed, seed_text};
use super::documents::{Documents, PARAMETERS};
use super::error::BootstrapError;
use super::files::{
    AUTHORITY, CHAIN, CONFIG, IDENTITY, NETWORK_KEY, ROOT, TLS_KEY, TOKEN, create, default_data,
    file, ledger_custody, read, read_secret, remove, service_key_file, write, write_secret,
};
use super::ports::Ports;
use super::spec::{NetworkSpec, NodeSpec};
use super::validity::{RENEWED_DAYS, days_left, not_after};
use crate::config::{ConfigError, ConfigKind, NodeConfig, read_toml};
use crate::users::{FILE as USERS, UsersFile};

/// The version of the protocols that this software speaks.
pub const PLATFORM_VERSION: u32 = 1;

/// The result of a bootstrap.
#[derive(Clone, Debug)]
pub struct Bootstrapped {
    /// The nodes, in the order of the network description.
    pub nodes: Vec<BootstrappedNode>,
    /// Whether a network that was there before has other nodes or parameters now. Its nodes learn of them at a start.
    pub is_map_changed: bool,
}

/// One node's folder.
#[derive(Clone, Debug)]
pub struct BootstrappedNode {
    /// The party of the node.
    pub party: Party,
    /// Its folder.
    pub dir: PathBuf,
    /// The listening address for other nodes.
    pub address: SocketAddr,
    /// The listening address for clients.
    pub api: SocketAddr,
    /// Whether the party was there before, by its configuration or in the network's documents.
    pub existed: bool,
    /// Whether the party was there before, and its configuration was missing and is made again.
    pub configured_again: bool,
    /// Whether a certificate that the folder had was replaced, with its key.
    pub renewed: bool,
    /// The notary it is, if it is one.
    pub notary: Option<NotaryInfo>,
}

/// Makes a network, or adds the new parts of the description to it. Existing keys, certificates, tokens and configurations stay.
/// Nodes that the description leaves out stay in the network.
///
/// # Errors
/// A description that cannot be carried out is refused before anything is written: because of a folder of another node or
/// network, or because it contradicts a folder. A folder that an interrupted run left unfinished is finished.
pub fn bootstrap(spec: &NetworkSpec, out: &Path) -> Result<Bootstrapped, BootstrapError> {
    spec.check()?;
    refuse_conflicts(spec, out)?;
    let signed = Authority::signed(out)?;
    let authority = Authority::open(out, spec.root_days)?;
    let folder = out.join(AUTHORITY);
    let mut taken = taken_ports(spec, out)?;
    // Also those of parties that the description leaves out.
    let others = signed.iter().flat_map(|signed| signed.nodes.values());
    let addresses = others.flat_map(|info| &info.addresses);
    let ports_of = addresses.filter_map(|address| address.rsplit_once(':')?.1.parse::<u16>().ok());
    taken.extend(ports_of);
    let mut ports = Ports::without(taken)?;
    let mut nodes = Vec::with_capacity(spec.nodes.len());
    let mut infos = Vec::with_capacity(spec.nodes.len());
    for node in &spec.nodes {
        let (made, info) = make_node(
            node,
            signed.as_ref(),
            spec.certificate_days,
            out,
            &authority,
            &mut ports,
        )?;
        nodes.push(made);
        infos.push(info);
    }
    let documents = Documents::renew(signed.clone(), spec, infos, &folder)?;
    for dir in folders(out)? {
        documents.write(&dir, authority.documents())?;
    }
    // Written last: by now every node has the documents.
    documents.write(&folder, authority.documents())?;
    let is_map_changed = signed.is_some_and(|old| old != documents);
    Ok(Bootstrapped {
        nodes,
        is_map_changed,
    })
}

/// The nodes' folders.
fn folders(out: &Path) -> Result<Vec<PathBuf>, BootstrapError> {
    let entries = match fs::read_dir(out) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(file(out)(error)),
    };
    let mut folders = Vec::new();
    for entry in entries {
        let path = entry.map_err(file(out))?.path();
        if path.join(CONFIG).exists() && path.join(ROOT).exists() {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}

/// Refuses conflicting folders before anything is written.
fn refuse_conflicts(spec: &NetworkSpec, out: &Path) -> Result<(), BootstrapError> {
    let mismatched =
        |path: PathBuf, message: String| Err(BootstrapError::Mismatched { path, message });
    let mut known = folders(out)?;
    // A folder that has lost its configuration still shows its network.
    let described = spec.nodes.iter().map(|node| out.join(node.folder()));
    known.extend(described.filter(|dir| is_of_a_network(dir)));
    Authority::refuse_lost(out)?;
    if !Authority::exists(out) {
        if let Some(node) = known.first() {
            let message =
                "this node's network has its root elsewhere: the folder network-root is missing";
            return mismatched(node.clone(), message.to_owned());
        }
    } else {
        let root = read(&out.join(AUTHORITY).join(ROOT))?;
        for node in &known {
            if node.join(ROOT).exists() && read(&node.join(ROOT))? != root {
                return mismatched(node.join(ROOT), "it is another network's root".to_owned());
            }
        }
    }
    let signed = Authority::signed(out)?;
    for node in &spec.nodes {
        let dir = out.join(node.folder());
        let listed = signed
            .as_ref()
            .and_then(|signed| signed.nodes.get(&node.name.party_id()));
        refuse_another_key(&dir, &node.name, listed)?;
        let path = dir.join(CONFIG);
        if path.exists() {
            let config = NodeConfig::read(&path)?;
            if config.node.name != node.name {
                let message = format!("it belongs to {}, not to {}", config.node.name, node.name);
                return mismatched(path, message);
            }
            if config.notary.map(|notary| notary.validating) != node.notary_kind() {
                let message = "the section [notary] and the description disagree about whether this is a notary, and of what kind";
                return mismatched(path, message.to_owned());
            }
        } else if listed.is_some_and(|info| {
            info.notary.as_ref().map(|notary| notary.validating) != node.notary_kind()
        }) {
            let message = "the network's documents and the description disagree about whether this is a notary, and of what kind";
            return mismatched(path, message.to_owned());
        }
        let service = |info: &NodeInfo| Some(info.notary.as_ref()?.service.as_ref()?.name.clone());
        if listed.is_some_and(|info| service(info) != node.service) {
            let message = "the network's documents and the description disagree about the notary that this node works for";
            return mismatched(path, message.to_owned());
        }
        if !path.exists() && is_occupied(&dir)? {
            return Err(BootstrapError::Occupied { path: dir });
        }
    }
    Ok(())
}

/// Returns whether a folder has a document of a network.
fn is_of_a_network(dir: &Path) -> bool {
    let mut documents = [ROOT, NETWORK_KEY, PARAMETERS].into_iter();
    documents.any(|name| dir.join(name).exists())
}

/// Refuses a party that exists, by its folder or in the signed documents, and whose key is missing or another one.
fn refuse_another_key(
    dir: &Path,
    name: &LegalName,
    listed: Option<&NodeInfo>,
) -> Result<(), BootstrapError> {
    let path = dir.join(IDENTITY);
    if !path.exists() {
        let exists = listed.is_some() || dir.join(CONFIG).exists() || dir.join(CHAIN).exists();
        return match exists {
            true => Err(BootstrapError::KeyLost {
                path,
                owner: name.to_string(),
            }),
            false => Ok(()),
        };
    }
    let key = KeyPair::from_seed(Scheme::Ed25519, *read_seed(&path)?.expose());
    match listed {
        Some(info) if info.party.key != *key.public() => Err(BootstrapError::Mismatched {
            path,
            message: format!("the key is not the one that the network's documents list for {name}"),
        }),
        _ => Ok(()),
    }
}

/// Returns whether a folder contains something that no bootstrap has written.
fn is_occupied(dir: &Path) -> Result<bool, BootstrapError> {
    if !dir.exists() || dir.join(IDENTITY).exists() {
        return Ok(false);
    }
    let mut entries = fs::read_dir(dir).map_err(file(dir))?;
    // An interrupted run leaves, at the earliest, an unfinished identity.
    Ok(entries.any(|entry| {
        entry.is_ok_and(|entry| !entry.file_name().to_string_lossy().ends_with(".new"))
    }))
}

/// Ports that the description and the folders name.
fn taken_ports(spec: &NetworkSpec, out: &Path) -> Result<BTreeSet<u16>, BootstrapError> {
    let mut taken = BTreeSet::new();
    for node in &spec.nodes {
        taken.extend(
            [node.address, node.api]
                .into_iter()
                .flatten()
                .map(|address| address.port()),
        );
    }
    for dir in folders(out)? {
        let config = NodeConfig::read(&dir.join(CONFIG))?;
        taken.extend([config.p2p.listen.port(), config.api.listen.port()]);
    }
    Ok(taken)
}

/// Returns whether a node's folder needs a certificate: it has none, or one that ends soon.
fn needs_certificate(dir: &Path) -> Result<bool, BootstrapError> {
    let path = dir.join(CHAIN);
    if !path.exists() || !dir.join(TLS_KEY).exists() {
        return Ok(true);
    }
    let own = CertificateDer::from_pem_slice(read(&path)?.as_bytes());
    // A damaged certificate is reported when the node starts.
    let end_s = own.ok().and_then(|own| not_after(&own));
    Ok(end_s.is_some_and(|end_s| days_left(end_s) < RENEWED_DAYS))
}

/// Fits the description of a node to its entry in the network's documents. A configuration that is made again for it then leaves
/// the network map as it is. A port or an advertised address in the description takes precedence.
fn as_listed(spec: &NodeSpec, listed: &NodeInfo) -> NodeSpec {
    let mut fitted = spec.clone();
    let has_port = spec.address.is_some_and(|address| address.port() != 0);
    if has_port || !spec.advertised.is_empty() {
        return fitted;
    }
    // Without an address, bootstrap chose one of this machine.
    let ip = spec
        .address
        .map_or(Ipv4Addr::LOCALHOST.into(), |address| address.ip());
    let first = listed
        .addresses
        .first()
        .and_then(|text| text.parse::<SocketAddr>().ok());
    match first {
        Some(address) if address.ip() == ip => fitted.address = Some(address),
        // The operator has set other addresses, and may have set another one to listen on.
        _ => fitted.advertised.clone_from(&listed.addresses),
    }
    fitted
}

/// Makes the missing files of a node's folder. `signed` are the documents that the network had before.
fn make_node(
    spec: &NodeSpec,
    signed: Option<&Documents>,
    certificate_days: u32,
    out: &Path,
    authority: &Authority,
    ports: &mut Ports,
) -> Result<(BootstrappedNode, NodeInfo), BootstrapError> {
    let listed = signed.and_then(|signed| signed.nodes.get(&spec.name.party_id()));
    let dir = out.join(spec.folder());
    let is_configured = dir.join(CONFIG).exists();
    // A first run that is cut short signs no documents.
    let existed = is_configured || listed.is_some();
    create(&dir)?;
    let identity_path = dir.join(IDENTITY);
    if !identity_path.exists() {
        write_secret(&identity_path, &seed_text(&random_seed()?))?;
    }
    // The list of an existing folder is never made again, because it may have been deleted.
    if !existed && !dir.join(USERS).exists() {
        UsersFile::init(&dir)?;
    }
    let identity_seed = read_seed(&identity_path)?;
    let identity = KeyPair::from_seed(Scheme::Ed25519, *identity_seed.expose());
    let party = Party {
        name: spec.name.clone(),
        key: identity.public().clone(),
    };
    // Without the signed state of a store, a later start cannot tell a lost one from a new one.
    expect_store(&dir, existed, &identity_seed)?;
    let needs = needs_certificate(&dir)?;
    let renewed = needs && existed;
    if needs {
        let names = &spec.host_names;
        let (chain, key) = authority.certify(&spec.name, &party.id(), names, certificate_days)?;
        // A run that is cut short from here on leaves no certificate, and the next one makes it.
        remove(&dir.join(CHAIN))?;
        write_secret(&dir.join(TLS_KEY), &key)?;
        write(&dir.join(CHAIN), chain.as_bytes())?;
    }
    let token_path = dir.join(TOKEN);
    // The configuration holds the token's hash: to one that is there, a new token would mean nothing.
    if !is_configured && !token_path.exists() {
        write_secret(&token_path, &seed_text(&random_seed()?))?;
    }
    for (name, text) in [
        (NETWORK_KEY, authority.documents_text()),
        (ROOT, authority.root_pem().to_owned()),
    ] {
        if !dir.join(name).exists() {
            write(&dir.join(name), text.as_bytes())?;
        }
    }
    let config_path = dir.join(CONFIG);
    let config = if is_configured {
        NodeConfig::read(&config_path)?
    } else {
        let token = read_secret(&token_path)?;
        let sha256 = Hash::plain(token.expose().trim().as_bytes()).to_string();
        let spec = listed.map_or_else(|| spec.clone(), |listed| as_listed(spec, listed));
        let (address, api) = (ports.choose(spec.address)?, ports.choose(spec.api)?);
        let text = config_text(&spec, &sha256, address, api)?;
        let config = NodeConfig::parse(&text, &config_path)?;
        write(&config_path, text.as_bytes())?;
        config
    };
    let service = spec.service.as_ref();
    let service = service.map(|name| service_party(name, &dir, signed, out));
    let service = service.transpose()?;
    let info = NodeInfo {
        party: party.clone(),
        addresses: addresses(&config)?,
        platform_version: PLATFORM_VERSION,
        serial: 0,
        notary: config.notary.map(|notary| NotaryInfo {
            validating: notary.validating,
            service,
        }),
    };
    let (address, api) = (config.p2p.listen, config.api.listen);
    Ok((
        BootstrappedNode {
            party,
            dir,
            address,
            api,
            existed,
            configured_again: existed && !is_configured,
            renewed,
            notary: info.notary.clone(),
        },
        info,
    ))
}

/// Returns the party of a replicated notary, whose key each of its workers has. The first worker makes the key, and the others copy it.
///
/// # Errors
/// The network has the notary already, and no folder here has its key.
fn service_party(
    name: &LegalName,
    dir: &Path,
    signed: Option<&Documents>,
    out: &Path,
) -> Result<Party, BootstrapError> {
    let file_name = service_key_file(&name.party_id());
    let path = dir.join(&file_name);
    if !path.exists() {
        let others = folders(out)?
            .into_iter()
            .map(|other| other.join(&file_name));
        let mut found = others.into_iter().find(|other| other.exists());
        if found.is_none() {
            // A notary of its own becomes the service: its key stays the one that transactions name.
            for other in folders(out)? {
                if NodeConfig::read(&other.join(CONFIG))?.node.name == *name {
                    found = Some(other.join(IDENTITY));
                }
            }
        }
        let seed = match found {
            Some(other) => read_seed(&other)?,
            None if signed.is_some_and(|signed| signed.has_notary(name)) => {
                return Err(BootstrapError::KeyLost {
                    path,
                    owner: name.to_string(),
                });
            }
            None => random_seed()?,
        };
        write_secret(&path, &seed_text(&seed))?;
    }
    let key = KeyPair::from_seed(Scheme::Ed25519, *read_seed(&path)?.expose());
    Ok(Party::new(name.clone(), key.public().clone()))
}

/// Lets the first start of a new node make its store. A party that was there before, or a folder that has data, is not new.
fn expect_store(dir: &Path, existed: bool, seed: &Seed) -> Result<(), BootstrapError> {
    let custody = ledger_custody(dir, &default_data(dir), CustodyKey::derive(seed.expose()));
    if existed || custody.anchor.exists() || default_data(dir).exists() {
        return Ok(());
    }
    custody.expect_new_store().map_err(file(&custody.anchor))
}

/// Returns the addresses at which other nodes reach a node.
fn addresses(config: &NodeConfig) -> Result<Vec<String>, BootstrapError> {
    if !config.p2p.advertised.is_empty() {
        return Ok(config.p2p.advertised.clone());
    }
    if config.p2p.listen.ip().is_unspecified() {
        let message = format!(
            "{} listens on all addresses, and has no 'advertised'",
            config.node.name
        );
        let hint =
            "Say with 'advertised = [\"host:port\"]' in that [[node]] where other nodes find it.";
        return Err(BootstrapError::description(message, hint));
    }
    Ok(vec![config.p2p.listen.to_string()])
}

impl NetworkSpec {
    /// Reads and checks a description.
    pub fn read(path: &Path) -> Result<Self, BootstrapError> {
        let read = read_toml(path).map_err(|error| error.in_file(ConfigKind::Network));
        let spec: NetworkSpec = read?;
        spec.check()?;
        for node in &spec.nodes {
            check_config(node, path)?;
        }
        Ok(spec)
    }
}

/// Checks the sections that the description `path` adds to a node's configuration.
///
/// # Errors
/// A field is unknown or has a bad value. The error names the description, not the configuration that is made of it.
fn check_config(spec: &NodeSpec, path: &Path) -> Result<(), BootstrapError> {
    // Any port stands for one that is chosen later.
    let with_port = |wanted: Option<SocketAddr>, port: u16| match wanted {
        Some(address) if address.port() != 0 => address,
        Some(address) => (address.ip(), port).into(),
        None => (Ipv4Addr::LOCALHOST, port).into(),
    };
    let (address, api) = (with_port(spec.address, 1), with_port(spec.api, 2));
    let text = config_text(spec, &Hash::ZERO.to_string(), address, api)?;
    let Err(error) = NodeConfig::parse(&text, path) else {
        return Ok(());
    };
    let of_node = |message: &str| format!("the config of {}: {message}", spec.name);
    Err(BootstrapError::Config(match error {
        ConfigError::Invalid {
            path,
            message,
            kind,
        } => {
            let message = without_line(&message);
            ConfigError::Invalid {
                path,
                message: of_node(&message),
                kind,
            }
        }
        ConfigError::OutOfRange {
            path,
            field,
            message,
        } => ConfigError::OutOfRange {
            path,
            field,
            message: format!("{message} (the config of {})", spec.name),
        },
        error => error,
    }))
}

/// Removes the line and the column, which are those of the configuration that was made, from the text of an error.
fn without_line(message: &str) -> String {
    let Some((place, fault)) = message.split_once(": ") else {
        return message.to_owned();
    };
    if !place.starts_with("line ") {
        return message.to_owned();
    }
    match place.split_once('(') {
        Some((_, field)) => format!("{}: {fault}", field.trim_end_matches(')')),
        None => fault.to_owned(),
    }
}

/// Returns the text of a new node's configuration.
fn config_text(
    spec: &NodeSpec,
    token_sha256: &str,
    address: SocketAddr,
    api: SocketAddr,
) -> Result<String, BootstrapError> {
    const HINT: &str = "Write the node's config as sections of node.toml, such as [node.config.limits]; docs/reference/config.md lists them.";
    let failed = |what: String| BootstrapError::description(format!("{}: {what}", spec.name), HINT);
    let mut table = spec.config.clone();
    let mut set = |section: &str, key: &str, value: toml::Value| {
        let entry = table
            .entry(section)
            .or_insert_with(|| toml::Value::Table(toml::Table::new()));
        let section_table = entry.as_table_mut();
        let section_table =
            section_table.ok_or_else(|| failed(format!("config.{section} is no section")))?;
        section_table.insert(key.to_owned(), value);
        Ok::<(), BootstrapError>(())
    };
    set("node", "name", spec.name.to_string().into())?;
    set("p2p", "listen", address.to_string().into())?;
    if !spec.advertised.is_empty() {
        set("p2p", "advertised", spec.advertised.clone().into())?;
    }
    set("api", "listen", api.to_string().into())?;
    let mut entry = toml::Table::new();
    entry.insert("user".to_owned(), "operator".into());
    entry.insert("sha256".to_owned(), token_sha256.into());
    set("api", "tokens", vec![entry].into())?;
    if spec.notary {
        let entry = table
            .entry("notary")
            .or_insert_with(|| toml::Value::Table(toml::Table::new()));
        if spec.validating {
            let section = entry.as_table_mut();
            let section =
                section.ok_or_else(|| failed("config.notary is no section".to_owned()))?;
            section.insert("validating".to_owned(), true.into());
        }
    } else if table.contains_key("notary") {
        return Err(BootstrapError::description(
            format!("{}: config.notary without 'notary = true'", spec.name),
            "Add 'notary = true' to that [[node]], or remove its config.notary.",
        ));
    }
    let text = toml::to_string(&table).map_err(|error| failed(error.to_string()))?;
    Ok(format!("# Every field: docs/reference/config.md\n\n{text}"))
}
