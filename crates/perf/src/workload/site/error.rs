//! Why a site cannot go on.

use std::time::Duration;

use client::ClientError;
use thiserror::Error;

use crate::audit::CollectError;
use crate::workload::codes::{BAD_BOOKS, VIEW_BEHIND};
use crate::workload::traits::Failed;

/// How long the views may take to catch up.
pub(super) const CATCH_UP_MAX: Duration = Duration::from_secs(120);

/// Why a site cannot go on.
#[derive(Debug, Error)]
pub enum SiteError {
    /// A node's API.
    #[error("{name}: {source} ({})", .source.hint())]
    Client {
        /// Whose.
        name: String,
        /// What it said.
        #[source]
        source: ClientError,
    },
    /// The audit's reading.
    #[error(transparent)]
    Collect(#[from] CollectError),
    /// The audit of files.
    #[error(transparent)]
    Files(Failed),
    /// The views are too far behind.
    #[error("the vault view of {0} has not caught up after {max} s", max = CATCH_UP_MAX.as_secs())]
    ViewBehind(String),
}

impl SiteError {
    /// A stable code.
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
