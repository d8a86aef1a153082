//! The files of the fake node: bytes on a real disk, rows in memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use api::codes::files as codes;
use api::{AttachmentPage, AttachmentQuery, AttachmentView};
use node::http::{AttachmentService, Pending, Refusal};
use node::uploads::{UploadLimits, Uploads};
use primitives::Hash;
use store::{FileReader, Files, FilesOptions, Published};

pub struct FakeFiles {
    pub folder: tempfile::TempDir,
    pub files: Files,
    pub uploads: Arc<Uploads>,
    rows: Mutex<BTreeMap<Hash, AttachmentView>>,
}

/// Limits that tests reach.
pub const BYTES_MAX: u64 = 3 << 20;
pub const OPEN_PER_USER_MAX: usize = 6;
pub const TRANSFERS_PER_USER_MAX: usize = 4;

impl FakeFiles {
    pub fn new() -> Self {
        Self::of(tempfile::tempdir().expect("a folder"))
    }

    /// The files of a node that starts with the same folder.
    pub fn opened_again(self) -> Self {
        let Self {
            folder,
            files,
            uploads,
            ..
        } = self;
        drop((files, uploads));
        Self::of(folder)
    }

    fn of(folder: tempfile::TempDir) -> Self {
        let options = FilesOptions {
            keep_free_bytes: 0,
            ..FilesOptions::default()
        };
        let files = Files::open(folder.path(), options).expect("opens");
        let limits = UploadLimits {
            bytes_max: BYTES_MAX,
            open_max: 2 * OPEN_PER_USER_MAX - 1,
            open_per_user_max: OPEN_PER_USER_MAX,
            transfers_max: 2 * TRANSFERS_PER_USER_MAX,
            transfers_per_user_max: TRANSFERS_PER_USER_MAX,
            idle: Duration::from_secs(600),
        };
        let uploads = Uploads::open(files.clone(), limits).expect("opens");
        Self {
            folder,
            files,
            uploads: Arc::new(uploads),
            rows: Mutex::default(),
        }
    }

    fn rows(&self) -> MutexGuard<'_, BTreeMap<Hash, AttachmentView>> {
        self.rows.lock().expect("no test panics with it")
    }

    /// Turns a file into one that came from a peer, which may give it any name.
    pub fn came_from_peer(&self, hash: &str, name: &str, media_type: &str) {
        let hash: Hash = hash.parse().expect("a hash");
        let mut rows = self.rows();
        let row = rows.get_mut(&hash).expect("it is here");
        row.name = name.to_owned();
        row.media_type = media_type.to_owned();
        row.trusted = false;
        row.references = 1;
    }

    /// Whole files and parts that lie on the disk.
    pub fn on_disk(&self) -> (usize, usize) {
        let count = |folder: &Path| walk(folder);
        let root = self.folder.path();
        (count(&root.join("files")), count(&root.join("parts")))
    }
}

fn walk(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .map(|path| if path.is_dir() { walk(&path) } else { 1 })
        .sum()
}

fn known(files: &FakeFiles, hash: &Hash) -> Result<AttachmentView, Refusal> {
    let row = files.rows().get(hash).cloned();
    row.ok_or_else(|| Refusal::listed(&codes::UNKNOWN, "not here"))
}

impl AttachmentService for FakeFiles {
    fn uploads(&self) -> &Arc<Uploads> {
        &self.uploads
    }

    fn store_attachment(
        &self,
        published: Published,
        name: Option<String>,
        media_type: Option<String>,
        user: &Arc<str>,
    ) -> Pending<'_, (AttachmentView, bool)> {
        let user = user.to_string();
        let view = AttachmentView {
            hash: published.hash.to_string(),
            size: published.size,
            name: name.unwrap_or_default(),
            media_type: media_type.unwrap_or_default(),
            trusted: true,
            trust_by: Some(user.clone()),
            uploaded_by: Some(user),
            received_from: None,
            stored_at_ms: 1,
            references: 0,
        };
        let mut rows = self.rows();
        let is_new = !rows.contains_key(&published.hash);
        let view = rows.entry(published.hash).or_insert(view).clone();
        Box::pin(async move { Ok((view, is_new)) })
    }

    fn attachment(&self, hash: Hash) -> Pending<'_, AttachmentView> {
        Box::pin(async move { known(self, &hash) })
    }

    fn attachments(
        &self,
        query: AttachmentQuery,
        after: Option<Hash>,
        limit: usize,
    ) -> Pending<'_, AttachmentPage> {
        let rows = self.rows();
        let meets = |row: &AttachmentView| {
            query
                .name
                .as_ref()
                .is_none_or(|name| row.name.contains(name))
                && query.trusted.is_none_or(|trusted| trusted == row.trusted)
        };
        let rest = rows
            .iter()
            .filter(|(hash, _)| after.is_none_or(|after| **hash > after));
        let mut attachments: Vec<_> = rest.map(|(_, row)| row.clone()).filter(meets).collect();
        let more = attachments.len() > limit;
        attachments.truncate(limit);
        let last = attachments.last().filter(|_| more);
        let next = last.map(|row| row.hash.clone());
        Box::pin(async move { Ok(AttachmentPage { attachments, next }) })
    }

    fn attachment_content(&self, hash: Hash) -> Pending<'_, (AttachmentView, FileReader)> {
        Box::pin(async move {
            let row = known(self, &hash)?;
            let reader = self.files.reader(&hash).map_err(Refusal::from)?;
            let reader = reader.ok_or_else(|| Refusal::listed(&codes::DAMAGED, "gone"))?;
            Ok((row, reader))
        })
    }

    fn trust_attachment(
        &self,
        hash: Hash,
        trusted: bool,
        user: &Arc<str>,
    ) -> Pending<'_, AttachmentView> {
        let user = user.to_string();
        Box::pin(async move {
            known(self, &hash)?;
            let mut rows = self.rows();
            let row = rows.get_mut(&hash);
            let row = row.ok_or_else(|| Refusal::listed(&codes::UNKNOWN, "not here"))?;
            (row.trusted, row.trust_by) = (trusted, Some(user));
            Ok(row.clone())
        })
    }

    fn remove_attachment(&self, hash: Hash) -> Pending<'_, ()> {
        Box::pin(async move {
            if known(self, &hash)?.references > 0 {
                return Err(Refusal::listed(&codes::REFERENCED, "listed"));
            }
            self.rows().remove(&hash);
            self.files.remove(&hash).map_err(Refusal::from)?;
            Ok(())
        })
    }
}
