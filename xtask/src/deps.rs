//! Checks licences and sources of all dependencies: only licences without further duties, only the public registry.

use anyhow::{Result, bail};

use crate::metadata::{self, Package};
use crate::spdx;

/// Licences that may be linked into an Apache-2.0 program without further duties than keeping their notice.
const ACCEPTED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    // For data. It is the licence of a list of certificate authorities, which the client of MariaDB links and does not use.
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// The only source of dependencies.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Runs the chore.
pub fn run() -> Result<()> {
    let packages = metadata::packages()?;
    let faults: Vec<String> = packages.iter().filter_map(fault).collect();
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    println!(
        "deps: {} packages, licences and sources in order",
        packages.len()
    );
    Ok(())
}

fn fault(package: &Package) -> Option<String> {
    let named = format!("{} {}", package.name, package.version);
    match package.source.as_deref() {
        None | Some(REGISTRY) => {}
        Some(other) => {
            return Some(format!(
                "{named} comes from {other}; only the public registry is allowed"
            ));
        }
    }
    let Some(expression) = package.license.as_deref() else {
        return Some(format!("{named} declares no licence"));
    };
    match spdx::satisfied(expression, ACCEPTED) {
        Ok(true) => None,
        Ok(false) => Some(format!(
            "{named} is under {expression}, outside the allow-list of xtask/src/deps.rs"
        )),
        Err(error) => Some(format!("{named}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(license: Option<&str>, source: Option<&str>, expected: Option<&str>) {
        let package = Package {
            name: "x".into(),
            version: "1.0.0".into(),
            license: license.map(Into::into),
            source: source.map(Into::into),
            manifest: "x/Cargo.toml".into(),
            dependencies: Vec::new(),
        };
        let found = fault(&package);
        match expected {
            None => assert_eq!(found, None),
            Some(part) => assert!(
                found.as_deref().is_some_and(|text| text.contains(part)),
                "{found:?}"
            ),
        }
    }

    #[test]
    fn faults() {
        check(Some("MIT"), Some(REGISTRY), None);
        check(Some("Apache-2.0"), None, None);
        check(None, Some(REGISTRY), Some("declares no licence"));
        check(
            Some("GPL-3.0-only"),
            Some(REGISTRY),
            Some("outside the allow-list"),
        );
        check(
            Some("MIT"),
            Some("git+https://example.org/x"),
            Some("only the public registry"),
        );
        check(Some("MIT OR"), Some(REGISTRY), Some("not a licence"));
    }
}
