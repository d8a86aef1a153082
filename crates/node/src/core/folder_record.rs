//! Parts of a node's folder that its store remembers, so that a lost one is noticed at the next start: the members of the
//! network, the audit log, and the attachments.
//!
//! A member whose file is gone would be a stranger: its states would have no owner, and its deliveries would be refused. So the
//! node does not start without it. The other losses change nothing that is signed, and are shown as warnings.

use std::path::{Path, PathBuf};

use kernel::port::{Table, WriteBatch};
use kernel::rows::{META_AUDITED, META_MEMBER, meta_key, prefix_end};
use ledger::{NetworkMap, PartyId};
use primitives::storage::Reads;
use primitives::{Decode, Encode, ErrorInfo, Hash};
use store::{Class, CommitterOptions, Files};

use super::options::store_options;
use super::start_error::StartError;
use crate::bootstrap::{NodeFiles, member_file};
use crate::ledger_store::{LedgerCommitter, LedgerStore};
use crate::users::{AUDIT_LOST, AuditLog, LogMark};

/// Members that are remembered; a network has fewer.
const MEMBERS_MAX: usize = 100_000;
/// Maximum number of attachment rows that a start compares with the files.
const ATTACHMENTS_CHECKED_MAX: usize = 10_000;
/// Rows read at once.
const PAGE: usize = 1_000;

/// A loss that the node goes on with.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    /// Its code, cause and action.
    pub(super) info: ErrorInfo,
    /// The lost parts.
    pub(super) message: String,
}

/// The folder of a node that starts, and its store.
pub(super) struct FolderRecord<'a> {
    pub(super) folder: &'a Path,
    pub(super) store: &'a LedgerStore,
    pub(super) committer: &'a LedgerCommitter,
}

impl FolderRecord<'_> {
    /// Refuses a network that lacks a remembered member, and remembers the new ones.
    ///
    /// # Errors
    /// A member is lost, or the store can't be read or written.
    pub(super) fn check_members(&self, network: &NetworkMap) -> Result<(), StartError> {
        let known = members(self.store)?;
        let lost = known.iter().find(|(id, _)| network.node(id).is_none());
        if let Some((id, name)) = lost {
            return Err(StartError::MemberLost {
                name: name.clone(),
                path: member_file(self.folder, id),
            });
        }
        let mut batch = WriteBatch::default();
        for (id, info) in network.nodes() {
            if !known.iter().any(|(known, _)| known == id) {
                let name = info.party.name.to_string();
                batch.put(Table::Meta, member_key(id), name.into_bytes());
            }
        }
        self.commit(batch)
    }

    /// Opens the audit log. Reports one that is not the log of the last start, or is shorter than it was then.
    ///
    /// # Errors
    /// The log can't be opened, or the store can't be read or written.
    pub(super) fn open_audit(&self) -> Result<(AuditLog, Option<Loss>), StartError> {
        let path = AuditLog::path(self.folder);
        let row = self.store.get(Table::Meta, META_AUDITED);
        let row = row.map_err(StartError::StoreFailed)?;
        let lost = is_lost(row.as_deref(), AuditLog::mark(self.folder)?.as_ref());
        let handle = self.committer.handle();
        let remember = move |mark: &LogMark| {
            // If the store has failed, the next start reports the loss.
            let _ = handle.commit(Class::Normal, audited(mark));
        };
        let log = AuditLog::open_remembered(self.folder, Box::new(remember))?;
        // The line before the row: after a crash in between, the loss is reported again.
        if lost {
            log.begins_anew();
        }
        if let Some(mark) = AuditLog::mark(self.folder)? {
            self.commit(audited(&mark))?;
        }
        let loss = lost.then(|| Loss {
            info: AUDIT_LOST,
            message: format!("{} was lost and begins anew", path.display()),
        });
        Ok((log, loss))
    }

    /// Compares the rows of attachments with the files.
    ///
    /// # Errors
    /// The store or the folder of files can't be read.
    pub(super) fn check_attachments(&self, files: &Files) -> Result<Option<Loss>, StartError> {
        let (mut checked, mut lost, mut from) = (0_usize, 0_usize, Vec::new());
        while checked < ATTACHMENTS_CHECKED_MAX {
            let rows = self.store.scan(Table::Attachments, &from, None, PAGE);
            let rows = rows.map_err(StartError::StoreFailed)?;
            let Some((last, _)) = rows.last() else { break };
            from = [last.as_slice(), &[0]].concat();
            for (key, _) in &rows {
                let Ok(hash) = <[u8; 32]>::try_from(key.as_slice()) else {
                    continue;
                };
                checked += 1;
                if files.size(&Hash::from_bytes(hash))?.is_none() {
                    lost += 1;
                }
            }
        }
        let folder = files.folder().display();
        Ok((lost > 0).then(|| Loss {
            info: crate::files::lost(),
            message: format!("{lost} of {checked} attachments are missing from {folder}"),
        }))
    }

    fn commit(&self, batch: WriteBatch) -> Result<(), StartError> {
        commit(self.committer, batch)
    }
}

/// Forgets a member that has left the network: its file, and that the store remembers it. The node does not run.
/// Returns the path of the file.
///
/// # Errors
/// The store is in use or can't be written, or no other member of this name is remembered.
pub fn forget_member(files: &NodeFiles, name: &str) -> Result<PathBuf, StartError> {
    let options = store_options(&files.config, files.custody());
    let store = LedgerStore::open(&files.ledger(), &options)?;
    let found = members(&store)?
        .into_iter()
        .find(|(_, known)| known == name);
    let Some((id, _)) = found.filter(|(id, _)| *id != files.info.party.id()) else {
        return Err(StartError::UnknownMember(name.to_owned()));
    };
    let path = member_file(&files.dir, &id);
    if let Err(source) = std::fs::remove_file(&path)
        && source.kind() != std::io::ErrorKind::NotFound
    {
        return Err(StartError::Folder { path, source });
    }
    let committer = LedgerCommitter::start(store, CommitterOptions::default())
        .map_err(|error| StartError::System(format!("cannot start the commit thread: {error}")))?;
    let mut batch = WriteBatch::default();
    batch.delete(Table::Meta, member_key(&id));
    commit(&committer, batch)?;
    Ok(path)
}

fn commit(committer: &LedgerCommitter, batch: WriteBatch) -> Result<(), StartError> {
    if batch.is_empty() {
        return Ok(());
    }
    let committed = committer.handle().commit(Class::Normal, batch);
    committed.map(drop).map_err(StartError::StoreFailed)
}

/// Whether the audit log is not the one that the row remembers. Earlier releases remembered only that there was one.
fn is_lost(row: Option<&[u8]>, found: Option<&LogMark>) -> bool {
    let Some(row) = row else { return false };
    match (LogMark::from_bytes(row), found) {
        (_, None) => true,
        (Ok(known), Some(found)) => !found.follows(&known),
        (Err(_), Some(_)) => !row.is_empty(),
    }
}

/// The row that remembers the place of the audit log.
fn audited(mark: &LogMark) -> WriteBatch {
    let mut batch = WriteBatch::default();
    batch.put(Table::Meta, META_AUDITED, mark.to_bytes());
    batch
}

fn member_key(id: &PartyId) -> Vec<u8> {
    meta_key(META_MEMBER, id.as_bytes())
}

/// The remembered members with their names.
fn members(store: &LedgerStore) -> Result<Vec<(PartyId, String)>, StartError> {
    let to = prefix_end(META_MEMBER);
    let rows = store
        .scan(Table::Meta, META_MEMBER, to.as_deref(), MEMBERS_MAX)
        .map_err(StartError::StoreFailed)?;
    let rows = rows.into_iter().filter_map(|(key, name)| {
        let id = key.get(META_MEMBER.len()..)?.try_into().ok()?;
        Some((PartyId::from_array(id), String::from_utf8(name).ok()?))
    });
    Ok(rows.collect())
}
