//! The start of an upload that can be interrupted.

use std::sync::Arc;

use api::{NewUpload, UploadView};
use store::{FilesError, Part, PartId};

use super::blocking::blocking;
use super::node_uploads::{Uploads, fresh_id, limited};
use super::upload::{Note, Slot, Upload};
use crate::http::Refusal;

impl Uploads {
    /// Begins an upload that can be interrupted.
    ///
    /// # Errors
    /// The user, or all together, have too many; the disk refuses.
    pub async fn begin(
        self: &Arc<Self>,
        user: &Arc<str>,
        new: NewUpload,
    ) -> Result<UploadView, Refusal> {
        self.check_size(new.size)?;
        let id = fresh_id()?;
        let note = Note {
            user: user.to_string(),
            wish: new,
        };
        let bytes = note.write();
        let upload = Arc::new(Upload::begun(id, note));
        {
            let mut open = self.lock();
            let own = open.values().filter(|upload| upload.is_of(user)).count();
            if open.len() >= self.limits.open_max || own >= self.limits.open_per_user_max {
                self.places.refused();
                return Err(limited("uploads"));
            }
            open.insert(id, Arc::clone(&upload));
        }
        let (files, mut begun) = (self.files.clone(), Begun::new(self, &upload));
        let made = blocking(move || {
            begun.has_part(files.new_part(PartId::Upload(id), &bytes)?);
            Ok::<_, FilesError>(begun)
        });
        made.await??.keep();
        Ok(self.view(&upload))
    }
}

/// An upload whose part is being made. If it is dropped before it is kept, it never existed: no client has learned its id.
#[derive(Debug)]
pub(super) struct Begun {
    uploads: Arc<Uploads>,
    upload: Option<Arc<Upload>>,
    part: Option<Part>,
}

impl Begun {
    pub(super) fn new(uploads: &Arc<Uploads>, upload: &Arc<Upload>) -> Self {
        Self {
            uploads: Arc::clone(uploads),
            upload: Some(Arc::clone(upload)),
            part: None,
        }
    }

    pub(super) fn has_part(&mut self, part: Part) {
        self.part = Some(part);
    }

    /// Keeps the upload, so that later requests find it.
    pub(super) fn keep(mut self) {
        if let (Some(upload), Some(part)) = (self.upload.take(), self.part.take()) {
            upload.put_back(Slot::Open(Box::new(part)));
        }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let Some(upload) = self.upload.take() else {
            return;
        };
        self.uploads.forget(&upload);
        drop(self.part.take());
        // If the removal fails, the upload is forgotten like any other idle upload, after the next start.
        drop(self.uploads.files.remove_part(upload.part_id()));
    }
}
