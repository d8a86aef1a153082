//! Converts outcomes of flows to the API's types.

use std::panic::{AssertUnwindSafe, catch_unwind};

use api::codes::{INTERNAL, RESULT_NOT_KEPT};
use api::{FlowStatus, RawJson};
use flow::FlowId;
use ledger::TxId;

use super::answer::{Ended, Output};
use super::refusal::{FailedFlow, Refusal};
use super::services::FlowService;

/// A refusal as the API writes it.
fn refused_json(refused: kernel::DeliveryRefusal) -> api::DeliveryRefusal {
    api::DeliveryRefusal {
        transaction: refused.transaction.to_string(),
        party: refused.party,
        code: refused.rejection.code,
        message: refused.rejection.message,
        hint: refused.rejection.hint,
    }
}

/// The end of a flow that has succeeded.
pub(super) struct Succeeded {
    pub(super) flow_id: FlowId,
    /// Finalised, or delivered.
    pub(super) status: FlowStatus,
    pub(super) result: RawJson,
    pub(super) transactions: Vec<TxId>,
    pub(super) refused: Vec<api::DeliveryRefusal>,
    pub(super) undelivered: Vec<String>,
}

/// Converts the end of a flow: its success, or a refusal that names the flow. An output without a JSON form is a refusal too, with the
/// status of a success.
pub(super) fn end_of(service: &dyn FlowService, ended: Ended) -> Result<Succeeded, Refusal> {
    let Ended {
        flow_id,
        output,
        transactions,
        delivered,
        refused,
        undelivered,
    } = ended;
    let refused: Vec<_> = refused.into_iter().map(refused_json).collect();
    let status = match &output {
        Ok(_) if delivered => FlowStatus::Delivered,
        Ok(_) => FlowStatus::Finalised,
        Err(rejection) if rejection.code == flow::KILLED_CODE => FlowStatus::Killed,
        Err(_) => FlowStatus::Failed,
    };
    let output = output.map_err(Refusal::from);
    match output.and_then(|output| contained(|| output_json(service, output))) {
        Ok(result) => Ok(Succeeded {
            flow_id,
            status,
            result,
            transactions,
            refused,
            undelivered,
        }),
        Err(refusal) => Err(Refusal {
            flow: Some(Box::new(FailedFlow {
                flow_id,
                status,
                transactions,
                refused,
                undelivered,
            })),
            ..refusal
        }),
    }
}

/// Turns a panic of an output's conversion into a refusal: the flow has succeeded, and its answer must say so.
fn contained<T>(run: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Refusal> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let panic = runtime::panic_text(panic.as_ref());
        tracing::error!(code = INTERNAL.code, %panic, "an output met a bug");
        Err(Refusal::listed(&INTERNAL, "the flow's output met a bug"))
    })
}

/// A flow's output as JSON.
fn output_json(service: &dyn FlowService, output: Output) -> Result<RawJson, Refusal> {
    match output {
        Output::Json(json) => Ok(json),
        Output::Encoded {
            flow,
            version,
            bytes,
        } => service.output_to_json(&flow, version, &bytes),
        Output::NotKept(bytes) => {
            let text = format!(
                "the output has {bytes} bytes; the flow history keeps outputs of up to {} bytes",
                kernel::HISTORY_RESULT_BYTES_MAX
            );
            Err(Refusal::listed(&RESULT_NOT_KEPT, text))
        }
    }
}
