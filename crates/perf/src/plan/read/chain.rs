//! `[chain]`.

use std::path::PathBuf;

use ::chain::genesis::DECIMALS_MAX;
use toml::Value;

use super::csv;
use crate::chain::{Chain, ChainId};
use crate::plan::chain::{
    Bundlers, ChainAccount, ChainPlan, ChainServers, chain, default_accounts, default_chains,
};
use crate::plan::checks::Checks;
use crate::plan::limits::{CHAIN_ACCOUNTS_MAX, CHAIN_NODES_MAX, CHAINS_MAX, SETTINGS_MAX};
use crate::plan::reader::{Reader, Section};
use crate::plan::tree::{Node, Tree};

/// The published values: four nodes, ten accounts, four child chains.
const NODES: u32 = 4;
const ACCOUNTS: u32 = 10;
const CHILDREN: u32 = 4;
/// Default seconds between blocks.
const BLOCK_S: u32 = 5;
/// Default seconds for the pool to empty.
const DRAIN_S: f64 = 120.0;
/// Default validity of a payment, in minutes.
const DEADLINE_MINUTES: u16 = 60;

pub(super) fn read(
    reader: &mut Reader<'_>,
    top: Section<'_>,
    checks: &dyn Checks,
) -> Option<ChainPlan> {
    let section = reader.sub(top, "chain")?;
    let why = "cannot be combined with `chain`, which says what runs";
    reader.forbid(top, &["network"], why);
    let target = target(reader, section);
    let servers = target.as_ref().map(|target| match target {
        ChainServers::Tally(folders) => folders.len(),
        ChainServers::Nxt { urls, .. } => urls.len(),
    });
    if target.is_some() {
        let why = "cannot be used with a target, because the laboratory does not own its nodes";
        let own = ["nodes", "profile", "settings", "history", "bundlers"];
        reader.forbid(section, &own, why);
    }
    let nodes = match servers {
        Some(servers) => u32::try_from(servers).expect("a list of bounded length"),
        None => reader.small(section, "nodes").unwrap_or(NODES),
    };
    let mut settings = std::collections::BTreeMap::new();
    for (name, entry) in reader.dotted(section, "settings", SETTINGS_MAX) {
        let value = entry.node.value();
        if let Err(message) = checks.chain_setting(&name, &value) {
            reader.wrong(entry.node.at, message);
        }
        settings.insert(name, value);
    }
    let plan = ChainPlan {
        nodes,
        block_s: reader.small(section, "block_s").unwrap_or(BLOCK_S),
        profile: reader
            .one_of(section, "profile")
            .unwrap_or("loadtest")
            .to_owned(),
        chains: chains(reader, section),
        accounts: accounts(reader, section, nodes),
        batch: reader.small(section, "batch").unwrap_or(1),
        waiting_max: reader.whole(section, "waiting_max"),
        bundlers: match reader.one_of(section, "bundlers") {
            Some("all") => Bundlers::All,
            _ => Bundlers::First,
        },
        history: reader.whole(section, "history").unwrap_or(0),
        drain_s: reader.number(section, "drain_s").unwrap_or(DRAIN_S),
        deadline_minutes: reader
            .small(section, "deadline_minutes")
            .map_or(DEADLINE_MINUTES, |minutes| {
                u16::try_from(minutes).expect("the range of the field fits into 16 bits")
            }),
        settings,
        target,
    };
    if let Err(message) = checks.chain(&plan) {
        reader.wrong(section.at, message);
    }
    Some(plan)
}

fn target(reader: &mut Reader<'_>, section: Section<'_>) -> Option<ChainServers> {
    let target = reader.sub(section, "target")?;
    reader.missing(target, "kind");
    let mut servers = reader.texts(target, "servers", CHAIN_NODES_MAX);
    if let Some(path) = reader.words(target, "servers_csv") {
        reader.forbid(target, &["servers"], "contradicts `servers_csv`; take one");
        let rows = table(reader, target, "servers_csv", &path, csv::SERVERS);
        servers = rows
            .into_iter()
            .filter_map(|mut row| row[1].take())
            .collect();
    }
    if servers.is_empty() || servers.len() > CHAIN_NODES_MAX {
        let message = format!(
            "`chain.target` needs 1 to {CHAIN_NODES_MAX} `servers`, or a `servers_csv` with as many"
        );
        reader.wrong(target.at, message);
    }
    if reader.one_of(target, "kind") == Some("tally") {
        reader.forbid(
            target,
            &["signing"],
            "is for the kind `nxt`: for nodes of ours the client signs",
        );
        return Some(ChainServers::Tally(
            servers.into_iter().map(PathBuf::from).collect(),
        ));
    }
    for url in servers.iter().filter(|url| !url.starts_with("http://")) {
        let short: String = url.chars().take(60).collect();
        reader.wrong(
            target.at_of("servers"),
            format!("`{short}` is not of the form http://host:port"),
        );
    }
    let prepared = reader.one_of(target, "signing") == Some("prepared");
    Some(ChainServers::Nxt {
        urls: servers,
        prepared,
    })
}

fn chains(reader: &mut Reader<'_>, section: Section<'_>) -> Vec<Chain> {
    let mut chains = Vec::new();
    for node in reader.list(section, "chains", CHAINS_MAX) {
        let Some(inner) = reader.open(node, "chain.chains") else {
            continue;
        };
        reader.missing(inner, "id");
        let id = reader.small(inner, "id").unwrap_or(1);
        let name = reader.words(inner, "name");
        let decimals = reader.small(inner, "decimals").unwrap_or(8);
        let fee = reader.whole(inner, "fee");
        chains.push(chain(byte(id), name, byte(decimals), fee));
    }
    if let Some(path) = reader.words(section, "chains_csv") {
        reader.forbid(section, &["chains"], "contradicts `chains_csv`; take one");
        for row in table(reader, section, "chains_csv", &path, csv::CHAINS) {
            let number = |at: usize| {
                row[at]
                    .as_deref()
                    .and_then(|text: &str| text.parse::<u64>().ok())
            };
            // The report contains the plan as TOML, whose numbers are signed.
            let fee = row[3].as_ref().map(|_| number(3));
            let bad_fee = fee.is_some_and(|fee| fee.is_none_or(|fee| i64::try_from(fee).is_err()));
            match (number(0), number(2)) {
                (Some(id @ 1..=255), Some(decimals)) if !bad_fee && decimals <= DECIMALS_MAX.into() => {
                    let (name, fee) = (row[1].clone(), fee.flatten());
                    chains.push(chain(id as u8, name, decimals as u8, fee));
                }
                _ => reader.wrong(
                    section.at_of("chains_csv"),
                    format!(
                        "each line of `chains_csv` is an id (1 to 255), a name, decimals (0 to {DECIMALS_MAX}) and, if it has one, a fee"
                    ),
                ),
            }
        }
    }
    if chains.is_empty() {
        return default_chains(reader.small(section, "children").unwrap_or(CHILDREN));
    }
    reader.forbid(
        section,
        &["children"],
        "contradicts a list of chains; take one",
    );
    if chains[0].id != ChainId::PARENT || chains.len() > CHAINS_MAX {
        let message =
            format!("the first of at most {CHAINS_MAX} chains is the parent, with the id 1");
        reader.wrong(section.at_of("chains"), message);
    }
    for (at, one) in chains.iter().enumerate() {
        if chains[..at]
            .iter()
            .any(|other| other.id == one.id || other.name == one.name)
        {
            let message = format!(
                "chain ids and names must be unique: {} or `{}` occurs twice",
                one.id.0, one.name
            );
            reader.wrong(section.at_of("chains"), message);
        }
    }
    chains
}

fn accounts(reader: &mut Reader<'_>, section: Section<'_>, nodes: u32) -> Vec<ChainAccount> {
    let mut accounts = match section.node("accounts").map(|node| &node.tree) {
        None => default_accounts(ACCOUNTS, nodes),
        Some(Tree::Leaf(Value::Integer(count)))
            if (2..=CHAIN_ACCOUNTS_MAX as i64).contains(count) =>
        {
            let count = u32::try_from(*count).expect("at most CHAIN_ACCOUNTS_MAX");
            default_accounts(count, nodes)
        }
        Some(Tree::Array(list)) => list
            .iter()
            .enumerate()
            .filter_map(|(at, node)| account(reader, node, at, nodes))
            .collect(),
        Some(_) => {
            let message = format!(
                "`chain.accounts` is a number from 2 to {CHAIN_ACCOUNTS_MAX}, or a list of passphrases or of {{ passphrase = .., node = .. }}"
            );
            reader.wrong(section.at_of("accounts"), message);
            return default_accounts(ACCOUNTS, nodes);
        }
    };
    if let Some(path) = reader.words(section, "accounts_csv") {
        reader.forbid(
            section,
            &["accounts"],
            "contradicts `accounts_csv`; take one",
        );
        accounts.clear();
        for (at, row) in table(reader, section, "accounts_csv", &path, csv::ACCOUNTS)
            .into_iter()
            .enumerate()
        {
            let node = match row[1].as_deref().map(str::parse) {
                None => dealt(at, nodes),
                Some(Ok(node)) if (1..=nodes).contains(&node) => node,
                Some(_) => {
                    reader.wrong(
                        section.at_of("accounts_csv"),
                        format!("a node of `accounts_csv` is a number from 1 to {nodes}"),
                    );
                    1
                }
            };
            let passphrase = row[0].clone().unwrap_or_default().into();
            accounts.push(ChainAccount { passphrase, node });
        }
    }
    if !(2..=CHAIN_ACCOUNTS_MAX).contains(&accounts.len()) {
        let message = format!(
            "{} test accounts; there have to be 2 to {CHAIN_ACCOUNTS_MAX}",
            accounts.len()
        );
        reader.wrong(section.at_of("accounts"), message);
    }
    let mut seen = std::collections::BTreeSet::new();
    if !accounts
        .iter()
        .all(|account| seen.insert(account.passphrase.expose()))
    {
        reader.wrong(
            section.at_of("accounts"),
            "two test accounts have the same passphrase",
        );
    }
    accounts
}

fn account(reader: &mut Reader<'_>, node: &Node, at: usize, nodes: u32) -> Option<ChainAccount> {
    if let Tree::Leaf(Value::String(passphrase)) = &node.tree {
        return Some(ChainAccount {
            passphrase: passphrase.clone().into(),
            node: dealt(at, nodes),
        });
    }
    let inner = reader.open(node, "chain.accounts")?;
    reader.missing(inner, "passphrase");
    let place = reader
        .small(inner, "node")
        .unwrap_or_else(|| dealt(at, nodes));
    if place > nodes {
        reader.wrong(
            inner.at_of("node"),
            format!("`node` is {place}; there are {nodes}"),
        );
    }
    Some(ChainAccount {
        passphrase: reader.text(inner, "passphrase").unwrap_or_default().into(),
        node: place,
    })
}

/// Returns the default node of an account.
fn dealt(at: usize, nodes: u32) -> u32 {
    (at as u64 % u64::from(nodes.max(1))) as u32 + 1
}

fn byte(number: u32) -> u8 {
    u8::try_from(number).expect("the range of the field fits into a byte")
}

/// Reads the rows of a table in a file.
fn table(
    reader: &mut Reader<'_>,
    section: Section<'_>,
    key: &str,
    path: &str,
    columns: &[&str],
) -> Vec<Vec<Option<String>>> {
    csv::load(path, columns).unwrap_or_else(|message| {
        reader.wrong(section.at_of(key), format!("{path}: {message}"));
        Vec::new()
    })
}
