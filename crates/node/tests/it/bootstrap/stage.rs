//! A network in a temporary folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use node::bootstrap::{BootstrapError, Bootstrapped, NetworkSpec, NodeFiles, load_node_dir};
use primitives::Coded;
use rcgen::{CertificateParams, DistinguishedName, DnType, Issuer, KeyPair, date_time_ymd};
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

/// Gives a node of a bootstrapped network a certificate that ends in some days.
pub fn certify_for(out: &Path, node: &str, days: u32) {
    let files = load_node_dir(&out.join(node)).expect("it loads");
    let pem = |path: &Path| fs::read_to_string(path).expect("a PEM file");
    let root_key = KeyPair::from_pem(&pem(&out.join("network-root/root.key.pem")));
    let mut root = CertificateParams::default();
    root.distinguished_name = DistinguishedName::new();
    let name = "Tallystick network root";
    root.distinguished_name.push(DnType::CommonName, name);
    let issuer = Issuer::new(root, root_key.expect("a key"));
    let names = vec![files.info.party.id().dns_name(), "localhost".to_owned()];
    let mut params = CertificateParams::new(names).expect("names");
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = date_time_ymd(1970, 1, 1) + now.expect("after 1970");
    let day = Duration::from_secs(86_400);
    (params.not_before, params.not_after) = (now - day, now + day * days);
    let own = KeyPair::from_pem(&pem(&out.join(node).join("tls.key.pem")));
    let certificate = params.signed_by(&own.expect("a key"), &issuer);
    let certificate = certificate.expect("it is signed").pem();
    fs::write(out.join(node).join("tls.pem"), certificate).expect("written");
}
