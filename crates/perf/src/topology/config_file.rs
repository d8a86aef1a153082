//! A node's `node.toml` from bootstrap, with the laboratory's settings applied.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::host::NodeFolder;
use super::network_error::{NetworkError, system};

/// Settings by dotted name, as `limits.live_flows`.
pub type Settings = BTreeMap<String, toml::Value>;

/// The settings that define a network. With other values it would be a different network.
pub const FIXED: &[&str] = &[
    "node.name",
    "node.data_dir",
    "p2p.listen",
    "p2p.advertised",
    "api.listen",
    "api.tokens",
    "notary.validating",
    "notary_database.url",
    "notary_database.password_file",
    "notary_database.ca",
    "database.url",
    "database.password_file",
    "database.ca",
    "database.schema",
];

/// In a node's folder: its configuration.
pub(super) const CONFIG_FILE: &str = "node.toml";

/// A node's configuration file. A chain node's holds passphrases.
pub(super) struct ConfigFile {
    folder: NodeFolder,
    name: &'static str,
    base: toml::Table,
    /// The current content of the file.
    now: String,
}

impl fmt::Debug for ConfigFile {
    /// Shows the path alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigFile")
            .field("path", &self.path())
            .finish_non_exhaustive()
    }
}

impl ConfigFile {
    /// Reads the file that bootstrap wrote.
    pub(super) fn read(folder: &NodeFolder, name: &'static str) -> Result<Self, NetworkError> {
        let path = folder.here().join(name);
        let now = fs::read_to_string(&path)
            .map_err(|source| system(&path.display().to_string(), source))?;
        let base = now
            .parse()
            .map_err(|error: toml::de::Error| NetworkError::Setting {
                name: path.display().to_string(),
                message: error.message().to_owned(),
            })?;
        Ok(Self {
            folder: folder.clone(),
            name,
            base,
            now,
        })
    }

    fn path(&self) -> PathBuf {
        self.folder.here().join(self.name)
    }

    /// Adds a section to bootstrap's values, and writes the file.
    pub(super) fn add_section(
        &mut self,
        name: &str,
        section: toml::Table,
    ) -> Result<(), NetworkError> {
        self.base.insert(name.to_owned(), section.into());
        self.lay(&Settings::new()).map(drop)
    }

    /// Sets the address at which a section (`p2p`, `api`) listens, among bootstrap's values, and writes the file.
    pub(super) fn listen(
        &mut self,
        section: &str,
        address: SocketAddr,
    ) -> Result<(), NetworkError> {
        self.set_base(section, "listen", address.to_string().into())
    }

    /// Sets a value of a section among bootstrap's values, and writes the file.
    pub(super) fn set_base(
        &mut self,
        section: &str,
        name: &str,
        value: toml::Value,
    ) -> Result<(), NetworkError> {
        let bad = NetworkError::Setting {
            name: self.path().display().to_string(),
            message: format!("it has no section [{section}]"),
        };
        let table = self.base.get_mut(section);
        let table = table.and_then(toml::Value::as_table_mut).ok_or(bad)?;
        table.insert(name.to_owned(), value);
        self.lay(&Settings::new()).map(drop)
    }

    /// Writes bootstrap's values with exactly these settings applied. Returns whether that changed the file.
    pub(super) fn lay(&mut self, settings: &Settings) -> Result<bool, NetworkError> {
        let mut table = self.base.clone();
        for (name, value) in settings {
            set(&mut table, name, value).map_err(|message| NetworkError::Setting {
                name: name.clone(),
                message,
            })?;
        }
        let text = toml::to_string(&table).map_err(|error| NetworkError::Setting {
            name: self.path().display().to_string(),
            message: error.to_string(),
        })?;
        // Bootstrap's file has a comment. Only the values are compared.
        if self.now.parse::<toml::Table>().ok().as_ref() == Some(&table) {
            return Ok(false);
        }
        self.folder.write(self.name, text.as_bytes())?;
        self.now = text;
        Ok(true)
    }
}

fn set(table: &mut toml::Table, name: &str, value: &toml::Value) -> Result<(), String> {
    if FIXED
        .iter()
        .any(|fixed| name == *fixed || fixed.starts_with(&format!("{name}.")))
    {
        return Err("it belongs to the network itself and cannot be set".to_owned());
    }
    let mut parts: Vec<&str> = name.split('.').collect();
    let last = parts.pop().filter(|last| !last.is_empty());
    let last = last.ok_or("a setting has a name such as limits.live_flows")?;
    let mut inner = table;
    for part in parts {
        let entry = inner
            .entry(part)
            .or_insert_with(|| toml::Value::Table(toml::Table::new()));
        inner = entry
            .as_table_mut()
            .ok_or_else(|| format!("{part} is a value and has no settings within"))?;
    }
    inner.insert(last.to_owned(), value.clone());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, i64)]) -> Settings {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).into()))
            .collect()
    }

    #[test]
    fn settings_are_laid_over_what_bootstrap_wrote_and_taken_away_again() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("node.toml");
        fs::write(
            &path,
            "# words\n[node]\nname = \"x\"\n[limits]\nresponders = 7\n",
        )
        .expect("written");
        let mut file = ConfigFile::read(
            &NodeFolder::on_this_machine(folder.path().to_owned()),
            "node.toml",
        )
        .expect("it parses");
        for (laid, changed, expected) in [
            (&[][..], false, None),
            (
                &[("limits.live_flows", 3), ("store.linger_us", 0)][..],
                true,
                Some(3),
            ),
            (
                &[("limits.live_flows", 3), ("store.linger_us", 0)][..],
                false,
                Some(3),
            ),
            (&[("limits.live_flows", 4)][..], true, Some(4)),
            (&[][..], true, None),
        ] {
            assert_eq!(
                file.lay(&settings(laid)).expect("good"),
                changed,
                "{laid:?}"
            );
            let text = fs::read_to_string(&path).expect("there");
            let table: toml::Table = text.parse().expect("TOML");
            let live = table["limits"].get("live_flows");
            assert_eq!(live.and_then(toml::Value::as_integer), expected, "{text}");
            assert_eq!(table["limits"]["responders"].as_integer(), Some(7));
            assert_eq!(table.contains_key("store"), laid.len() == 2, "{text}");
        }
    }

    #[test]
    fn what_a_network_stands_on_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("node.toml");
        fs::write(&path, "[limits]\nlive_flows = 7\n").expect("written");
        let mut file = ConfigFile::read(
            &NodeFolder::on_this_machine(folder.path().to_owned()),
            "node.toml",
        )
        .expect("it parses");
        for (name, words) in [
            ("node.name", "belongs to the network"),
            ("api", "belongs to the network"),
            ("", "has a name"),
            ("limits.", "has a name"),
            ("limits.live_flows.x", "no settings within"),
        ] {
            let error = file.lay(&settings(&[(name, 1)])).expect_err(name);
            assert!(error.to_string().contains(words), "{name}: {error}");
        }
    }
}
