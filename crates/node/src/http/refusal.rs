//! A "no" with a code, before it becomes HTTP.

use std::borrow::Cow;

use api::{DeliveryRefusal, ErrorInfo, FlowFailure, FlowStatus};
use flow::FlowId;
use ledger::{Rejection, TxId};

/// A "no" with a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Stable, `domain.snake_case`.
    pub code: Cow<'static, str>,
    /// The description of the fault.
    pub message: String,
    /// The recommended action.
    pub hint: Cow<'static, str>,
    /// The delay before a retry, if a retry can help.
    pub retry_after_ms: Option<u64>,
    /// The flow whose failure this is.
    pub flow: Option<Box<FailedFlow>>,
}

/// A flow that has failed or was killed, or whose result cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedFlow {
    /// The flow.
    pub flow_id: FlowId,
    /// Its status.
    pub status: FlowStatus,
    /// The transactions that it recorded before.
    pub transactions: Vec<TxId>,
    /// Refusals of these transactions by participants.
    pub refused: Vec<DeliveryRefusal>,
    /// Participants that have not answered for these transactions yet, by legal name.
    pub undelivered: Vec<String>,
}

impl Refusal {
    /// One of the API's own codes, with the action of its page as the hint.
    pub fn listed(info: &'static ErrorInfo, message: impl Into<String>) -> Self {
        Self {
            code: Cow::Borrowed(info.code),
            message: message.into(),
            hint: Cow::Borrowed(info.action),
            retry_after_ms: None,
            flow: None,
        }
    }

    /// No room: try again later.
    pub fn busy(retry_after_ms: u64) -> Self {
        Self {
            retry_after_ms: Some(retry_after_ms),
            ..Self::listed(
                &api::codes::NODE_BUSY,
                "the node has as much work as it accepts",
            )
        }
    }

    /// The HTTP status: of the API's own codes the listed one; any other code is a well-formed request that was refused. The failure
    /// of a flow is a refusal whatever its code: a status that asks for a retry would start the flow again.
    pub(crate) fn status(&self) -> u16 {
        const REFUSED: u16 = 422;
        let has_failed = |flow: &FailedFlow| !flow.status.is_success();
        let is_failure = self.flow.as_deref().is_some_and(has_failed);
        let info = api::codes::info(&self.code).filter(|_| !is_failure);
        info.map_or(REFUSED, |info| info.status)
    }

    /// Converts the refusal to the error of a flow's state.
    pub(super) fn into_failure(self) -> FlowFailure {
        FlowFailure {
            code: self.code.into_owned(),
            message: self.message,
            hint: self.hint.into_owned(),
            retry_after_ms: self.retry_after_ms,
        }
    }
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        Self {
            code: Cow::Owned(rejection.code),
            message: rejection.message,
            hint: Cow::Owned(rejection.hint),
            retry_after_ms: None,
            flow: None,
        }
    }
}

/// Delay in milliseconds that a `busy` answer suggests when a place is missing.
const PLACE_RETRY_MS: u64 = 200;

/// No place, in the whole server or in the client's share: try again later.
pub(crate) fn no_place(what: &str) -> Refusal {
    Refusal {
        message: format!("the maximum number of {what} is reached, in total or for this client"),
        ..Refusal::busy(PLACE_RETRY_MS)
    }
}
