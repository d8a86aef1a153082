//! Why a site cannot go on.

use std::time::Duration;

use client::ClientError;
use thiserror::Error;

use crate::audit::CollectError;
use crate::workload::codes::{BAD_BOOKS, VIEW_BEHIND};
use crate::workload::ended::Failed;

/// Time limit for the views to catch up.
pub(super) const CATCH_UP_MAX: Duration = Duration::from_secs(120);

/// Why a site cannot continue.
#[derive(Debug, Error)]
pub enum SiteError {
    /// A node's API failed.
    #[error("{name}: {source} ({})", .source.hint())]
    Client {
        /// The node.
        name: String,
        /// The client's error.
        #[source]
        source: ClientError,
    },
    /// The audit could not read the books.
    #[error(transparent)]
    Collect(#[from] CollectError),
    /// The audit of files failed.
    #[error(transparent)]
    Files(Failed),
    /// The views are too far behind.
    #[error("the vault view of {0} has not caught up after {max} s", max = CATCH_UP_MAX.as_secs())]
    ViewBehind(String),
}

impl SiteError {
    /// Returns a stable code.
    pub fn code(&self) -> &str {
        match self {
            SiteError::Client { source, .. } => source.code(),
            SiteError::Collect(CollectError::Call { source, .. }) => source.code(),
            SiteError::Collect(CollectError::Malformed { .. }) => BAD_BOOKS,
            SiteError::Files(failed) => &failed.fault.code,
            SiteError::ViewBehind(_) => VIEW_BEHIND,
        }
    }
}

impl From<SiteError> for Failed {
    fn from(error: SiteError) -> Self {
        Failed::new(error.code().to_owned(), error.to_string())
    }
}
