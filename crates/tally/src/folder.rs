//! Recognises the kind of a folder on the command line, and refuses a command on a folder of another kind.

use std::path::{Path, PathBuf};

use node::chain::{GENESIS, is_chain_dir};

use crate::failure::{Failure, about_file};

/// The configuration in a node's folder.
const NODE_CONFIG: &str = "node.toml";
/// Maximum number of entries of a folder that are searched for the folders of nodes.
const ENTRIES_MAX: usize = 1_000;

/// The kind of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FolderKind {
    /// The folder of a node of a ledger.
    Node,
    /// The folder of a chain node.
    ChainNode,
    /// A folder with folders of nodes, and the first of them.
    Network(PathBuf),
    /// A folder with folders of chain nodes, and the first of them.
    ChainNetwork(PathBuf),
    /// A file.
    File,
    /// Any other folder.
    Other,
}

impl FolderKind {
    /// Recognises the kind of a folder.
    ///
    /// # Errors
    /// The folder does not exist or cannot be read.
    fn of(path: &Path) -> std::io::Result<Self> {
        // Without its configuration, a node's folder is recognised by its other files, so that the missing file is named.
        let has = |path: &Path, files: [&str; 2]| files.iter().all(|file| path.join(file).exists());
        let is_node =
            |path: &Path| path.join(NODE_CONFIG).exists() || has(path, ["identity.key", "network"]);
        let is_chain_node =
            |path: &Path| is_chain_dir(path) || has(path, ["identity.key", GENESIS]);
        if !std::fs::metadata(path)?.is_dir() {
            return Ok(Self::File);
        }
        if is_chain_node(path) {
            return Ok(Self::ChainNode);
        }
        if is_node(path) {
            return Ok(Self::Node);
        }
        let entries = std::fs::read_dir(path)?.take(ENTRIES_MAX);
        let mut inside: Vec<PathBuf> = entries
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .collect();
        inside.sort();
        let first = |is: &dyn Fn(&Path) -> bool| inside.iter().find(|path| is(path)).cloned();
        if let Some(node) = first(&is_node) {
            return Ok(Self::Network(node));
        }
        Ok(match first(&is_chain_node) {
            Some(node) => Self::ChainNetwork(node),
            None => Self::Other,
        })
    }
}

/// The kind of folder that a command needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needed {
    Node,
    ChainNode,
    Nodes,
}

/// The commands that a refusal recommends, by the kind of the folder. `DIR` stands for the folder.
#[derive(Clone, Copy, Debug)]
struct Advice {
    node: &'static str,
    chain: &'static str,
}

/// Recommends the other kind's way to run a node.
const RUN: Advice = Advice {
    node: "'tally node run DIR'",
    chain: "'tally chain run DIR'",
};
/// Recommends the other kind's clients.
const CLIENT: Advice = Advice {
    node: "a command for nodes, such as 'tally node info --node DIR'",
    chain: "a command for chain nodes, such as 'tally chain status --node DIR'",
};
/// Recommends the other kind's care of a stopped node.
const CARE: Advice = Advice {
    node: "a command for nodes, such as 'tally doctor --node DIR'",
    chain: "a command for chain nodes, such as 'tally chain check DIR'",
};

/// Checks that a folder is a node's, for `tally node run`.
pub fn runs_node(folder: &Path) -> Result<(), Failure> {
    expect(folder, Needed::Node, RUN)
}

/// Checks that a folder is a chain node's, for `tally chain run`.
pub fn runs_chain_node(folder: &Path) -> Result<(), Failure> {
    // A chain node's folder can be given by its configuration file.
    if folder.is_file() {
        return Ok(());
    }
    expect(folder, Needed::ChainNode, RUN)
}

/// Checks that a folder is a node's, for a client of the node.
pub fn speaks_to_node(folder: &Path) -> Result<(), Failure> {
    expect(folder, Needed::Node, CLIENT)
}

/// Checks that a folder is a chain node's, for a client of the node.
pub fn speaks_to_chain_node(folder: &Path) -> Result<(), Failure> {
    expect(folder, Needed::ChainNode, CLIENT)
}

/// Checks that a folder is a node's, for a command that reads or changes its files.
pub fn holds_node(folder: &Path) -> Result<(), Failure> {
    expect(folder, Needed::Node, CARE)
}

/// Checks that a folder is a chain node's, for a command that reads or changes its files.
pub fn holds_chain_node(folder: &Path) -> Result<(), Failure> {
    if folder.is_file() {
        return Ok(());
    }
    expect(folder, Needed::ChainNode, CARE)
}

/// Checks that a folder is a node's or holds folders of nodes.
pub fn holds_nodes(folder: &Path) -> Result<(), Failure> {
    expect(folder, Needed::Nodes, CARE)
}

/// Checks that a network of nodes can be made in a folder: it is no node's, and holds no chain network.
pub fn takes_network(folder: &Path) -> Result<(), Failure> {
    match FolderKind::of(folder) {
        Ok(FolderKind::Network(_) | FolderKind::Other | FolderKind::File) | Err(_) => Ok(()),
        Ok(kind) => Err(occupied(folder, &kind)),
    }
}

/// Checks that a chain network can be made in a folder: it is no node's, and holds no network of nodes.
pub fn takes_chain_network(folder: &Path) -> Result<(), Failure> {
    match FolderKind::of(folder) {
        Ok(FolderKind::ChainNetwork(_) | FolderKind::Other | FolderKind::File) | Err(_) => Ok(()),
        Ok(kind) => Err(occupied(folder, &kind)),
    }
}

fn occupied(folder: &Path, kind: &FolderKind) -> Failure {
    wrong(
        format!("{} is {}", folder.display(), described(kind)),
        "Give another folder with --out.",
    )
}

fn expect(folder: &Path, needed: Needed, advice: Advice) -> Result<(), Failure> {
    let kind = FolderKind::of(folder).map_err(|error| about_file(folder, &error))?;
    let fits = match needed {
        Needed::Node => kind == FolderKind::Node,
        Needed::ChainNode => kind == FolderKind::ChainNode,
        Needed::Nodes => matches!(kind, FolderKind::Node | FolderKind::Network(_)),
    };
    if fits {
        return Ok(());
    }
    let expected = match needed {
        Needed::Node => "the folder of a node, with a node.toml",
        Needed::ChainNode => "the folder of a chain node, with a chain.toml",
        Needed::Nodes => "the folder of a node, or a folder with folders of nodes",
    };
    let hint = match (&kind, needed) {
        (FolderKind::Node, _) => use_instead(advice.node, folder),
        (FolderKind::ChainNode, _) => use_instead(advice.chain, folder),
        (FolderKind::Network(node), Needed::Node) => one_of(node),
        (FolderKind::Network(node), _) => use_instead(advice.node, node),
        (FolderKind::ChainNetwork(node), Needed::ChainNode) => one_of(node),
        (FolderKind::ChainNetwork(node), _) => use_instead(advice.chain, node),
        (FolderKind::File | FolderKind::Other, Needed::ChainNode) => {
            "Give the folder of a chain node; 'tally chain genesis' makes those of a network."
                .to_owned()
        }
        (FolderKind::File | FolderKind::Other, _) => {
            "Give the folder of a node; 'tally network bootstrap' makes those of a network."
                .to_owned()
        }
    };
    let found = described(&kind);
    Err(wrong(
        format!(
            "{} is {found}, but the command needs {expected}",
            folder.display()
        ),
        hint,
    ))
}

fn wrong(message: String, hint: impl Into<String>) -> Failure {
    Failure::local("tally.wrong_folder", message, hint)
}

fn described(kind: &FolderKind) -> &'static str {
    match kind {
        FolderKind::Node => "the folder of a node",
        FolderKind::ChainNode => "the folder of a chain node",
        FolderKind::Network(_) => "the folder of a network of nodes",
        FolderKind::ChainNetwork(_) => "the folder of a chain network",
        FolderKind::File => "a file",
        FolderKind::Other => "a folder without a node",
    }
}

fn use_instead(command: &str, folder: &Path) -> String {
    let command = command.replace("DIR", &folder.display().to_string());
    format!("Use {command}.")
}

fn one_of(node: &Path) -> String {
    format!(
        "Give the folder of one of its nodes, such as {}.",
        node.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a folder with one folder, or file, of each kind.
    fn folders() -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for file in [
            "net/bank-a/node.toml",
            "net/network-root/root.pem",
            "chains/server1/chain.toml",
            "chains/genesis.toml",
            "empty/inside/file",
            "lost/bank-b/identity.key",
            "lost/bank-b/network/parameters",
            "lost/server2/identity.key",
            "lost/server2/genesis.toml",
        ] {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(path, "").expect("written");
        }
        root
    }

    #[test]
    fn refusals_name_the_kind_and_the_command_for_it() {
        type Check = fn(&Path) -> Result<(), Failure>;
        let root = folders();
        let table: &[(Check, &str, &[&str])] = &[
            (runs_node, "net/bank-a", &[]),
            (runs_chain_node, "chains/server1", &[]),
            (runs_chain_node, "chains/server1/chain.toml", &[]),
            (holds_nodes, "net", &[]),
            (holds_nodes, "net/bank-a", &[]),
            (takes_network, "net", &[]),
            (takes_network, "empty", &[]),
            (takes_network, "none", &[]),
            (runs_node, "lost/bank-b", &[]),
            (runs_chain_node, "lost/server2", &[]),
            (takes_chain_network, "chains", &[]),
            (
                runs_node,
                "chains/server1",
                &[
                    "is the folder of a chain node",
                    "Use 'tally chain run %/chains/server1'.",
                ],
            ),
            (
                runs_chain_node,
                "net/bank-a",
                &[
                    "is the folder of a node,",
                    "Use 'tally node run %/net/bank-a'.",
                ],
            ),
            (
                speaks_to_node,
                "chains/server1",
                &["'tally chain status --node %/chains/server1'"],
            ),
            (
                speaks_to_chain_node,
                "net/bank-a",
                &["'tally node info --node %/net/bank-a'"],
            ),
            (
                speaks_to_node,
                "net",
                &[
                    "is the folder of a network of nodes",
                    "such as %/net/bank-a.",
                ],
            ),
            (
                speaks_to_chain_node,
                "chains",
                &[
                    "is the folder of a chain network",
                    "such as %/chains/server1.",
                ],
            ),
            (
                speaks_to_node,
                "empty",
                &["%/empty is a folder without a node", "network bootstrap"],
            ),
            (speaks_to_chain_node, "empty", &["chain genesis"]),
            (speaks_to_node, "chains/genesis.toml", &["is a file"]),
            (speaks_to_node, "none", &["%/none: No such file"]),
            (holds_node, "net", &["such as %/net/bank-a."]),
            (
                holds_chain_node,
                "net",
                &["'tally doctor --node %/net/bank-a'"],
            ),
            (
                holds_nodes,
                "chains",
                &["'tally chain check %/chains/server1'"],
            ),
            (
                takes_network,
                "chains",
                &["is the folder of a chain network", "--out"],
            ),
            (takes_network, "net/bank-a", &["--out"]),
            (takes_chain_network, "net", &["--out"]),
        ];
        for (check, folder, parts) in table {
            let checked = check(&root.path().join(folder));
            let said = checked.map_or_else(|failure| format!("{failure:?}"), |()| String::new());
            assert_eq!(said.is_empty(), parts.is_empty(), "{folder}: {said}");
            for part in *parts {
                let part = part.replace('%', &root.path().display().to_string());
                assert!(said.contains(&part), "{folder}: {part}: {said}");
            }
        }
    }
}
