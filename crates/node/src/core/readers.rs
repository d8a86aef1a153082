//! Connections to the file of the vault's view, for queries.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockWriteGuard};

use vaultview::{VaultReader, VaultView, ViewProgress};

use super::view_feed::{FedPoint, ViewFailure, ViewFeed, found_damaged};
use super::view_fill::condemn;
use crate::http::Refusal;

/// The `retry_after_ms` of a refusal while the vault's view catches up.
pub(super) const VIEW_RETRY_MS: u64 = 500;

/// Connections to the view's file for queries, as many as are used at once.
pub(super) struct Readers {
    /// Places for queries whose cost is the client's choice.
    pub(super) queries: Arc<tokio::sync::Semaphore>,
    pub(super) path: PathBuf,
    pub(super) cache_bytes: u64,
    pub(super) feed: Arc<ViewFeed>,
    pub(super) progress: ViewProgress,
    /// Those that are open and not in use. The lock is held for reading while one is in use.
    pub(super) idle: RwLock<Mutex<Vec<VaultReader>>>,
}

/// Why a query has no answer.
#[derive(Debug)]
pub(super) enum QueryFailure {
    /// The view did not answer.
    View(Refusal),
    /// The query is refused for another reason.
    Refused(Refusal),
}

impl From<Refusal> for QueryFailure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl QueryFailure {
    /// Returns the failure of a query that met an error of the view.
    pub(super) fn of_view(error: &vaultview::ViewError) -> Self {
        condemn(error);
        Self::View(view_failed(error.to_string()))
    }

    /// Returns the refusal of the query's request.
    pub(super) fn into_refusal(self) -> Refusal {
        match self {
            Self::View(refusal) | Self::Refused(refusal) => refusal,
        }
    }
}

/// The lock that prevents new readers.
pub(super) type Closed<'a> = RwLockWriteGuard<'a, Mutex<Vec<VaultReader>>>;

impl Readers {
    /// Runs a query of the view. See [`Readers::lend`].
    pub(super) fn with<T>(
        &self,
        shown: FedPoint,
        query: impl FnOnce(&VaultReader) -> Result<T, vaultview::ViewError>,
    ) -> Result<T, Refusal> {
        self.lend(shown, |reader| {
            query(reader).map_err(|error| QueryFailure::of_view(&error))
        })
    }

    /// Runs a search with a reader, which other queries use afterwards. The caller has seen that the view shows everything up to a point.
    /// The search is refused if the view was opened again since and lacks some of that: it would find too little.
    pub(super) fn lend<T>(
        &self,
        shown: FedPoint,
        query: impl FnOnce(&VaultReader) -> Result<T, QueryFailure>,
    ) -> Result<T, Refusal> {
        let open = self.idle.read().unwrap_or_else(PoisonError::into_inner);
        if !self.feed.shows(self.progress.upto(), shown) {
            return Err(view_failed(
                "the vault's view is being filled again".to_owned(),
            ));
        }
        let lock = || open.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = lock().pop();
        let reader = match idle {
            Some(reader) => Ok(reader),
            None => VaultReader::open(&self.path, self.cache_bytes),
        };
        let answer = match reader {
            Ok(reader) => {
                let answer = query(&reader);
                if !matches!(answer, Err(QueryFailure::View(_))) {
                    lock().push(reader);
                }
                answer
            }
            Err(error) => Err(QueryFailure::of_view(&error)),
        };
        if matches!(answer, Err(QueryFailure::View(_)))
            && let Err(failure) = self.probe()
        {
            self.feed.reopen(failure);
        }
        answer.map_err(QueryFailure::into_refusal)
    }

    /// Checks with a new reader whether the view can be read. A query can fail for reasons of its own, for example for want of
    /// memory.
    fn probe(&self) -> Result<(), ViewFailure> {
        if VaultView::is_condemned(&self.path) {
            return Err(found_damaged());
        }
        let reader = VaultReader::open(&self.path, self.cache_bytes);
        reader.and_then(|reader| reader.upto())?;
        Ok(())
    }

    /// Waits until no reader is in use, and closes them all. None is opened until the result is dropped.
    pub(super) fn close(&self) -> Closed<'_> {
        let mut closed = self.idle.write().unwrap_or_else(PoisonError::into_inner);
        closed
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        closed
    }
}

/// Returns the refusal of a request while the view has failed.
pub(super) fn view_failed(message: String) -> Refusal {
    Refusal {
        retry_after_ms: Some(VIEW_RETRY_MS),
        ..Refusal::listed(&api::codes::files::VIEW_FAILED, message)
    }
}
