//! The folders of a test network: a genesis, and a folder for each server.
//!
//! ```text
//!   OUT/genesis.toml      what all begin with
//!   OUT/network-root/     certifies the servers' APIs; keep it away from them
//!   OUT/server1/ ..       chain.toml genesis.toml root.pem tls.pem tls.key.pem identity.key api-token
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use chain::bundle::{BundlerRate, BundlerRules};
use chain::genesis::{BalanceSpec, ChainSpec, GenesisSpec, ParamsOverrides};
use chain::{AccountId, ChainId, MinorUnits, Percent, Seconds};
use ledger::LegalName;
use primitives::{Hash, SecretText};

use super::config::{ApiSection, BundlerEntry, ChainConfig, ForgingSection};
use super::files::{CONFIG, GENESIS, chain_custody, load_chain_dir};
use super::keys;
use super::start_error::ChainStartError;
use crate::bootstrap::BootstrapError;
use crate::bootstrap::authority::{Authority, random_seed, seed_text};
use crate::bootstrap::files::{
    CHAIN, IDENTITY, ROOT, TLS_KEY, TOKEN, create, default_data, file, write, write_secret,
};
use crate::bootstrap::ports::Ports;
use crate::bootstrap::spec::root_days;
use crate::config::{TokenEntry, parse_toml};

/// Servers of a test network at most.
pub const SERVERS_MAX: usize = 64;
/// Ports of an address.
const PORTS: usize = 1 << 16;
/// Test accounts: the passphrases `0` to `9`, more if there are more servers.
const ACCOUNTS: usize = 10;
/// Whole tokens of each chain that an account begins with.
const TOKENS_EACH: u64 = 100_000_000;
/// The parent chain, then its children: name, symbol, decimals.
const CHAINS: [(&str, &str, u8); 5] = [
    ("Tally", "TLY", 8),
    ("Amber", "AMB", 8),
    ("Basalt", "BAS", 4),
    ("Cobalt", "COB", 8),
    ("Dolomite", "DOL", 8),
];

/// The profile of load tests, whose nodes are set as the published load test's were.
const LOADTEST: &str = "loadtest";

/// The description of a test network to make.
#[derive(Clone, Debug)]
pub struct NetworkPlan {
    /// Its name.
    pub network: String,
    /// The profile of its constants: `production` or `loadtest`.
    pub profile: String,
    /// Seconds a block, if not the profile's.
    pub block_seconds: Option<u32>,
    /// The number of servers.
    pub servers: usize,
    /// The listening addresses.
    pub ip: IpAddr,
    /// The first of their ports, two for each; free ones if left out.
    pub first_port: Option<u16>,
    /// Milliseconds since the Unix epoch at which its time begins.
    pub time_ms: u64,
}

/// A folder that was made.
#[derive(Clone, Debug)]
pub struct MadeServer {
    /// Its name.
    pub name: String,
    /// The folder.
    pub dir: PathBuf,
    /// The address for peers.
    pub p2p: SocketAddr,
    /// The address for clients.
    pub api: SocketAddr,
    /// The passphrases that forge on it, and their accounts.
    pub accounts: Vec<(SecretText, AccountId)>,
}

/// Makes a test network in a folder that does not hold one yet.
///
/// # Errors
/// The plan makes no network, there is one already, or a file can't be written.
pub fn make_network(plan: &NetworkPlan, out: &Path) -> Result<Vec<MadeServer>, ChainStartError> {
    if plan.servers == 0 || plan.servers > SERVERS_MAX {
        let text = format!("{} servers; 1 to {SERVERS_MAX} can be", plan.servers);
        let hint = "Give a number of servers in this range with --servers.";
        return Err(BootstrapError::description(text, hint).into());
    }
    let ports_count = 2 * plan.servers;
    if let Some(first) = plan.first_port
        && usize::from(first) + ports_count > PORTS
    {
        let text = format!(
            "the network needs {ports_count} ports from port {first} on; the last one is 65535"
        );
        let hint = "Give a lower port with --first-port, or leave it out.";
        return Err(BootstrapError::description(text, hint).into());
    }
    let genesis_path = out.join(GENESIS);
    if genesis_path.exists() {
        return Err(ChainStartError::Exists(genesis_path));
    }
    let passphrases: Vec<SecretText> = (0..ACCOUNTS.max(plan.servers))
        .map(|n| n.to_string().into())
        .collect();
    let spec = genesis_spec(plan, &passphrases);
    spec.build().map_err(|rejection| ChainStartError::Genesis {
        path: genesis_path.clone(),
        rejection,
    })?;
    let genesis_text = text_of("The network's genesis: all nodes have the same.", &spec)?;
    create(out)?;
    let authority = Authority::open(out, root_days())?;
    let mut ports = Ports::without(BTreeSet::new())?;
    let mut addresses = Vec::with_capacity(plan.servers);
    for server in 0..plan.servers {
        let mut choose = |at: usize| {
            // The ports were counted above.
            let port = plan.first_port.map_or(0, |first| first + at as u16);
            ports.choose(Some(SocketAddr::new(plan.ip, port)))
        };
        addresses.push((choose(2 * server)?, choose(2 * server + 1)?));
    }
    let seeds: Vec<SocketAddr> = addresses.iter().map(|(p2p, _)| *p2p).collect();
    let mut made = Vec::with_capacity(plan.servers);
    for (at, (p2p, api)) in addresses.into_iter().enumerate() {
        let name = format!("server{}", at + 1);
        let dir = out.join(&name);
        create(&dir)?;
        let legal: LegalName = format!("O=Server {}, L=Chain, C=GB", at + 1)
            .parse()
            .map_err(|error| BootstrapError::description(format!("{error}"), "Report this."))?;
        let names = [plan.ip.to_string()];
        // Servers of a test network are made once, so their certificates last as long as the root.
        let (chain, key) = authority.certify(&legal, &legal.party_id(), &names, root_days())?;
        let token = seed_text(&random_seed()?);
        write_secret(&dir.join(TLS_KEY), &key)?;
        write(&dir.join(CHAIN), chain.as_bytes())?;
        write(&dir.join(ROOT), authority.root_pem().as_bytes())?;
        let seed = random_seed()?;
        write_secret(&dir.join(IDENTITY), &seed_text(&seed))?;
        let custody = chain_custody(&dir, &default_data(&dir), &seed);
        custody.expect_new_store().map_err(file(&custody.anchor))?;
        write_secret(&dir.join(TOKEN), &token)?;
        write(&dir.join(GENESIS), genesis_text.as_bytes())?;
        let own: Vec<SecretText> = passphrases
            .iter()
            .skip(at)
            .step_by(plan.servers)
            .cloned()
            .collect();
        let config = config_of(&name, (p2p, api), &seeds, &own, (&plan.profile, &token))?;
        let text = text_of("Every field: docs/reference/chain-config.md", &config)?;
        // It holds passphrases that forge.
        write_secret(&dir.join(CONFIG), &text.into())?;
        let accounts = own.into_iter().map(|passphrase| {
            let account = account_of(&passphrase);
            (passphrase, account)
        });
        made.push(MadeServer {
            name,
            p2p,
            api,
            accounts: accounts.collect(),
            dir,
        });
    }
    // Last: a folder with a genesis is a whole network.
    write(&genesis_path, genesis_text.as_bytes())?;
    for server in &made {
        load_chain_dir(&server.dir)?;
    }
    Ok(made)
}

fn account_of(passphrase: &SecretText) -> AccountId {
    keys::account_of(&chain::key_of_passphrase(passphrase.expose()))
}

fn genesis_spec(plan: &NetworkPlan, passphrases: &[SecretText]) -> GenesisSpec {
    let chains = CHAINS
        .iter()
        .enumerate()
        .map(|(at, (name, symbol, decimals))| ChainSpec {
            id: ChainId(at as u8 + 1),
            name: (*name).to_owned(),
            symbol: (*symbol).to_owned(),
            decimals: *decimals,
        });
    let amounts: BTreeMap<String, MinorUnits> = CHAINS
        .iter()
        .map(|(_, symbol, decimals)| {
            let amount = TOKENS_EACH * 10u64.pow(u32::from(*decimals));
            ((*symbol).to_owned(), MinorUnits::new(amount))
        })
        .collect();
    GenesisSpec {
        network: plan.network.clone(),
        time_ms: plan.time_ms,
        profile: plan.profile.clone(),
        params: ParamsOverrides {
            block_seconds: plan.block_seconds.map(Seconds::new),
            ..ParamsOverrides::default()
        },
        chains: chains.collect(),
        balances: passphrases
            .iter()
            .map(|passphrase| BalanceSpec {
                passphrase: Some(passphrase.clone()),
                amounts: amounts.clone(),
                ..BalanceSpec::default()
            })
            .collect(),
    }
}

/// A server's settings: its accounts forge, the first of them bundles all child chains.
fn config_of(
    name: &str,
    (p2p, api): (SocketAddr, SocketAddr),
    seeds: &[SocketAddr],
    own: &[SecretText],
    (profile, token): (&str, &SecretText),
) -> Result<ChainConfig, ChainStartError> {
    let text = format!(
        "[node]\nname = \"{name}\"\n[p2p]\nlisten = \"{p2p}\"\n[api]\nlisten = \"{api}\"\n"
    );
    let mut config: ChainConfig = parse_toml(&text, Path::new(CONFIG))?;
    config.p2p.seeds = seeds.iter().filter(|seed| **seed != p2p).copied().collect();
    if profile == LOADTEST {
        // As in the published load test.
        config.pool.transactions_max = 36_000;
        config.p2p.ban_s = 60;
    }
    config.api = ApiSection {
        tokens: vec![TokenEntry {
            user: "operator".into(),
            sha256: Hash::plain(token.expose().as_bytes()).to_string(),
        }],
        allow_server_signing: true,
        ..config.api
    };
    config.forging = ForgingSection {
        passphrases: own.to_vec(),
        ..ForgingSection::default()
    };
    let children = CHAINS.iter().enumerate().skip(1);
    config.bundlers = children
        .map(|(at, (_, _, decimals))| BundlerEntry {
            key_file: None,
            passphrase: own.first().cloned(),
            rules: BundlerRules {
                child: ChainId(at as u8 + 1),
                // One token of the child for one of the parent.
                rate_min: BundlerRate::one_for_one(*decimals)
                    .expect("the decimals of these chains are few"),
                overpay_percent: Percent::ZERO,
                total_fee_max: None,
                senders: Vec::new(),
                recipients: Vec::new(),
                purpose: String::new(),
            },
        })
        .collect();
    Ok(config)
}

fn text_of(head: &str, value: &impl serde::Serialize) -> Result<String, ChainStartError> {
    let text = toml::to_string(value)
        .map_err(|error| BootstrapError::description(error.to_string(), "Report this."))?;
    Ok(format!("# {head}\n\n{text}"))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn ports_beyond_the_last_one_are_refused() {
        let plan = NetworkPlan {
            network: "test".to_owned(),
            profile: LOADTEST.to_owned(),
            block_seconds: None,
            servers: 2,
            ip: Ipv4Addr::LOCALHOST.into(),
            first_port: Some(u16::MAX - 2),
            time_ms: 0,
        };
        let made = make_network(&plan, Path::new("refused before anything is written"));
        let error = made.expect_err("the fourth port is beyond the last one");
        assert!(error.to_string().contains("needs 4 ports"), "{error}");
    }
}
