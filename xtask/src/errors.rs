//! Every error code of the workspace, from the crates' own catalogues.

/// One code and the crate that raises it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The crate.
    pub from: &'static str,
    /// `domain.snake_case`.
    pub code: &'static str,
    /// What leads to it.
    pub cause: &'static str,
    /// What to do.
    pub action: &'static str,
}

macro_rules! entries {
    ($($from:ident),* $(,)?) => {{
        let mut all = Vec::new();
        $(all.extend($from::ERRORS.iter().map(|info| Entry {
            from: stringify!($from),
            code: info.code,
            cause: info.cause,
            action: info.action,
        }));)*
        all
    }};
}

/// Crates that have a catalogue.
#[cfg(test)]
pub const CRATES: &[&str] = &[
    "primitives",
    "ledger",
    "vault",
    "notary",
    "flow",
    "finance",
    "kernel",
    "store",
    "net",
    "api",
    "client",
];

/// All codes, crate by crate.
pub fn all() -> Vec<Entry> {
    entries!(
        primitives, ledger, vault, notary, flow, finance, kernel, store, net, api, client
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata;

    /// A crate that gained a catalogue must be listed above, or its codes would have no page.
    #[test]
    fn no_catalogue_is_forgotten() {
        let crates = metadata::root().join("crates");
        let mut found = Vec::new();
        for entry in std::fs::read_dir(crates).expect("the repository has crates") {
            let folder = entry.expect("readable").path();
            let map = std::fs::read_to_string(folder.join("src/lib.rs")).unwrap_or_default();
            let name = folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let words = |text: &str| {
                text.split(|c: char| !c.is_alphanumeric() && c != '_')
                    .any(|word| word == "ERRORS")
            };
            if words(&map) {
                found.push(name);
            }
        }
        found.sort();
        let mut listed: Vec<&str> = CRATES.to_vec();
        listed.sort_unstable();
        assert_eq!(found, listed);
        for name in CRATES {
            assert!(all().iter().any(|entry| entry.from == *name), "{name}");
        }
    }
}
