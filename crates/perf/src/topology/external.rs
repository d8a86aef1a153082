//! An existing node, described by its folder.

use std::fs;
use std::path::Path;

use client::Endpoint;

use super::network::{DATA, ROOT_FILE, TOKEN_FILE};
use super::network_error::{NetworkError, system};

/// In a node's folder: its configuration.
const CONFIG_FILE: &str = "node.toml";
/// In the folder of a chain's node: the same.
pub(super) const CHAIN_CONFIG_FILE: &str = "chain.toml";

/// A node's name and API address, read from its folder.
#[derive(Clone, Debug)]
pub struct ExternalNode {
    /// The legal name.
    pub name: String,
    /// Its API, with the folder's token.
    pub endpoint: Endpoint,
}

impl ExternalNode {
    /// Reads configuration, root certificate and token. Does not contact the node.
    pub fn of_folder(folder: &Path) -> Result<Self, NetworkError> {
        let path = folder.join(CONFIG_FILE);
        let bad = |message: String| NetworkError::Setting {
            name: path.display().to_string(),
            message,
        };
        let config = table_of(&path)?;
        let name = config.get("node").and_then(|node| node.get("name"));
        let name = name.and_then(toml::Value::as_str);
        let name = name.ok_or_else(|| bad("no node.name is in it".to_owned()))?;
        Ok(Self {
            name: name.to_owned(),
            endpoint: endpoint_of(folder, CONFIG_FILE)?,
        })
    }
}

/// Returns the API of a chain's node, by its folder.
pub fn chain_endpoint(folder: &Path) -> Result<Endpoint, NetworkError> {
    endpoint_of(folder, CHAIN_CONFIG_FILE)
}

fn table_of(path: &Path) -> Result<toml::Table, NetworkError> {
    let text =
        fs::read_to_string(path).map_err(|source| system(&path.display().to_string(), source))?;
    text.parse()
        .map_err(|error: toml::de::Error| NetworkError::Setting {
            name: path.display().to_string(),
            message: error.message().to_owned(),
        })
}

/// Returns a node's API, by its folder and the name of its configuration file there.
fn endpoint_of(folder: &Path, config: &str) -> Result<Endpoint, NetworkError> {
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(|source| system(&path.display().to_string(), source))
    };
    let path = folder.join(config);
    let table = table_of(&path)?;
    let listen = table
        .get("api")
        .and_then(|api| api.get("listen"))
        .and_then(toml::Value::as_str)
        .ok_or_else(|| NetworkError::Setting {
            name: path.display().to_string(),
            message: "no api.listen is in it".to_owned(),
        })?;
    Ok(Endpoint {
        address: address_of(folder, &table, listen).ok_or_else(|| NetworkError::Setting {
            name: path.display().to_string(),
            message: format!(
                "api.listen is {listen}, which names no machine, p2p.advertised names none either, and the folder has no data \
                 of a node on this machine; set api.listen of the copy to the address of the node's machine"
            ),
        })?,
        server_name: "localhost".into(),
        root_pem: read(ROOT_FILE)?,
        token: read(TOKEN_FILE)?.trim().into(),
    })
}

/// Returns the address of a node's API. A listening address for all interfaces names no machine. If the node's data is in the
/// folder, the node runs here, and the address is the loopback one. Otherwise the folder is a copy, and the address is that
/// of the machine at which other nodes reach the node; `None` if the copy does not name it.
fn address_of(folder: &Path, config: &toml::Table, listen: &str) -> Option<String> {
    let everywhere = [("0.0.0.0:", "127.0.0.1"), ("[::]:", "[::1]")];
    let mut everywhere = everywhere.into_iter();
    let found = everywhere.find_map(|(prefix, here)| Some((listen.strip_prefix(prefix)?, here)));
    let Some((port, here)) = found else {
        return Some(listen.to_owned());
    };
    if folder.join(data_dir(config)).is_dir() {
        return Some(format!("{here}:{port}"));
    }
    let p2p = config.get("p2p");
    let advertised = p2p.and_then(|p2p| p2p.get("advertised")?.as_array());
    let advertised = advertised.into_iter().flatten();
    let listened = p2p.and_then(|p2p| p2p.get("listen"));
    let mut hosts = advertised
        .chain(listened)
        .filter_map(|address| Some(address.as_str()?.rsplit_once(':')?.0));
    let host = hosts.find(|host| !["", "0.0.0.0", "[::]"].contains(host))?;
    Some(format!("{host}:{port}"))
}

/// Returns the setting of a node's folder for data.
fn data_dir(config: &toml::Table) -> &str {
    let set = config
        .get("node")
        .and_then(|node| node.get("data_dir")?.as_str());
    set.unwrap_or(DATA)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_says_where_its_node_is() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).expect("written");
        };
        let missing = ExternalNode::of_folder(folder.path()).expect_err("empty");
        assert!(missing.to_string().contains(CONFIG_FILE), "{missing}");
        write(
            CONFIG_FILE,
            "[node]\nname = \"O=X, L=London, C=GB\"\n[api]\nlisten = \"0.0.0.0:5\"\n",
        );
        write(ROOT_FILE, "root");
        write(TOKEN_FILE, "token\n");
        fs::create_dir(folder.path().join(DATA)).expect("a folder");
        let node = ExternalNode::of_folder(folder.path()).expect("all is there");
        assert_eq!(node.name, "O=X, L=London, C=GB");
        assert_eq!(node.endpoint.address, "127.0.0.1:5");
        assert_eq!(node.endpoint.token, "token".into());
        write(CONFIG_FILE, "[node]\nname = \"x\"\n");
        let bad = ExternalNode::of_folder(folder.path()).expect_err("no address");
        assert!(bad.to_string().contains("api.listen"), "{bad}");
    }

    #[test]
    fn addresses_of_another_machine_stay_its_own() {
        for (listen, p2p, has_data, expected) in [
            (
                "10.0.0.1:5",
                "listen = '0.0.0.0:4'",
                false,
                Some("10.0.0.1:5"),
            ),
            (
                "bank.example:5",
                "listen = '0.0.0.0:4'",
                false,
                Some("bank.example:5"),
            ),
            (
                "127.0.0.1:5",
                "listen = '0.0.0.0:4'",
                false,
                Some("127.0.0.1:5"),
            ),
            (
                "0.0.0.0:5",
                "listen = '0.0.0.0:4'",
                true,
                Some("127.0.0.1:5"),
            ),
            ("[::]:5", "listen = '[::]:4'", true, Some("[::1]:5")),
            // A copy of the folder of a node elsewhere.
            (
                "0.0.0.0:5",
                "advertised = ['bank.example:4']",
                false,
                Some("bank.example:5"),
            ),
            (
                "[::]:5",
                "advertised = ['[2001:db8::7]:4']",
                false,
                Some("[2001:db8::7]:5"),
            ),
            (
                "0.0.0.0:5",
                "listen = '10.0.0.1:4'",
                false,
                Some("10.0.0.1:5"),
            ),
            (
                "0.0.0.0:5",
                "listen = '127.0.0.1:4'",
                false,
                Some("127.0.0.1:5"),
            ),
            ("0.0.0.0:5", "listen = '0.0.0.0:4'", false, None),
            ("[::]:5", "advertised = []", false, None),
        ] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            if has_data {
                fs::create_dir(folder.path().join(DATA)).expect("a folder");
            }
            let config: toml::Table = format!("[p2p]\n{p2p}\n").parse().expect("TOML");
            let found = address_of(folder.path(), &config, listen);
            assert_eq!(found.as_deref(), expected, "{listen} {p2p}");
        }
    }

    #[test]
    fn copy_without_a_machine_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let text = "[node]\nname = 'x'\n[p2p]\nlisten = '0.0.0.0:4'\n[api]\nlisten = '0.0.0.0:5'\n";
        fs::write(folder.path().join(CONFIG_FILE), text).expect("written");
        let refused = ExternalNode::of_folder(folder.path()).expect_err("no machine");
        assert!(refused.to_string().contains("0.0.0.0:5"), "{refused}");
    }
}
