//! Checks the folders: each is complete and signed, and all belong to the same network with the same parameters.

use std::path::{Path, PathBuf};

use node::bootstrap::{NodeFiles, PLATFORM_VERSION, load_node_dir};
use primitives::Coded;

use super::codes;
use super::finding::Finding;
use crate::commands::doctor::{Verdict, certificates};
use crate::output::counted;

/// A folder that was read, with its display name.
pub struct Folder {
    pub name: String,
    pub files: NodeFiles,
}

/// Checks each folder, and all folders together. Returns the findings and the readable folders.
pub fn check(folders: &[PathBuf]) -> (Vec<Finding>, Vec<Folder>) {
    let (mut findings, mut read) = (Vec::new(), Vec::new());
    for path in folders {
        let name = short(path);
        match load_node_dir(path) {
            Ok(files) => {
                let found = format!(
                    "{}: certificates chain to the root, {} and the parameters are signed",
                    files.info.party.name,
                    counted(files.network.nodes().len() as u64, "node info")
                );
                findings.push(Finding::ok(&name, found));
                findings.extend(expiry(&name, &files));
                read.push(Folder { name, files });
            }
            Err(error) => findings.push(Finding {
                code: error.code().to_owned(),
                verdict: Verdict::Problem,
                action: error.hint().to_owned(),
                ..Finding::ok(&name, error.to_string())
            }),
        }
    }
    // The latest parameters are the reference for the other folders.
    let latest = read
        .iter()
        .max_by_key(|folder| folder.files.network.parameters().version);
    if let Some(latest) = latest {
        findings.extend(notaries(&latest.files));
        findings.extend(platforms(&latest.files));
        let others = read.iter().filter(|other| !std::ptr::eq(*other, latest));
        let differ: Vec<Finding> = others.filter_map(|other| differs(latest, other)).collect();
        if differ.is_empty() && read.len() > 1 {
            let found = format!("{} folders of one network, in step", read.len());
            findings.push(Finding::ok("", found));
        }
        findings.extend(differ);
    }
    (findings, read)
}

fn short(path: &Path) -> String {
    let name = path.file_name().and_then(|name| name.to_str());
    name.map_or_else(|| path.display().to_string(), str::to_owned)
}

/// Returns findings about certificates that expire soon.
fn expiry(name: &str, files: &NodeFiles) -> Vec<Finding> {
    let lasting = certificates(files).into_iter();
    let short = lasting.filter(|finding| finding.verdict != Verdict::Ok);
    let short = short.map(|finding| Finding {
        verdict: finding.verdict,
        ..Finding::warning(
            name,
            &codes::CERTIFICATE_EXPIRES,
            format!("{}: {}", finding.check, finding.found),
        )
    });
    short.collect()
}

fn notaries(files: &NodeFiles) -> Vec<Finding> {
    let network = &files.network;
    let named = &network.parameters().notaries;
    if named.is_empty() {
        let found = "the parameters name no notary";
        return vec![Finding::problem("", &codes::NOTARY_MISSING, found)];
    }
    let is_there = |notary: &&ledger::Party| {
        let info = network.node(&notary.id());
        info.is_some_and(|info| info.party == **notary && info.notary.is_some())
    };
    let missing: Vec<&ledger::Party> = named.iter().filter(|n| !is_there(n)).collect();
    if missing.is_empty() {
        let names: Vec<String> = named.iter().map(|n| n.name.to_string()).collect();
        return vec![Finding::ok("", format!("notaries: {}", names.join("; ")))];
    }
    let findings = missing.into_iter().map(|notary| {
        let found = format!("{} is no notary among the nodes", notary.name);
        Finding::problem("", &codes::NOTARY_MISSING, found)
    });
    findings.collect()
}

fn platforms(files: &NodeFiles) -> Vec<Finding> {
    let other = files.network.nodes().map(|(_, info)| info);
    let other = other.filter(|info| info.platform_version != PLATFORM_VERSION);
    let findings = other.map(|info| {
        let found = format!(
            "it speaks version {}, this program {PLATFORM_VERSION}",
            info.platform_version
        );
        Finding::problem(
            &info.party.name.to_string(),
            &codes::PLATFORMS_DIFFER,
            found,
        )
    });
    findings.collect()
}

/// Returns a finding if a folder differs from the one with the latest parameters.
fn differs(latest: &Folder, other: &Folder) -> Option<Finding> {
    let (mine, theirs) = (&latest.files, &other.files);
    if mine.root != theirs.root {
        let found = format!("its root is not that of {}", latest.name);
        return Some(Finding::problem(&other.name, &codes::ROOTS_DIFFER, found));
    }
    if mine.network.parameters_hash() != theirs.network.parameters_hash() {
        let found = format!("its parameters are not those of {}", latest.name);
        return Some(Finding::problem(&other.name, &codes::MAPS_DIFFER, found));
    }
    let differing = mine.network.nodes().find(|(id, info)| {
        let known = theirs.network.node(id);
        known != Some(*info)
    });
    let found = match differing {
        Some((_, info)) => format!("{} is not as in {}", info.party.name, latest.name),
        None if mine.network.nodes().len() != theirs.network.nodes().len() => {
            format!("it has nodes that {} has not", latest.name)
        }
        None => return None,
    };
    Some(Finding::problem(&other.name, &codes::MAPS_DIFFER, found))
}
