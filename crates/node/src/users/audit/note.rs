//! A line whose outcome is not known yet.

use std::sync::Arc;

use super::line::AuditLine;
use super::log::AuditLog;

/// A line whose outcome is not known yet; dropped without one, it says so.
#[derive(Debug)]
pub struct AuditNote {
    log: Arc<AuditLog>,
    line: Option<AuditLine>,
}

impl AuditNote {
    /// A note.
    pub fn new(log: &Arc<AuditLog>, line: AuditLine) -> Self {
        Self {
            log: Arc::clone(log),
            line: Some(line),
        }
    }

    /// Sets the subject of the line.
    pub fn about(&mut self, text: String) {
        if let Some(line) = &mut self.line {
            line.about = Some(text);
        }
    }

    /// Sets the user that the line is about.
    pub fn of(&mut self, subject: &str) {
        self.line = self.line.take().map(|line| line.of(subject));
    }

    /// Sets the flow that the line is about, or that there is none.
    pub fn names_flow(&mut self, flow_id: Option<String>) {
        if let Some(line) = &mut self.line {
            line.flow_id = flow_id;
        }
    }

    /// Writes the line; `code` says why it was refused.
    pub fn end(mut self, code: Option<&str>) {
        if let Some(line) = self.line.take() {
            self.log.write(match code {
                Some(code) => line.refused(code),
                None => line,
            });
        }
    }
}

impl Drop for AuditNote {
    fn drop(&mut self) {
        if let Some(mut line) = self.line.take() {
            line.outcome = "unknown";
            // A repeated start is about the flow of the first one, which is not known here.
            line.flow_id = line.flow_id.filter(|_| line.client_id.is_none());
            self.log.write(line);
        }
    }
}
