//! Converts outcomes of flows to the API's types.

use api::FlowStatus;

use super::answer::{Ended, Output};
use super::refusal::Refusal;
use super::services::FlowService;

/// A refusal as the API writes it.
pub(super) fn refused_json(refused: kernel::DeliveryRefusal) -> api::DeliveryRefusal {
    api::DeliveryRefusal {
        transaction: refused.transaction.to_string(),
        party: refused.party,
        code: refused.rejection.code,
        message: refused.rejection.message,
        hint: refused.rejection.hint,
    }
}

/// Returns the status of an ended flow.
pub(super) fn status_of(ended: &Ended) -> FlowStatus {
    match (&ended.output, ended.delivered) {
        (Err(_), _) => FlowStatus::Failed,
        (Ok(_), true) => FlowStatus::Delivered,
        (Ok(_), false) => FlowStatus::Completed,
    }
}

/// A flow's output as JSON.
pub(super) fn output_json(
    service: &dyn FlowService,
    output: Output,
) -> Result<api::RawJson, Refusal> {
    match output {
        Output::Json(json) => Ok(json),
        Output::Encoded {
            flow,
            version,
            bytes,
        } => service.output_to_json(&flow, version, &bytes),
    }
}
