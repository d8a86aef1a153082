//! The output of `cargo metadata` about the workspace, reduced to the chores' needs.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::cargo::cargo;

/// One package of the dependency graph.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version, as written.
    pub version: String,
    /// The SPDX expression of its licence, if it declares one.
    pub license: Option<String>,
    /// Its source for cargo; `None` for a package of this workspace.
    pub source: Option<String>,
    /// Path of its manifest.
    pub manifest: PathBuf,
    /// Its declared dependencies.
    pub dependencies: Vec<Dependency>,
}

/// One declared dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The name of the package.
    pub name: String,
    /// Whether only tests need it.
    pub dev: bool,
    /// Whether it is a folder of this repository.
    pub local: bool,
}

/// Returns the repository's root folder.
pub fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or(here.clone(), PathBuf::from)
}

/// Returns every package of the graph without changing the lock file.
pub fn packages() -> Result<Vec<Package>> {
    let output = cargo()
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root())
        .output()
        .context("cargo metadata does not start")?;
    if !output.status.success() {
        bail!(
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let list = document["packages"]
        .as_array()
        .context("cargo metadata names no packages")?;
    list.iter().map(package).collect()
}

fn package(value: &Value) -> Result<Package> {
    let text = |field: &str| value[field].as_str().map(str::to_owned);
    let dependencies = value["dependencies"]
        .as_array()
        .context("a package without a dependency list")?
        .iter()
        .map(|entry| {
            let name = entry["name"].as_str();
            let name = name.context("a dependency without a name")?.to_owned();
            Ok(Dependency {
                name,
                dev: entry["kind"].as_str() == Some("dev"),
                local: entry["source"].is_null(),
            })
        })
        .collect::<Result<_>>()?;
    Ok(Package {
        name: text("name").context("a package without a name")?,
        version: text("version").context("a package without a version")?,
        license: text("license"),
        source: text("source"),
        manifest: PathBuf::from(text("manifest_path").context("a package without a manifest")?),
        dependencies,
    })
}
