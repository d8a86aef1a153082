//! `[attachments]`: files that transactions refer to.

use std::collections::BTreeSet;
use std::time::Duration;

use ledger::{LegalName, PartyId};
use serde::{Deserialize, Serialize};

/// Most peers whose files are trusted by a rule.
pub(super) const TRUSTED_PEERS_MAX: usize = 1_000;

/// `[attachments]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AttachmentsSection {
    /// Memory for the bytes of files: this much for fetched files, and the same again for served ones.
    pub memory_bytes: usize,
    /// The same for one peer.
    pub peer_memory_bytes: usize,
    /// Files fetched at once.
    pub at_once: usize,
    /// Maximum files fetched from one peer at the same time.
    pub at_once_per_peer: usize,
    /// Bytes fetched in a second.
    pub down_bytes_per_s: u64,
    /// Bytes served in a second.
    pub up_bytes_per_s: u64,
    /// Bytes of the disk left free.
    pub keep_free_bytes: u64,
    /// How long files without references are kept, in days.
    pub keep_unreferenced_days: u64,
    /// How long parts of files are kept, in hours.
    pub keep_parts_hours: u64,
    /// How long uploads that nothing is sent to are kept, in hours.
    pub keep_uploads_hours: u64,
    /// Peers whose files are trusted.
    pub trust_peers: Vec<LegalName>,
}

impl Default for AttachmentsSection {
    fn default() -> Self {
        let transfers = transfer::Options::default();
        Self {
            memory_bytes: 32 << 20,
            peer_memory_bytes: 8 << 20,
            at_once: transfers.at_once,
            at_once_per_peer: transfers.at_once_per_peer,
            down_bytes_per_s: transfers.down_bytes_per_s,
            up_bytes_per_s: transfers.up_bytes_per_s,
            keep_free_bytes: 256 << 20,
            keep_unreferenced_days: 0,
            keep_parts_hours: 7 * 24,
            keep_uploads_hours: 24,
            trust_peers: Vec::new(),
        }
    }
}

/// Returns a duration in hours. The check of the configuration bounds them by decades.
fn hours(count: u64) -> Duration {
    Duration::from_secs(count * 3_600)
}

impl AttachmentsSection {
    /// Returns the options of the transfers in a network with this maximum size of a message. Files take half of a peer's send
    /// queue, which leaves room for other messages.
    pub(crate) fn transfers(
        &self,
        message_bytes_max: u32,
        queue_bytes_max: usize,
    ) -> transfer::Options {
        let defaults = transfer::Options::default();
        let head = transfer::MESSAGE_HEAD_BYTES_MAX as u32;
        transfer::Options {
            memory_bytes: self.memory_bytes as u64,
            peer_bytes: self.peer_memory_bytes.min(queue_bytes_max / 2) as u64,
            at_once: self.at_once,
            at_once_per_peer: self.at_once_per_peer,
            down_bytes_per_s: self.down_bytes_per_s,
            up_bytes_per_s: self.up_bytes_per_s,
            // Clipped at 0: a network whose messages are shorter than a head moves no files.
            chunk_bytes: defaults
                .chunk_bytes
                .min(message_bytes_max.saturating_sub(head)),
            ..defaults
        }
    }

    /// For the upkeep.
    pub(crate) fn upkeep(&self) -> crate::files::UpkeepOptions {
        let days = self.keep_unreferenced_days;
        crate::files::UpkeepOptions {
            unreferenced: (days > 0).then(|| hours(days * 24)),
            parts: hours(self.keep_parts_hours),
        }
    }

    /// For the uploads of users: how long one that nothing is sent to is kept.
    pub(crate) fn uploads(&self) -> Duration {
        hours(self.keep_uploads_hours)
    }

    /// The parties whose files are trusted.
    pub(crate) fn trusted(&self) -> BTreeSet<PartyId> {
        self.trust_peers.iter().map(LegalName::party_id).collect()
    }
}
