//! The node that a command connects to.

use std::path::{Path, PathBuf};
use std::pin::Pin;

use client::{ChainClient, Client, Endpoint};
use node::chain::is_chain_dir;
use node::config::{ConfigKind, read_table, text_of};

use crate::failure::{Failure, about_file};
use crate::folder;

/// The configuration in a node's folder.
const CONFIG_FILE: &str = "node.toml";
/// The configuration in a chain node's folder.
const CHAIN_CONFIG_FILE: &str = "chain.toml";
/// The network's root certificate in a node's folder.
const ROOT_FILE: &str = "root.pem";
/// An API token in a node's folder.
const TOKEN_FILE: &str = "api-token";
/// The name in every node's certificate besides its party's.
const SERVER_NAME: &str = "localhost";

/// The options that select a node and give access to it.
#[derive(Debug, clap::Args)]
pub struct Target {
    /// The node's folder, as bootstrap made it
    #[arg(
        long,
        value_name = "DIR",
        env = "TALLY_NODE",
        required_unless_present = "url"
    )]
    node: Option<PathBuf>,
    /// The address of its API, such as https://host:10443; takes precedence over a folder. If a second process of the node is on standby, the
    /// addresses of both, separated by a comma
    #[arg(long, value_name = "URL", requires = "root", requires = "token_file")]
    url: Option<String>,
    /// The network's root certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "url")]
    root: Option<PathBuf>,
    /// A file with a token of the API; without it, the token in the node's folder counts
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The name that the node's certificate must bear
    #[arg(long, value_name = "NAME", requires = "url", default_value = SERVER_NAME)]
    server_name: String,
}

impl Target {
    /// Returns the target of a folder's node.
    pub fn of(folder: &Path) -> Self {
        Self {
            node: Some(folder.to_owned()),
            url: None,
            root: None,
            token_file: None,
            server_name: SERVER_NAME.to_owned(),
        }
    }

    /// Returns the folder if no URL is given. Its files can be changed without the node.
    pub fn folder(&self) -> Option<&Path> {
        self.node.as_deref().filter(|_| self.url.is_none())
    }

    /// Returns whether the folder is a chain node's.
    pub fn is_chain(&self) -> bool {
        self.folder().is_some_and(is_chain_dir)
    }

    /// Runs `work` with a client of the node.
    pub fn with_client<T>(
        &self,
        work: impl AsyncFnOnce(Client) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.folder().map_or(Ok(()), folder::speaks_to_node)?;
        let client = Client::new(self.endpoint()?)?;
        run(Box::pin(work(client)))
    }

    /// Runs `work` with a client of the chain node.
    pub fn with_chain<T>(
        &self,
        work: impl AsyncFnOnce(ChainClient) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.folder().map_or(Ok(()), folder::speaks_to_chain_node)?;
        let client = ChainClient::new(self.endpoint()?)?;
        run(Box::pin(work(client)))
    }

    fn endpoint(&self) -> Result<Endpoint, Failure> {
        match (&self.url, &self.root, &self.token_file, &self.node) {
            (Some(url), Some(root), Some(token), _) => Ok(Endpoint {
                address: address(url)?,
                server_name: self.server_name.clone(),
                root_pem: read(root)?,
                token: read(token)?.trim().into(),
            }),
            (None, _, token, Some(folder)) => of_folder(folder, token.as_deref()),
            _ => Err(Failure::usage(
                "tally.no_node",
                "no node is named",
                "Give --node DIR, or --url with --root and --token-file.",
            )),
        }
    }
}

/// Runs a command to its end. The future is boxed, so that the runtime is compiled once for each type of result, not for each command.
fn run<T>(command: Pin<Box<dyn Future<Output = Result<T, Failure>> + '_>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::local("tally.runtime", error.to_string(), "Report this."))?;
    runtime.block_on(command)
}

/// Returns the API endpoint of a folder's node, of either kind, with the token in a file or in the folder.
fn of_folder(folder: &Path, token_file: Option<&Path>) -> Result<Endpoint, Failure> {
    let (file, kind) = match is_chain_dir(folder) {
        true => (CHAIN_CONFIG_FILE, ConfigKind::Chain),
        false => (CONFIG_FILE, ConfigKind::Node),
    };
    let path = folder.join(file);
    let config = read_table(&path, kind).map_err(|error| Failure::coded(&error))?;
    let listen = config
        .get("api")
        .and_then(|api| api.get("listen"))
        .and_then(toml::Value::as_str);
    let listen = listen.ok_or_else(|| {
        let hint = "Set api.listen to the address of the node's API.";
        Failure::local(
            "config.invalid",
            format!("{}: api.listen is missing", path.display()),
            hint,
        )
    })?;
    Ok(Endpoint {
        address: reachable(listen),
        server_name: SERVER_NAME.to_owned(),
        root_pem: read(&folder.join(ROOT_FILE))?,
        token: read(token_file.unwrap_or(&folder.join(TOKEN_FILE)))?
            .trim()
            .into(),
    })
}

/// Replaces an address that listens on all interfaces by the local one.
fn reachable(listen: &str) -> String {
    let listen = listen
        .strip_prefix("0.0.0.0:")
        .map(|port| format!("127.0.0.1:{port}"))
        .unwrap_or_else(|| listen.to_owned());
    listen
        .strip_prefix("[::]:")
        .map(|port| format!("[::1]:{port}"))
        .unwrap_or(listen)
}

/// Returns `host:port` of a URL, or of several with commas between them.
fn address(url: &str) -> Result<String, Failure> {
    let bad = |why: &str| {
        Failure::usage(
            "tally.bad_url",
            format!("'{url}': {why}"),
            "Give it as https://host:port, or as https://host:port,https://host2:port for a node with a process on standby.",
        )
    };
    let mut addresses = Vec::new();
    for one in url.split(',') {
        let one = one.trim();
        // The scheme may be left out.
        let rest = one.strip_prefix("https://").unwrap_or(one);
        let rest = rest.trim_end_matches('/');
        if rest.contains("://") {
            return Err(bad("only https is spoken"));
        }
        match rest.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                addresses.push(rest);
            }
            _ => return Err(bad("no host and port")),
        }
    }
    Ok(addresses.join(","))
}

fn read(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|error| about_file(path, &error))?;
    text_of(bytes).map_err(|fault| {
        Failure::local(
            "tally.file",
            format!("{}: {fault}", path.display()),
            "Give a text file in UTF-8; this one may be another file, or damaged.",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (url, expected) in [
            ("https://host:1", Some("host:1")),
            ("host:1/", Some("host:1")),
            ("https://[::1]:1", Some("[::1]:1")),
            ("http://host:1", None),
            ("https://host", None),
            (":1", None),
            ("host:99999", None),
            ("https://a:1,https://b:2/", Some("a:1,b:2")),
            ("https://a:1, b:2", Some("a:1,b:2")),
            ("https://a:1,", None),
            ("https://a:1,http://b:2", None),
        ] {
            assert_eq!(address(url).ok().as_deref(), expected, "{url}");
        }
        assert_eq!(reachable("0.0.0.0:5"), "127.0.0.1:5");
        assert_eq!(reachable("[::]:5"), "[::1]:5");
        assert_eq!(reachable("10.0.0.1:5"), "10.0.0.1:5");
    }

    #[test]
    fn a_fault_of_the_configuration_is_named_with_its_line() {
        for (file, text, parts) in [
            (
                "node.toml",
                "[node]\nname = \n",
                ["config.invalid", "line 2", "reference/config.md"],
            ),
            (
                "chain.toml",
                "[node\n",
                ["config.invalid", "line ", "chain-config.md"],
            ),
            (
                "node.toml",
                "[node]\n",
                ["config.invalid", "api.listen is missing", "Set api.listen"],
            ),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            std::fs::write(folder.path().join(file), text).expect("written");
            let failure = of_folder(folder.path(), None)
                .map(drop)
                .expect_err("no use");
            let said = format!("{failure:?}");
            for part in parts {
                assert!(said.contains(part), "{file} {text:?}: {said}");
            }
        }
    }
}
