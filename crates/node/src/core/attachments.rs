//! Files for the API: rows come from the store, changes go through the kernel, bytes from the disk.

use std::sync::Arc;

use api::codes::files as file_codes;
use api::{AttachmentPage, AttachmentQuery, AttachmentView};
use kernel::files::{FileFilter, FileOrigin, FileRecord, file_page, file_row};
use kernel::{Event, Reply};
use ledger::{NetworkMap, PartyId};
use primitives::Hash;
use store::{FileReader, Files, Published};

use super::refusals::{joined, stopping, store_refusal};
use super::service::Service;
use crate::files::remove_without_row;
use crate::http::place;
use crate::http::{AttachmentService, Pending, Refusal};
use crate::uploads::Uploads;

fn view(network: &NetworkMap, record: FileRecord) -> AttachmentView {
    let row = record.row;
    let named = |id: &PartyId| {
        let party = network.party(id);
        party.map_or_else(|| id.to_string(), |party| party.name.to_string())
    };
    let (uploaded_by, received_from) = match row.origin {
        FileOrigin::Uploaded { user } => (Some(user), None),
        FileOrigin::Received { from } => (None, Some(named(&from))),
    };
    AttachmentView {
        hash: record.hash.to_string(),
        size: row.size,
        name: row.name,
        media_type: row.media_type,
        trusted: row.trusted,
        trust_by: row.trust_by,
        uploaded_by,
        received_from,
        stored_at_ms: row.stored_at.as_ms(),
        references: row.refs,
    }
}

fn unknown(hash: &Hash) -> Refusal {
    Refusal::listed(&file_codes::UNKNOWN, format!("file {hash} is not here"))
}

impl Service {
    /// Reads a file's durable row, and converts it to the type of the API.
    async fn file_record(&self, hash: Hash) -> Result<AttachmentView, Refusal> {
        let (store, network) = (self.store.clone(), Arc::clone(&self.network));
        let read = move || {
            let row = file_row(&store, &hash).map_err(|failure| store_refusal(&failure))?;
            let row = row.ok_or_else(|| unknown(&hash))?;
            Ok(view(&network, FileRecord { hash, row }))
        };
        joined(place::blocking(read).await)
    }

    async fn record_file(
        &self,
        published: Published,
        name: Option<String>,
        media_type: Option<String>,
        user: String,
    ) -> Result<(AttachmentView, bool), Refusal> {
        let Published {
            hash, size, claim, ..
        } = published;
        let reply = self.ask(|token| Event::FileStored {
            hash,
            size,
            name: name.unwrap_or_default(),
            media_type: media_type.unwrap_or_default(),
            user,
            token,
        });
        let reply = reply.await;
        // The row is durable, or there will be none.
        drop(claim);
        match reply {
            Ok(Reply::FileKnown { record, is_new }) => Ok((view(&self.network, *record), is_new)),
            Ok(_) => Err(stopping()),
            Err(refusal) => {
                drop_file(&self.files, &self.store, hash).await;
                Err(refusal)
            }
        }
    }
}

/// Removes a file unless it has a row.
async fn drop_file(files: &Files, store: &crate::ledger_store::LedgerStore, hash: Hash) {
    let (files, store) = (files.clone(), store.clone());
    let removed = place::blocking(move || remove_without_row(&files, &store, &hash));
    if let Err(error) = removed.await {
        tracing::warn!(%error, "a file without a row stays until the next start");
    }
}

impl AttachmentService for Service {
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
        Box::pin(self.record_file(published, name, media_type, user.to_string()))
    }

    fn attachment(&self, hash: Hash) -> Pending<'_, AttachmentView> {
        Box::pin(self.file_record(hash))
    }

    fn attachments(
        &self,
        query: AttachmentQuery,
        after: Option<Hash>,
        limit: usize,
    ) -> Pending<'_, AttachmentPage> {
        let (store, network) = (self.store.clone(), Arc::clone(&self.network));
        let filter = FileFilter {
            name: query.name,
            media_type: query.media_type,
            trusted: query.trusted,
            unreferenced: query.unreferenced,
        };
        let read = move || {
            let page = file_page(&store, after.as_ref(), limit, &filter);
            let page = page.map_err(|failure| store_refusal(&failure))?;
            let views = page.files.into_iter().map(|record| view(&network, record));
            Ok(AttachmentPage {
                attachments: views.collect(),
                next: page.next.map(|hash| hash.to_string()),
            })
        };
        Box::pin(async move { joined(place::blocking(read).await) })
    }

    fn attachment_content(&self, hash: Hash) -> Pending<'_, (AttachmentView, FileReader)> {
        Box::pin(async move {
            let view = self.file_record(hash).await?;
            let files = self.files.clone();
            let open = move || files.reader(&hash).map_err(Refusal::from);
            let reader = joined(place::blocking(open).await)?;
            let reader = reader.ok_or_else(|| {
                let text = format!("the file of {hash} is not on the disk, but has a row");
                tracing::error!(code = file_codes::DAMAGED.code, "{text}");
                Refusal::listed(&file_codes::DAMAGED, text)
            })?;
            Ok((view, reader))
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
            let reply = self.ask(|token| Event::FileTrust {
                hash,
                trusted,
                user,
                token,
            });
            match reply.await? {
                Reply::FileKnown { record, .. } => Ok(view(&self.network, *record)),
                _ => Err(stopping()),
            }
        })
    }

    fn remove_attachment(&self, hash: Hash) -> Pending<'_, ()> {
        Box::pin(async move {
            match self.ask(|token| Event::FileRemove { hash, token }).await? {
                Reply::Done => Ok(()),
                _ => Err(stopping()),
            }
        })
    }
}
