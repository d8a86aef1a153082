//! The reasons why a kernel does not open on a store.

use flow::{FlowId, MissingVersion};
use ledger::PartyId;
use thiserror::Error;

use crate::port::StoreFailure;

/// Why a node does not start.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The store can't be read.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// The network lacks a member that the store remembers from an earlier start.
    #[error("{name} ({id}) was a member of the network at an earlier start, and is not one now")]
    MemberLost {
        /// Its id.
        id: PartyId,
        /// Its name.
        name: String,
    },
    /// Flows are in flight on versions that this binary does not have.
    #[error("{}", describe_missing(.0))]
    VersionsMissing(Vec<MissingVersion>),
}

impl OpenError {
    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match self {
            OpenError::Store(failure) => failure.code,
            OpenError::MemberLost { .. } => crate::errors::MEMBER_LOST.code,
            OpenError::VersionsMissing(_) => crate::errors::VERSIONS_MISSING.code,
        }
    }

    /// Returns the suggested action.
    pub fn hint(&self) -> &'static str {
        match self {
            OpenError::Store(failure) => failure.hint,
            OpenError::MemberLost { .. } => crate::errors::MEMBER_LOST.action,
            OpenError::VersionsMissing(_) => crate::errors::VERSIONS_MISSING.action,
        }
    }
}

fn describe_missing(missing: &[MissingVersion]) -> String {
    let each = missing.iter().map(|m| {
        let kind = if m.responder { "the responder to " } else { "" };
        let flows: Vec<String> = m.flows.iter().take(5).map(FlowId::to_string).collect();
        let more = m.flows.len() - flows.len();
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        format!(
            "{kind}{} version {} ({}{more})",
            m.name,
            m.version,
            flows.join(", ")
        )
    });
    let list: Vec<String> = each.collect();
    format!(
        "flows are in flight on versions this binary lacks: {}",
        list.join("; ")
    )
}
