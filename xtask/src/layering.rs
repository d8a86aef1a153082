//! The layering test: dependencies between our crates point one way, and pure crates name nothing with side effects.
//!
//! `ARCHITECTURE.md` describes the same rules in words; this file enforces them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::cycles;
use crate::metadata::{self, Package};
use crate::source;
use crate::tree;

/// The layer of every crate under `examples`.
const APPLICATIONS: &str = "examples/*";

/// Allowed dependencies of each crate. An unlisted crate is refused, so that a new one is placed on purpose.
const EDGES: &[(&str, &[&str])] = &[
    ("crypto_counters", &[]),
    ("primitives", &["crypto_counters"]),
    ("ledger", &["primitives"]),
    ("vault", &["primitives", "ledger"]),
    ("notary", &["primitives", "ledger"]),
    ("flow", &["primitives", "ledger"]),
    ("chain", &["primitives"]),
    ("transfer", &["primitives", "ledger"]),
    ("finance", &["primitives", "ledger", "vault", "flow"]),
    (
        "kernel",
        &["primitives", "ledger", "vault", "notary", "flow"],
    ),
    ("store", &["primitives"]),
    ("pgstore", &["primitives", "store"]),
    ("notarydb", &["primitives", "ledger", "notary", "pgstore"]),
    ("pgserver", &[]),
    ("vaultview", &["primitives"]),
    ("runtime", &["primitives", "store"]),
    ("net", &["primitives", "ledger"]),
    // It speaks the nodes' protocol to a notary, without a node.
    ("member", &["primitives", "ledger", "flow", "kernel", "net"]),
    ("api", &[]),
    (
        "node",
        &[
            "crypto_counters",
            "primitives",
            "ledger",
            "vault",
            "notary",
            "flow",
            "chain",
            "transfer",
            "finance",
            "kernel",
            "store",
            "pgstore",
            "notarydb",
            "vaultview",
            "runtime",
            "net",
            "api",
        ],
    ),
    ("client", &["api"]),
    // The load on a chain makes and signs its own transactions, like every client of a chain. The load on a notary does so as well, like
    // every member of a network.
    (
        "perf",
        &[
            "primitives",
            "chain",
            "ledger",
            "member",
            "api",
            "client",
            "pgserver",
        ],
    ),
    ("historycheck", &[]),
    ("diskimage", &[]),
    ("properties", &[]),
    (
        "sim",
        &[
            "primitives",
            "ledger",
            "vault",
            "notary",
            "flow",
            "chain",
            "finance",
            "kernel",
        ],
    ),
    (
        "tally",
        &[
            "primitives",
            "ledger",
            "flow",
            "chain",
            "api",
            "client",
            "node",
            "perf",
        ],
    ),
    // Applications use the pure crates, become a node through `tally`, and add their workloads to the laboratory.
    (
        APPLICATIONS,
        &[
            "primitives",
            "ledger",
            "flow",
            "finance",
            "api",
            "perf",
            "tally",
        ],
    ),
];

/// Edges that only tests may use, in addition to [`EDGES`].
const TEST_EDGES: &[(&str, &[&str])] = &[
    ("primitives", &["properties"]),
    ("ledger", &["properties"]),
    ("vault", &["properties"]),
    ("notary", &["properties"]),
    ("flow", &["properties"]),
    ("finance", &["properties"]),
    ("chain", &["properties"]),
    ("transfer", &["properties"]),
    ("kernel", &["properties", "finance"]),
    ("net", &["properties"]),
    ("perf", &["properties"]),
    ("node", &["client"]),
    ("store", &["kernel", "chain", "properties", "diskimage"]),
    ("pgstore", &["pgserver"]),
    ("notarydb", &["pgserver", "kernel", "store", "historycheck"]),
    ("vaultview", &["properties"]),
    // The guide to a first application runs the program of its example.
    (
        "tally",
        &[
            "store",
            "finance",
            "net",
            "kernel",
            "diskimage",
            "iou",
            "pgserver",
            "historycheck",
            "member",
        ],
    ),
    (APPLICATIONS, &["client"]),
];

/// Crates without side effects.
const PURE: &[&str] = &[
    "primitives",
    "ledger",
    "vault",
    "notary",
    "flow",
    "chain",
    "transfer",
    "finance",
    "kernel",
];

/// Registry crates that pure crates may use, not counting tests.
const PURE_REGISTRY: &[&str] = &[
    "aws-lc-rs",
    "curve25519-dalek",
    "ed25519-zebra",
    "foldhash",
    "p256",
    "schemars",
    "serde",
    "serde_json",
    "sha2",
    "thiserror",
    "zeroize",
];

/// Runs the chore. With the argument `cycles` it lists the uses that are part of a cycle.
pub fn run(words: &[String]) -> Result<()> {
    let packages = metadata::packages()?;
    let ours: Vec<&Package> = packages
        .iter()
        .filter(|package| package.source.is_none() && package.name != "xtask")
        .collect();
    match words {
        [] => {}
        [word] if word == "cycles" => return list_cycles(&ours),
        _ => bail!("layering takes no argument but 'cycles'"),
    }
    let mut faults: Vec<String> = ours
        .iter()
        .flat_map(|package| edge_faults(package))
        .collect();
    let mut files = 0;
    for package in &ours {
        faults.extend(cycle_fault(package)?);
        if PURE.contains(&package.name.as_str()) {
            files += scan(&source_folder(package)?, &mut faults)?;
        }
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    println!(
        "layering: {} crates, {files} files of pure crates, nothing forbidden",
        ours.len()
    );
    Ok(())
}

/// Returns the faults of the dependencies of one of our crates.
fn edge_faults(package: &Package) -> Vec<String> {
    let example = package
        .manifest
        .starts_with(metadata::root().join("examples"));
    let place = if example { APPLICATIONS } else { &package.name };
    let lookup = |table: &'static [(&'static str, &'static [&'static str])]| {
        table
            .iter()
            .find(|(name, _)| *name == place)
            .map(|(_, targets)| *targets)
    };
    let Some(allowed) = lookup(EDGES) else {
        return vec![format!(
            "crate {} has no place in the layering; add it to xtask/src/layering.rs and ARCHITECTURE.md",
            package.name
        )];
    };
    let for_tests = lookup(TEST_EDGES).unwrap_or_default();
    let pure = PURE.contains(&package.name.as_str());
    let mut faults = Vec::new();
    // A crate that is not listed has no edges for tests.
    for dependency in &package.dependencies {
        let name = dependency.name.as_str();
        if dependency.local {
            let may_test_with = dependency.dev && for_tests.contains(&name);
            if !allowed.contains(&name) && !may_test_with {
                faults.push(format!(
                    "forbidden edge: {} -> {name}{}",
                    package.name,
                    if dependency.dev { " (tests)" } else { "" }
                ));
            }
        } else if pure && !dependency.dev && !PURE_REGISTRY.contains(&name) {
            faults.push(format!(
                "pure crate {} depends on {name}, which is not on the list of xtask/src/layering.rs",
                package.name
            ));
        }
    }
    faults
}

/// Prints the uses between files of a crate that are part of a cycle.
fn list_cycles(packages: &[&Package]) -> Result<()> {
    for package in packages {
        let folder = source_folder(package)?;
        for (user, used) in cycles::uses_in_cycles(&folder, &tree::sources(&folder)?) {
            println!("{}: {user} uses {used}", package.name);
        }
    }
    Ok(())
}

fn source_folder(package: &Package) -> Result<PathBuf> {
    let folder = package.manifest.parent();
    Ok(folder
        .context("a manifest's path has no folder")?
        .join("src"))
}

/// Returns the fault of a crate with files in cycles.
fn cycle_fault(package: &Package) -> Result<Option<String>> {
    let folder = source_folder(package)?;
    let found = cycles::in_cycles(&folder, &tree::sources(&folder)?);
    Ok((!found.is_empty()).then(|| {
        format!(
            "{} files of {} are in cycles: {}; run `cargo xtask layering cycles` for the uses that form them",
            found.len(),
            package.name,
            found.join(", ")
        )
    }))
}

/// Scans every source file of a pure crate, and returns their number.
fn scan(folder: &Path, faults: &mut Vec<String>) -> Result<usize> {
    let texts = tree::sources(folder)?;
    for (path, text) in &texts {
        for hit in source::forbidden(text) {
            // A source outside of the repository is shown with its whole path.
            let shown = path.strip_prefix(metadata::root()).unwrap_or(path);
            faults.push(format!(
                "{}:{}: a pure crate names {}",
                shown.display(),
                hit.line,
                hit.name
            ));
        }
    }
    Ok(texts.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Dependency;

    fn check(name: &str, dependency: &str, local: bool, dev: bool, expected: &[&str]) {
        let package = Package {
            name: name.into(),
            version: "0.1.0".into(),
            license: None,
            source: None,
            manifest: "x/Cargo.toml".into(),
            dependencies: vec![Dependency {
                name: dependency.into(),
                dev,
                local,
            }],
        };
        let found = edge_faults(&package);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (fault, part) in found.iter().zip(expected) {
            assert!(fault.contains(part), "{fault}");
        }
    }

    #[test]
    fn edges() {
        check("ledger", "primitives", true, false, &[]);
        check(
            "ledger",
            "store",
            true,
            false,
            &["forbidden edge: ledger -> store"],
        );
        check(
            "flow",
            "notary",
            true,
            false,
            &["forbidden edge: flow -> notary"],
        );
        check(
            "client",
            "node",
            true,
            false,
            &["forbidden edge: client -> node"],
        );
        check(
            "kernel",
            "store",
            true,
            true,
            &["forbidden edge: kernel -> store (tests)"],
        );
        check("kernel", "finance", true, true, &[]);
        check("newcomer", "primitives", true, false, &["has no place"]);
    }

    #[test]
    fn registry() {
        check("vault", "thiserror", false, false, &[]);
        check("vault", "tokio", false, false, &["depends on tokio"]);
        check("vault", "proptest", false, true, &[]);
        check("node", "tokio", false, false, &[]);
    }

    #[test]
    fn every_edge_points_to_a_placed_crate_and_there_is_no_cycle() {
        let mut placed: Vec<&str> = Vec::new();
        let mut waiting: Vec<_> = EDGES.to_vec();
        while !waiting.is_empty() {
            let before = waiting.len();
            waiting.retain(|(name, targets)| {
                let ready = targets.iter().all(|target| placed.contains(target));
                if ready {
                    placed.push(name);
                }
                !ready
            });
            assert!(
                waiting.len() < before,
                "a cycle or an unplaced crate among {waiting:?}"
            );
        }
    }
}
