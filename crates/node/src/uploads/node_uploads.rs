//! The uploads of a node.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use api::UploadView;
use api::codes::{INTERNAL, UNKNOWN_UPLOAD, UPLOADS_LIMITED, files as file_codes};
use primitives::Coded;
use store::{Files, FilesError, PartId};

use super::blocking::blocking;
use super::incoming::Incoming;
use super::options::UploadLimits;
use super::part_owner::PartOwner;
use super::places::{Place, Places, TransferFigures};
use super::promise::Promise;
use super::upload::{Note, Slot, Upload};
use crate::http::Refusal;

/// Interval at which abandoned uploads are removed.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Delay in milliseconds that users with too many open uploads are told.
const LIMITED_RETRY_MS: u64 = 2_000;

/// The uploads of a node.
#[derive(Debug)]
pub struct Uploads {
    pub(super) files: Files,
    pub(super) limits: UploadLimits,
    open: Mutex<BTreeMap<[u8; 16], Arc<Upload>>>,
    pub(super) places: Arc<Places>,
}

impl Uploads {
    /// Reopens the uploads of earlier runs. Blocks.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn open(files: Files, limits: UploadLimits) -> Result<Self, FilesError> {
        let mut open = BTreeMap::new();
        for found in files.parts()? {
            let PartId::Upload(id) = found.id else {
                continue;
            };
            let note = files.note(&found.id)?;
            match note.as_deref().and_then(Note::read) {
                Some(note) if open.len() < limits.open_max => {
                    let upload = Upload::new(id, note, found.len);
                    open.insert(id, Arc::new(upload));
                }
                // An upload in one piece that broke off, or one beyond the limit.
                _ => drop(files.remove_part(found.id)?),
            }
        }
        Ok(Self {
            files,
            open: Mutex::new(open),
            places: Arc::new(Places::new(
                limits.transfers_max,
                limits.transfers_per_user_max,
            )),
            limits,
        })
    }

    /// A place for a transfer of a user: an upload that sends, or a download.
    ///
    /// # Errors
    /// No place is free.
    pub fn place(&self, user: &Arc<str>) -> Result<Place, Refusal> {
        self.places.take(user).ok_or_else(|| limited("transfers"))
    }

    /// Refuses an announced size that is too large.
    ///
    /// # Errors
    /// `tx.attachment_too_large`, `files.disk_full`.
    pub fn check_size(&self, size: Option<u64>) -> Result<(), Refusal> {
        let Some(size) = size else {
            return Ok(());
        };
        if size > self.limits.bytes_max {
            return Err(self.too_large(size));
        }
        self.files.room_for(size).map_err(Refusal::from)
    }

    fn too_large(&self, size: u64) -> Refusal {
        let most = self.limits.bytes_max;
        let text = format!("the file has {size} bytes or more, the network allows {most}");
        Refusal::listed(&file_codes::TOO_LARGE, text)
    }

    /// Begins an upload in one piece. An unfinished one leaves nothing behind.
    ///
    /// # Errors
    /// The disk refuses.
    pub async fn single(self: &Arc<Self>, promise: Promise) -> Result<Incoming, Refusal> {
        self.check_size(promise.size)?;
        let (files, id) = (self.files.clone(), fresh_id()?);
        let made = blocking(move || files.part(PartId::Upload(id)).map(PartOwner::single));
        Ok(Incoming::new(made.await??, promise, self.limits.bytes_max))
    }

    /// A user's upload.
    ///
    /// # Errors
    /// The user has none with this id.
    pub fn find(&self, user: &Arc<str>, id: &[u8; 16]) -> Result<Arc<Upload>, Refusal> {
        let found = self
            .lock()
            .get(id)
            .filter(|upload| upload.is_of(user))
            .cloned();
        found.ok_or_else(|| unknown(id))
    }

    /// Returns the state of an upload.
    pub fn view(&self, upload: &Upload) -> UploadView {
        upload.view(self.limits.idle)
    }

    /// Takes an upload to add to it or to finish it. No other request can take it meanwhile.
    ///
    /// # Errors
    /// Another request has it, or the disk fails.
    pub async fn take(self: &Arc<Self>, upload: &Arc<Upload>) -> Result<Incoming, Refusal> {
        let mut held = PartOwner::of(upload).ok_or_else(busy)?;
        if held.part.is_none() {
            held = self.reopened(held, upload.part_id()).await?;
        }
        if held.part.is_none() {
            self.forget(upload);
            return Err(unknown(upload.id()));
        }
        upload.touch();
        let (promise, most) = (upload.promise(), self.limits.bytes_max);
        Ok(Incoming::new(held, promise, most))
    }

    /// Opens a stored part, which reads and hashes it whole. It continues without the request, so that the next request finds the
    /// part open.
    async fn reopened(&self, mut held: PartOwner, id: PartId) -> Result<PartOwner, Refusal> {
        let files = self.files.clone();
        let opened = blocking(move || {
            held.part = files.find_part(id)?;
            Ok::<_, FilesError>(held)
        });
        Ok(opened.await??)
    }

    /// The upload has become a file, or is gone.
    pub fn forget(&self, upload: &Upload) {
        self.lock().remove(upload.id());
    }

    /// Removes an upload, also if the request is dropped meanwhile.
    ///
    /// # Errors
    /// Another request sends to it, or the disk fails.
    pub async fn remove(&self, upload: &Arc<Upload>) -> Result<(), Refusal> {
        let slot = upload.take_slot();
        if matches!(slot, Slot::Lent) {
            return Err(busy());
        }
        // From here on no request finds it, also if the disk fails.
        self.forget(upload);
        let (files, id) = (self.files.clone(), upload.part_id());
        let removed = blocking(move || {
            drop(slot);
            files.remove_part(id)
        });
        removed.await?.map(|_| ()).map_err(Refusal::from)
    }

    /// Forgets uploads that nothing was sent to for long. Tells how many.
    pub async fn sweep(&self) -> usize {
        let idle: Vec<Arc<Upload>> = {
            let open = self.lock();
            let is_idle = |upload: &&Arc<Upload>| upload.idle() > self.limits.idle;
            open.values().filter(is_idle).cloned().collect()
        };
        let mut gone = 0;
        for upload in idle {
            match self.remove(&upload).await {
                Ok(()) => gone += 1,
                // Another request sends to it again, or the disk fails. The next start removes it then.
                Err(refusal) => tracing::debug!(code = %refusal.code, "an idle upload stays"),
            }
        }
        gone
    }

    /// Returns the figures of the users' transfers.
    pub fn figures(&self) -> TransferFigures {
        self.places.figures()
    }

    /// Returns the number of open uploads.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, BTreeMap<[u8; 16], Arc<Upload>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets idle uploads until the node is gone.
pub async fn watch(uploads: Weak<Uploads>) {
    loop {
        tokio::time::sleep(SWEEP_EVERY).await;
        let Some(uploads) = uploads.upgrade() else {
            return;
        };
        let gone = uploads.sweep().await;
        if gone > 0 {
            tracing::info!(gone, "idle uploads were forgotten");
        }
    }
}

/// Draws the id of an upload.
pub(super) fn fresh_id() -> Result<[u8; 16], Refusal> {
    let mut id = [0; 16];
    getrandom::fill(&mut id)
        .map_err(|_| Refusal::listed(&INTERNAL, "the system gives no random bytes"))?;
    Ok(id)
}

/// Returns the refusal of a request beyond a maximum number.
pub(super) fn limited(what: &str) -> Refusal {
    Refusal {
        retry_after_ms: Some(LIMITED_RETRY_MS),
        ..Refusal::listed(
            &UPLOADS_LIMITED,
            format!("the node's maximum number of {what} is open"),
        )
    }
}

fn unknown(id: &[u8; 16]) -> Refusal {
    let text = format!("no upload {} of this user", primitives::hex::encode(id));
    Refusal::listed(&UNKNOWN_UPLOAD, text)
}

fn busy() -> Refusal {
    Refusal::listed(&file_codes::BUSY, "another request sends to this upload")
}

impl From<FilesError> for Refusal {
    fn from(error: FilesError) -> Self {
        if !error.is_senders_fault() {
            tracing::warn!(code = error.code(), hint = error.hint(), "{error}");
        }
        Self {
            code: error.code().into(),
            message: error.to_string(),
            hint: error.hint().into(),
            retry_after_ms: None,
            flow: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use store::FilesOptions;

    use super::*;

    /// Stores an upload whose part was written a year ago by the wall clock, and opens the folder as the next start does.
    fn reopened(folder: &std::path::Path, idle: Duration) -> Uploads {
        let files = Files::open(folder, FilesOptions::default()).expect("opens");
        let note = Note {
            user: "ann".to_owned(),
            wish: api::NewUpload::default(),
        };
        let id = PartId::Upload([1; 16]);
        let mut part = files.new_part(id, &note.write()).expect("a part");
        part.write(b"some bytes").expect("written");
        drop(part);
        let year = Duration::from_secs(365 * 24 * 3_600);
        for entry in walk(folder) {
            let file = File::options().write(true).open(entry).expect("opens");
            let past = SystemTime::now().checked_sub(year).expect("a time");
            file.set_modified(past).expect("set");
        }
        let limits = UploadLimits {
            idle,
            ..UploadLimits::default()
        };
        Uploads::open(files, limits).expect("opens")
    }

    /// Returns the files below a folder.
    fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(folder).expect("a folder").flatten();
        entries
            .flat_map(|entry| match entry.path() {
                path if path.is_dir() => walk(&path),
                path => vec![path],
            })
            .collect()
    }

    #[tokio::test]
    async fn an_upload_is_idle_by_a_clock_that_cannot_be_set() {
        // (time after which an idle upload is forgotten, uploads that a sweep leaves)
        for (idle, left) in [(Duration::from_secs(3_600), 1), (Duration::ZERO, 0)] {
            let folder = tempfile::tempdir().expect("a folder");
            let uploads = reopened(folder.path(), idle);
            assert_eq!(uploads.count(), 1);
            uploads.sweep().await;
            assert_eq!(uploads.count(), left, "{idle:?}");
        }
    }
}
