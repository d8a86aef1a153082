//! An existing node, described by its folder.

use std::fs;
use std::path::Path;

use client::Endpoint;

use super::network::{ROOT_FILE, TOKEN_FILE};
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
        address: reachable(listen),
        server_name: "localhost".into(),
        root_pem: read(ROOT_FILE)?,
        token: read(TOKEN_FILE)?.trim().into(),
    })
}

/// Converts a listen address for all interfaces to the loopback address.
fn reachable(listen: &str) -> String {
    for (everywhere, here) in [("0.0.0.0:", "127.0.0.1:"), ("[::]:", "[::1]:")] {
        if let Some(port) = listen.strip_prefix(everywhere) {
            return format!("{here}{port}");
        }
    }
    listen.to_owned()
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
        let node = ExternalNode::of_folder(folder.path()).expect("all is there");
        assert_eq!(node.name, "O=X, L=London, C=GB");
        assert_eq!(node.endpoint.address, "127.0.0.1:5");
        assert_eq!(node.endpoint.token, "token".into());
        write(CONFIG_FILE, "[node]\nname = \"x\"\n");
        let bad = ExternalNode::of_folder(folder.path()).expect_err("no address");
        assert!(bad.to_string().contains("api.listen"), "{bad}");
    }
}
