//! A change of users that is about to be made.

use std::sync::Arc;

use super::line::AuditLine;
use super::log::AuditLog;
use crate::users::error::UsersError;

/// A change of users that is about to be made. Its line is durable before the change, so no change is made that a crash or a full
/// disk hides.
#[derive(Debug)]
pub struct ChangeIntent(Option<(Arc<AuditLog>, AuditLine)>);

impl ChangeIntent {
    /// An intent to change users. A server without an audit log notes nothing.
    pub fn new(log: Option<&Arc<AuditLog>>, line: AuditLine) -> Self {
        Self(log.map(|log| (Arc::clone(log), line.begun())))
    }

    /// Writes the line and waits until it is durable.
    ///
    /// # Errors
    /// The line can't be written. Then the change must not be made.
    pub(crate) fn begin(self) -> Result<(), UsersError> {
        match self.0 {
            Some((log, line)) => log.write_durably(line),
            None => Ok(()),
        }
    }
}
