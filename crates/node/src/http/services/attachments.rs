//! The service of files.

use std::sync::Arc;

use api::{AttachmentPage, AttachmentQuery, AttachmentView};
use primitives::Hash;
use store::{FileReader, Published};

use crate::http::pending::Pending;
use crate::uploads::Uploads;

/// The port to the store of files. No method blocks. An answered change is durable.
pub trait AttachmentService: Send + Sync + 'static {
    /// Returns the uploads in flight.
    fn uploads(&self) -> &Arc<Uploads>;

    /// Records a file that a user uploaded. Returns its record, and whether the file is new.
    fn store_attachment(
        &self,
        published: Published,
        name: Option<String>,
        media_type: Option<String>,
        user: &Arc<str>,
    ) -> Pending<'_, (AttachmentView, bool)>;

    /// Returns the record of a file.
    fn attachment(&self, hash: Hash) -> Pending<'_, AttachmentView>;

    /// Returns files after a hash.
    fn attachments(
        &self,
        query: AttachmentQuery,
        after: Option<Hash>,
        limit: usize,
    ) -> Pending<'_, AttachmentPage>;

    /// Returns the record of a file and a reader of its bytes.
    fn attachment_content(&self, hash: Hash) -> Pending<'_, (AttachmentView, FileReader)>;

    /// Changes whether a file is trusted.
    fn trust_attachment(
        &self,
        hash: Hash,
        trusted: bool,
        user: &Arc<str>,
    ) -> Pending<'_, AttachmentView>;

    /// Removes a file that nothing refers to.
    fn remove_attachment(&self, hash: Hash) -> Pending<'_, ()>;
}
