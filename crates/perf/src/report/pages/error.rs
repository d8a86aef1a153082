//! Errors of the published pages.

use primitives::ErrorInfo;

use crate::report::saved::SaveError;

/// Why the pages were not made.
#[derive(Debug, thiserror::Error)]
pub enum PagesError {
    /// The catalogue is not as described, or does not fit the saved run files.
    #[error("{path}: {why}")]
    Catalogue {
        /// The file or the folder.
        path: String,
        /// The entry and the expected one.
        why: String,
    },
    /// A saved run file cannot be used.
    #[error(transparent)]
    Saved(#[from] SaveError),
}

/// The error codes of this module with causes and actions, sorted.
pub const ERRORS: &[ErrorInfo] = &[ErrorInfo {
    code: "lab.results_catalogue",
    cause: "The catalogue of the published results is not valid, or a saved run file is on no page.",
    action: "Correct docs/results/pages.toml at the named entry; the guide on publishing results lists its fields.",
}];

impl PagesError {
    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match self {
            PagesError::Catalogue { .. } => "lab.results_catalogue",
            PagesError::Saved(error) => error.code(),
        }
    }
}
