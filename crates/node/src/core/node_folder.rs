//! The node's folder at a start: reads its contents for the kernel, which compares them with the store's record, and reports losses
//! to the operator.

use std::path::{Path, PathBuf};

use kernel::Event;
use kernel::folder::{
    AuditMark, FolderContents, FolderReport, forget_member as forget_row, members,
};
use kernel::port::Table;
use primitives::storage::Reads;
use primitives::{ErrorInfo, Hash};
use store::{Class, Files};
use vaultview::contracts_held;

use super::messages::KernelHandle;
use super::start_error::StartError;
use super::storage::Storage;
use crate::bootstrap::{NodeFiles, member_file};
use crate::ledger_store::LedgerStore;
use crate::users::{AUDIT_LOST, AuditLog};

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

/// Reads the contents of a node's folder. It must run before the view in the file `view` is opened, because opening may drop the view.
///
/// # Errors
/// The audit log can't be read.
pub(super) fn contents(folder: &Path, view: &Path) -> Result<FolderContents, StartError> {
    Ok(FolderContents {
        view_states: contracts_held(view).into_iter().collect(),
        audit: audit_mark(folder)?,
    })
}

/// Returns the position of a folder's audit log.
///
/// # Errors
/// It can't be read.
pub(super) fn audit_mark(folder: &Path) -> Result<Option<AuditMark>, StartError> {
    Ok(AuditLog::mark(folder)?)
}

/// Warns about the states that the node holds and cannot use.
pub(super) fn warn_of_unusable_states(report: &FolderReport) {
    for (name, states) in &report.unusable_states {
        tracing::warn!(
            code = "contract.unknown",
            contract = %name,
            states,
            "this program lacks the contract {name}, of which the node has {states} unconsumed states: they are kept, and can be \
             neither shown nor used until the node is started with the application that brings it"
        );
    }
}

/// Opens the audit log. Reports its position to the kernel if the log is new, and whenever it begins anew. If the log of the last start
/// is lost, the new one says so in a line, and the loss is returned.
///
/// # Errors
/// The log can't be opened or read.
pub(super) fn open_audit(
    folder: &Path,
    is_lost: bool,
    kernel: &KernelHandle,
) -> Result<(AuditLog, Option<Loss>), StartError> {
    let is_there = AuditLog::mark(folder)?.is_some();
    let teller = kernel.clone();
    // If the store has failed, the next start reports the loss.
    let tell = move |mark| teller.tell(Event::AuditMarked(mark));
    let log = AuditLog::open_remembered(folder, Box::new(tell))?;
    if is_lost {
        log.begins_anew()?;
    }
    // After a crash before this row is durable, the loss is reported again.
    if (is_lost || !is_there)
        && let Some(mark) = AuditLog::mark(folder)?
    {
        kernel.tell(Event::AuditMarked(mark));
    }
    let path = AuditLog::path(folder);
    let loss = is_lost.then(|| Loss {
        info: AUDIT_LOST,
        message: format!("{} was lost and begins anew", path.display()),
    });
    Ok((log, loss))
}

/// Compares the rows of attachments with the files.
///
/// # Errors
/// The store or the folder of files can't be read.
pub(super) fn check_attachments(
    store: &LedgerStore,
    files: &Files,
) -> Result<Option<Loss>, StartError> {
    let (mut checked, mut lost, mut from) = (0_usize, 0_usize, Vec::new());
    while checked < ATTACHMENTS_CHECKED_MAX {
        let rows = store.scan(Table::Attachments, &from, None, PAGE);
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

/// Forgets a member that has left the network: deletes its file, and its row in the store. The node must be stopped. Returns the path
/// of the file.
///
/// # Errors
/// The store is in use or can't be written, or no other member of this name is remembered.
pub fn forget_member(files: &NodeFiles, name: &str) -> Result<PathBuf, StartError> {
    let storage = Storage::open(files, false)?;
    let found = members(&storage.store).map_err(StartError::StoreFailed)?;
    let found = found.into_iter().find(|(_, known)| known == name);
    let Some((id, _)) = found.filter(|(id, _)| *id != files.info.party.id()) else {
        return Err(StartError::UnknownMember(name.to_owned()));
    };
    let path = member_file(&files.dir, &id);
    if let Err(source) = std::fs::remove_file(&path)
        && source.kind() != std::io::ErrorKind::NotFound
    {
        return Err(StartError::Folder { path, source });
    }
    let committer = storage.committer.handle();
    let committed = committer.commit(Class::Normal, forget_row(&id));
    committed.map_err(StartError::StoreFailed)?;
    Ok(path)
}
