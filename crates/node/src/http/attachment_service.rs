//! The node's files, as the API sees them.

use std::sync::Arc;

use api::{AttachmentPage, AttachmentQuery, AttachmentView};
use primitives::Hash;
use store::{FileReader, Published};

use super::service::Pending;
use crate::uploads::Uploads;

/// The port to the store of files. No method blocks. An answered change is durable.
pub trait AttachmentService: Send + Sync + 'static {
    /// Files on their way in.
    fn uploads(&self) -> &Arc<Uploads>;

    /// Records a file that a user uploaded. Whether it was not here before.
    fn store_attachment(
        &self,
        published: Published,
        name: Option<String>,
        media_type: Option<String>,
        user: &Arc<str>,
    ) -> Pending<'_, (AttachmentView, bool)>;

    /// Returns the record of a file.
    fn attachment(&self, hash: Hash) -> Pending<'_, AttachmentView>;

    /// Files after a hash.
    fn attachments(
        &self,
        query: AttachmentQuery,
        after: Option<Hash>,
        limit: usize,
    ) -> Pending<'_, AttachmentPage>;

    /// A file that is to be read.
    fn attachment_content(&self, hash: Hash) -> Pending<'_, (AttachmentView, FileReader)>;

    /// Says whether a file is trusted.
    fn trust_attachment(
        &self,
        hash: Hash,
        trusted: bool,
        user: &Arc<str>,
    ) -> Pending<'_, AttachmentView>;

    /// Removes a file that nothing refers to.
    fn remove_attachment(&self, hash: Hash) -> Pending<'_, ()>;
}
