//! `[network]`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use toml::Value;

use crate::plan::checks::Checks;
use crate::plan::limits::{BANKS_MAX, SETTINGS_MAX};
use crate::plan::model::{
    ConnectorProgram, DatabaseKind, Link, Network, NodeSettings, NotaryBackend, NotaryKind, Target,
};
use crate::plan::reader::{Reader, Section};
use crate::plan::tree::Tree;

/// Default number of banks.
const BANKS: u32 = 2;
/// Default number of workers of a replicated notary.
const WORKERS: u32 = 2;
/// Maximum number of arguments of a connector.
const WORDS_MAX: usize = 64;
/// The notary's name among nodes.
const NOTARY: &str = "notary";

pub(super) fn read(reader: &mut Reader<'_>, top: Section<'_>, checks: &dyn Checks) -> Network {
    let mut network = Network {
        banks: BANKS,
        notary: NotaryKind::Single,
        requesters: 0,
        database: DatabaseKind::Embedded,
        database_latency_ms: None,
        settings: BTreeMap::new(),
        nodes: BTreeMap::new(),
        link: None,
        target: None,
    };
    let Some(section) = reader.sub(top, "network") else {
        return network;
    };
    if let Some(banks) = reader.small(section, "banks") {
        network.banks = banks;
    }
    network.notary = notary(reader, section);
    network.requesters = reader.small(section, "requesters").unwrap_or(0);
    if reader.one_of(section, "database") == Some("postgres") {
        network.database = DatabaseKind::Postgres;
    }
    network.database_latency_ms = reader.number(section, "database_latency_ms");
    if network.database == DatabaseKind::Embedded {
        let why = "applies only with `network.database = \"postgres\"`";
        reader.forbid(section, &["database_latency_ms"], why);
    }
    if let Some(target) = reader.sub(section, "target") {
        let target = self::target(reader, target);
        let why = "cannot be used with a target, because the laboratory does not own its nodes";
        reader.forbid(
            section,
            &[
                "settings",
                "nodes",
                "notary",
                "notary_backend",
                "notary_workers",
                "requesters",
                "database",
                "database_latency_ms",
                "link",
            ],
            why,
        );
        let banks = match &target {
            Target::Nodes { banks, .. } => banks.len(),
            Target::Connector(_) => 0,
        };
        let count = u32::try_from(banks).expect("a list of bounded length");
        if section.has("banks") && network.banks != count {
            let message = format!(
                "`network.banks` is {}; the target has {count}",
                network.banks
            );
            reader.wrong(section.at_of("banks"), message);
        }
        network.banks = count;
        network.target = Some(target);
        return network;
    }
    network.settings = settings(reader, section, checks, false);
    network.link = link(reader, section);
    nodes(reader, section, checks, &mut network);
    network
}

/// Reads the kind of notary.
fn notary(reader: &mut Reader<'_>, section: Section<'_>) -> NotaryKind {
    let kind = reader.one_of(section, "notary");
    let backend = match reader.one_of(section, "notary_backend") {
        Some("postgres") => NotaryBackend::Postgres,
        _ => NotaryBackend::Galera,
    };
    let workers = reader.small(section, "notary_workers").unwrap_or(WORKERS);
    if kind == Some("replicated") {
        return NotaryKind::Replicated { backend, workers };
    }
    let why = "applies only with `network.notary = \"replicated\"`";
    reader.forbid(section, &["notary_backend", "notary_workers"], why);
    match kind {
        Some("validating") => NotaryKind::Validating,
        _ => NotaryKind::Single,
    }
}

/// Reads the common link or the link of one node.
fn link(reader: &mut Reader<'_>, section: Section<'_>) -> Option<Link> {
    let section = reader.sub(section, "link")?;
    Some(Link {
        delay_ms: reader.number(section, "delay_ms").unwrap_or(0.0),
        mbit_per_s: reader.number(section, "mbit_per_s"),
    })
}

fn target(reader: &mut Reader<'_>, section: Section<'_>) -> Target {
    if section.has("connector") || section.has("command") {
        return Target::Connector(connector(reader, section));
    }
    reader.missing(section, "banks");
    let banks = reader.texts(section, "banks", BANKS_MAX as usize);
    if section.has("banks") && banks.is_empty() {
        reader.wrong(section.at_of("banks"), "a target has at least one bank");
    }
    Target::Nodes {
        banks: banks.into_iter().map(PathBuf::from).collect(),
        notary: reader.words(section, "notary").map(PathBuf::from),
    }
}

/// Reads the program that connects another system.
fn connector(reader: &mut Reader<'_>, section: Section<'_>) -> ConnectorProgram {
    let why = "belongs to a network of nodes, and this target is another system";
    reader.forbid(section, &["banks", "notary"], why);
    if reader.one_of(section, "connector").is_some() {
        reader.forbid(section, &["command"], "contradicts `connector`; take one");
        return ConnectorProgram::Postgres;
    }
    let words = reader.texts(section, "command", WORDS_MAX);
    if section.has("command") && words.is_empty() {
        reader.wrong(
            section.at_of("command"),
            "a connector is a program, with its arguments",
        );
    }
    ConnectorProgram::Command(words)
}

fn nodes(
    reader: &mut Reader<'_>,
    section: Section<'_>,
    checks: &dyn Checks,
    network: &mut Network,
) {
    let Some(node) = section.node("nodes") else {
        return;
    };
    let Tree::Table(table) = &node.tree else {
        let message = format!(
            "`network.nodes` is {}; it has to be a table",
            node.type_name()
        );
        return reader.wrong(node.at, message);
    };
    let mut names = vec![NOTARY.to_owned()];
    names.extend((1..=network.banks).map(|bank| format!("bank-{bank}")));
    for (name, entry) in table {
        if !names.contains(name) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            reader.not_one_of(entry.key_at, "node", name, &names);
            continue;
        }
        let Some(own) = reader.open(&entry.node, "network.nodes.NAME") else {
            continue;
        };
        let own = NodeSettings {
            settings: settings(reader, own, checks, name == NOTARY),
            cores: reader.small(own, "cores"),
            link: link(reader, own),
        };
        network.nodes.insert(name.clone(), own);
    }
}

fn settings(
    reader: &mut Reader<'_>,
    section: Section<'_>,
    checks: &dyn Checks,
    notary: bool,
) -> BTreeMap<String, Value> {
    let found = reader.dotted(section, "settings", SETTINGS_MAX);
    let mut settings = BTreeMap::new();
    for (name, entry) in found {
        let value = entry.node.value();
        if let Err(message) = checks.setting(&name, &value, notary) {
            reader.wrong(entry.node.at, message);
        }
        settings.insert(name, value);
    }
    settings
}
