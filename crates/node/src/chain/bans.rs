//! The bans of peers, which survive a restart in a file next to the store. The file is written when the bans change.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use net::gossip::{GossipHandle, PeerId};
use primitives::hex;
use serde::{Deserialize, Serialize};

use super::shared::ChainNodeState;

/// The file, within the data folder.
const FILE: &str = "bans.json";
/// Bans that are kept; those that last longest.
const BANS_MAX: usize = 1_024;
/// Maximum size of the file of bans, in bytes. A longer one was not written by a node.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The interval between two checks for changed bans. A crash loses bans that are younger.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// A ban.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Ban {
    /// The peer's key.
    peer: String,
    /// Milliseconds since the Unix epoch.
    until_ms: u64,
    reason: String,
}

/// The bans of one node, on disk.
pub(super) struct Bans {
    path: PathBuf,
    written: Vec<Ban>,
}

impl Bans {
    /// Restores the bans of the last run. A file that cannot be read is ignored, with a warning.
    pub(super) fn restore(data: &Path, handle: &GossipHandle) -> Self {
        let path = data.join(FILE);
        let written = read(&path).unwrap_or_else(|why| {
            tracing::warn!(path = %path.display(), "the bans of peers are lost: {why}");
            Vec::new()
        });
        let now_ms = ms_of(SystemTime::now());
        for ban in &written {
            // Clipped at 0: the ban is over.
            let left = Duration::from_millis(ban.until_ms.saturating_sub(now_ms));
            let Some(key) = hex::decode_array(&ban.peer) else {
                continue;
            };
            if left.is_zero() {
                continue;
            }
            if let Err(error) = handle.ban(PeerId::from_bytes(key), left, &ban.reason) {
                tracing::warn!(peer = ban.peer, %error, "a peer is not kept away any more");
            }
        }
        Self { path, written }
    }

    /// Writes the bans after each change, until the node stops.
    pub(super) async fn keep(mut self, shared: Arc<ChainNodeState>) {
        let mut stopping = false;
        while !stopping {
            // It waits first, because the restored bans take effect meanwhile.
            shared.stopped_within(LOOK_EVERY).await;
            stopping = shared.is_stopping();
            self.write(of(shared.peers.handle()));
        }
    }

    fn write(&mut self, bans: Vec<Ban>) {
        if same(&bans, &self.written) {
            return;
        }
        match write(&self.path, &bans) {
            Ok(()) => self.written = bans,
            Err(error) => {
                tracing::warn!(path = %self.path.display(), "bans are not kept: {error}");
            }
        }
    }
}

/// Returns true if the same peers are banned until the same time. The end of a ban is computed from the remaining time, so it
/// differs by some milliseconds.
fn same(one: &[Ban], other: &[Ban]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| {
            one.peer == other.peer && one.until_ms.abs_diff(other.until_ms) < 5_000
        })
}

/// Returns the current bans, by key.
fn of(handle: &GossipHandle) -> Vec<Ban> {
    let now = SystemTime::now();
    let banned = handle.peers().into_iter().filter_map(|peer| {
        let until = peer.banned_until.filter(|until| *until > now)?;
        Some(Ban {
            peer: hex::encode(peer.id.as_bytes()),
            until_ms: ms_of(until),
            reason: peer.reason.unwrap_or_default(),
        })
    });
    let mut bans: Vec<Ban> = banned.collect();
    bans.sort_unstable_by_key(|ban| std::cmp::Reverse(ban.until_ms));
    bans.truncate(BANS_MAX);
    bans.sort_unstable();
    bans
}

fn ms_of(time: SystemTime) -> u64 {
    // A time before 1970 is the epoch.
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    primitives::whole_ms(since)
}

fn read(path: &Path) -> Result<Vec<Ban>, String> {
    let length = match std::fs::metadata(path) {
        Ok(found) => found.len(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    if length > FILE_BYTES_MAX {
        return Err(format!("{length} bytes"));
    }
    let text = std::fs::read(path).map_err(|error| error.to_string())?;
    let mut bans: Vec<Ban> = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    bans.truncate(BANS_MAX);
    Ok(bans)
}

/// Whole or not at all.
fn write(path: &Path, bans: &[Ban]) -> std::io::Result<()> {
    let new = path.with_extension("new");
    let file = std::fs::File::create(&new)?;
    serde_json::to_writer(&file, bans)?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ban(peer: u8, until_ms: u64) -> Ban {
        Ban {
            peer: hex::encode(&[peer; 32]),
            until_ms,
            reason: "why".into(),
        }
    }

    #[test]
    fn a_file_is_read_as_it_was_written_and_garbage_is_said_to_be_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(FILE);
        assert_eq!(read(&path), Ok(Vec::new()));
        let bans = vec![ban(1, 5), ban(2, 6)];
        write(&path, &bans).expect("written");
        assert_eq!(read(&path), Ok(bans));
        std::fs::write(&path, b"[{]").expect("written");
        assert!(read(&path).is_err());
        std::fs::write(&path, vec![b' '; 2 << 20]).expect("written");
        assert!(read(&path).is_err());
    }

    #[test]
    fn only_what_has_changed_is_written() {
        for (one, other, equal) in [
            (vec![], vec![], true),
            (vec![ban(1, 10_000)], vec![ban(1, 10_003)], true),
            (vec![ban(1, 10_000)], vec![ban(1, 20_000)], false),
            (vec![ban(1, 10_000)], vec![ban(2, 10_000)], false),
            (vec![ban(1, 10_000)], vec![], false),
        ] {
            assert_eq!(same(&one, &other), equal);
        }
    }
}
