//! A network in a temporary folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use node::bootstrap::{BootstrapError, Bootstrapped, NetworkSpec, NodeFiles, load_node_dir};
use primitives::Coded;
use tempfile::TempDir;

/// A notary and two banks.
pub const THREE: &str = r#"
    [[node]]
    name = "O=Notary, L=Zürich, C=CH"
    notary = true
    [[node]]
    name = "O=Bank A, L=London, C=GB"
    host_names = ["a.example.org"]
    config.limits.live_flows = 7
    [[node]]
    name = "OU=Desk, O=Bank B, L=New York, ST=NY, C=US"
"#;

pub struct Stage {
    folder: TempDir,
}

impl Stage {
    /// Nothing is there yet.
    pub fn empty() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    /// Three nodes.
    pub fn three() -> Self {
        let stage = Self::empty();
        stage.bootstrap(THREE).expect("bootstrapped");
        stage
    }

    pub fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.out().join(path)
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    pub fn bootstrap(&self, description: &str) -> Result<Bootstrapped, BootstrapError> {
        let path = self.folder.path().join("NETWORK.toml");
        fs::write(&path, description).expect("written");
        node::bootstrap::bootstrap(&NetworkSpec::read(&path)?, &self.out())
    }

    pub fn load(&self, folder: &str) -> Result<NodeFiles, BootstrapError> {
        load_node_dir(&self.path(folder))
    }

    /// All files with their bytes.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        gather(&self.out(), &mut files);
        files
    }
}

fn gather(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            gather(&path, files);
        } else {
            files.insert(path.clone(), fs::read(&path).expect("readable"));
        }
    }
}

/// Asserts the code, the presence of a hint, and the text of the message.
pub fn refused<T>(outcome: Result<T, BootstrapError>, code: &str, says: &str) {
    let Err(error) = outcome else {
        panic!("accepted instead of {code}")
    };
    let message = error.to_string();
    assert_eq!(error.code(), code, "{message}");
    assert!(message.contains(says), "{message:?} does not say {says:?}");
    assert!(!error.hint().is_empty(), "{code}");
}
