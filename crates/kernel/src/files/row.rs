//! The row of a file, and lists of rows. All functions only read: the kernel, the node's API and tools use them alike.

use ledger::{PartyId, TxId};
use primitives::{Decode, Encode, Hash, Timestamp};

use crate::pages::{after, row_page};
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::rows::prefix_end;

/// Maximum length of a file's name, in bytes.
pub const FILE_NAME_BYTES_MAX: usize = 255;
/// Maximum length of a media type, in bytes.
pub const MEDIA_TYPE_BYTES_MAX: usize = 127;
/// Maximum number of rows on one page.
pub const FILE_PAGE_MAX: usize = 1_000;
/// Maximum number of rows examined for one page. A filter that few rows pass gives a short page, not a long wait.
const LOOKED_AT_MAX: usize = 10_000;
/// Maximum size of the rows in one read, in bytes.
const PAGE_BYTES: usize = 1 << 20;

/// The origin of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileOrigin {
    /// A user of this node uploaded it.
    Uploaded {
        /// The user.
        user: String,
    },
    /// A peer sent it, for a transaction.
    Received {
        /// The peer.
        from: PartyId,
    },
}

primitives::variants!(FileOrigin { 0 => Uploaded { user }, 1 => Received { from } });

/// The record of a file that is completely stored: the value of its row in [`Table::Attachments`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRow {
    /// Its size in bytes.
    pub size: u64,
    /// The time at which it was stored.
    pub stored_at: Timestamp,
    /// Its first origin.
    pub origin: FileOrigin,
    /// Whether it is trusted on this node. No file is ever executed.
    pub trusted: bool,
    /// The user that last marked it as trusted or not. `None` if a rule did.
    pub trust_by: Option<String>,
    /// Its name: a hint that no hash covers, at most [`FILE_NAME_BYTES_MAX`] bytes without control characters. It may be empty.
    pub name: String,
    /// Its media type: a hint that no hash covers, at most [`MEDIA_TYPE_BYTES_MAX`] bytes without control characters. It may be
    /// empty.
    pub media_type: String,
    /// The number of recorded transactions that list it. It only grows, because recorded transactions stay.
    pub refs: u64,
}

primitives::record!(FileRow {
    size,
    stored_at,
    origin,
    trusted,
    trust_by,
    name,
    media_type,
    refs,
});

/// A file with its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRecord {
    /// SHA-256 of its bytes: its name on the ledger.
    pub hash: Hash,
    /// Its record.
    pub row: FileRow,
}

/// The information that a peer gets about a file that it may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOffer {
    /// Its bytes.
    pub size: u64,
    /// Its name on this node.
    pub name: String,
    /// Its media type.
    pub media_type: String,
}

/// The reason why a file could not be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileFailure {
    /// The peer does not have it or does not give it; it does not say which.
    Unknown,
    /// The size that the peer announced is over the limit. No bytes were transferred.
    TooLarge {
        /// The announced size in bytes.
        size: u64,
    },
    /// The received bytes have another hash and were discarded. The peer is at fault.
    Mismatch,
    /// This node's disk failed to store it.
    Disk {
        /// The stable code.
        code: String,
    },
    /// The peer has disconnected, or does not answer.
    Gone,
}

/// A filter of files. Each field narrows the list; the default lists all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFilter {
    /// The name contains this text. Case is ignored.
    pub name: Option<String>,
    /// The media type starts with this.
    pub media_type: Option<String>,
    /// Only trusted files, or only others.
    pub trusted: Option<bool>,
    /// Only files that no recorded transaction refers to, or only others.
    pub unreferenced: Option<bool>,
}

impl FileFilter {
    /// Returns whether a file matches the filter.
    pub fn meets(&self, row: &FileRow) -> bool {
        let named = |wanted: &String| row.name.to_lowercase().contains(&wanted.to_lowercase());
        let typed = |wanted: &String| row.media_type.starts_with(wanted.as_str());
        self.name.as_ref().is_none_or(named)
            && self.media_type.as_ref().is_none_or(typed)
            && self.trusted.is_none_or(|wanted| wanted == row.trusted)
            && self
                .unreferenced
                .is_none_or(|wanted| wanted == (row.refs == 0))
    }
}

/// Part of a list of files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePage {
    /// In order of hash.
    pub files: Vec<FileRecord>,
    /// Go on after this hash; nothing comes after the list if there is none.
    pub next: Option<Hash>,
}

/// Returns the row of a file in the store. Only the kernel knows rows that are not durable yet ([`crate::Event::FileLook`]).
///
/// # Errors
/// The store could not be read, or the row is damaged.
pub fn file_row(reads: &dyn Reads, hash: &Hash) -> Result<Option<FileRow>, StoreFailure> {
    match reads.get(Table::Attachments, hash.as_bytes())? {
        None => Ok(None),
        Some(row) => FileRow::from_bytes(&row)
            .map(Some)
            .map_err(|_| damaged(format!("the row of file {hash}"))),
    }
}

/// Files after a hash, in order of hash: at most `limit` and at most [`FILE_PAGE_MAX`].
///
/// # Errors
/// The store could not be read, or a row is damaged.
pub fn file_page(
    reads: &dyn Reads,
    after_hash: Option<&Hash>,
    limit: usize,
    filter: &FileFilter,
) -> Result<FilePage, StoreFailure> {
    let limit = limit.clamp(1, FILE_PAGE_MAX);
    let mut from = after_hash.map_or_else(Vec::new, |hash| after(hash.as_bytes()));
    let mut files = Vec::new();
    let mut looked_at = 0;
    let mut last = None;
    loop {
        let wanted = limit.min(LOOKED_AT_MAX - looked_at);
        let page = row_page(reads, Table::Attachments, from, None, wanted, PAGE_BYTES)?;
        looked_at += page.rows.len();
        for (key, value) in &page.rows {
            let hash = hash_of(key).ok_or_else(|| damaged("the key of a file's row"))?;
            let row = FileRow::from_bytes(value);
            let row = row.map_err(|_| damaged(format!("the row of file {hash}")))?;
            if filter.meets(&row) {
                // A further file shows that another page follows.
                if files.len() == limit {
                    return Ok(FilePage { files, next: last });
                }
                files.push(FileRecord { hash, row });
            }
            last = Some(hash);
        }
        if !page.more {
            return Ok(FilePage { files, next: None });
        }
        if looked_at >= LOOKED_AT_MAX {
            return Ok(FilePage { files, next: last });
        }
        from = last.map_or_else(Vec::new, |hash| after(hash.as_bytes()));
    }
}

/// Returns recorded transactions that list a file, in order of id after `after`, at most `limit`.
///
/// # Errors
/// The store could not be read.
pub fn file_references(
    reads: &dyn Reads,
    hash: &Hash,
    after_id: Option<&TxId>,
    limit: usize,
) -> Result<Vec<TxId>, StoreFailure> {
    let from = match after_id {
        None => hash.as_bytes().to_vec(),
        Some(id) => after(&reference_key(hash, id)),
    };
    let to = prefix_end(hash.as_bytes());
    let rows = reads.scan(Table::FileRefs, &from, to.as_deref(), limit)?;
    Ok(rows.iter().filter_map(|(key, _)| listing_of(key)).collect())
}

/// Returns `file hash 32
/// transaction id 32`.
pub(super) fn reference_key(hash: &Hash, id: &TxId) -> Vec<u8> {
    [hash.as_bytes().as_slice(), id.as_bytes()].concat()
}

/// Returns the transaction in a key made by [`reference_key`].
pub(super) fn listing_of(key: &[u8]) -> Option<TxId> {
    let id = key.get(32..)?.try_into().ok()?;
    Some(TxId::from_array(id))
}

fn hash_of(key: &[u8]) -> Option<Hash> {
    Some(Hash::from_bytes(key.try_into().ok()?))
}

/// Removes control characters from a hint, and cuts it to at most `bytes_max` bytes at the end of a character.
pub(crate) fn hint(text: &str, bytes_max: usize) -> String {
    let mut kept = String::new();
    for c in text.chars().filter(|c| !c.is_control()) {
        if kept.len() + c.len_utf8() > bytes_max {
            break;
        }
        kept.push(c);
    }
    kept
}

impl FileRow {
    /// Returns the information about the file that a peer gets.
    pub(crate) fn offer(&self) -> FileOffer {
        FileOffer {
            size: self.size,
            name: self.name.clone(),
            media_type: self.media_type.clone(),
        }
    }

    pub(crate) fn weight_bytes(&self) -> usize {
        self.to_bytes().len() + 192
    }
}
