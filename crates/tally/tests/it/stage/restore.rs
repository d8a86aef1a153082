//! Nodes that are put back on an older copy of their folder, as a restore from a backup does.

use std::fs;
use std::path::Path;

use api::{HealthWarning, RecoveryView, RollbackView};
use client::Client;
use perf::topology::{Network, Who};
use tempfile::TempDir;

use super::command::{Ran, tally};

/// A copy of a node's folder.
pub struct Backup(TempDir);

impl Backup {
    /// Stops a node, copies its folder, and starts it again: a new life that the copy does not know.
    pub fn of(network: &mut Network, who: Who) -> Self {
        let [backup] = Self::of_all(network, [who]);
        backup
    }

    /// Copies the folders of several nodes while all of them are stopped, so that no copy knows of another one's next life.
    pub fn of_all<const N: usize>(network: &mut Network, those: [Who; N]) -> [Self; N] {
        for who in those {
            network.stop(who).expect("it stops");
        }
        let backups = those.map(|who| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            copy(network.folder(who), folder.path());
            Self(folder)
        });
        for who in those {
            network.start(who).expect("it comes back");
        }
        backups
    }

    /// The folder of the copy.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Replaces the folder of a node, which is killed and stays down.
    pub fn restore(&self, network: &mut Network, who: Who) {
        network.kill(who);
        let folder = network.folder(who).to_owned();
        fs::remove_dir_all(&folder).expect("the folder goes");
        copy(self.path(), &folder);
    }
}

/// Copies a folder with everything in it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("readable") {
        let entry = entry.expect("readable");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("known").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("copied");
        }
    }
}

/// Waits until a node knows that its data is an older copy.
pub async fn rolled_back(client: &Client) -> RollbackView {
    super::eventually("a proof that the data is an older copy", async || {
        let view: RecoveryView = client.recovery().await.ok()?;
        view.rolled_back
    })
    .await
}

/// The warning of a code in a node's health.
pub async fn warning(client: &Client, code: &str) -> Option<HealthWarning> {
    let health = client.health().await.expect("it answers");
    let mut warnings = health.warnings.into_iter();
    warnings.find(|warning| warning.code == code)
}

/// Runs `tally recover` on a node to its end.
pub fn recover(network: &Network, who: Who) -> RecoveryView {
    let ran = command(network, who, "recover --node % --timeout 100 --json");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    serde_json::from_str(&ran.out).expect("a view")
}

/// Runs `tally` with words; `%` stands for the folder of the node.
pub fn command(network: &Network, who: Who, line: &str) -> Ran {
    tally(network.folder(who), line)
}
