//! Refusals that several services give.

use kernel::port::StoreFailure;

use crate::http::Refusal;

/// Returns the refusal of a request that met a failure of the store.
pub(super) fn store_refusal(failure: &StoreFailure) -> Refusal {
    Refusal {
        code: failure.code.into(),
        message: failure.message.clone(),
        hint: failure.hint.into(),
        retry_after_ms: None,
        flow: None,
    }
}

/// Returns the refusal of a request that the node no longer answers.
pub(super) fn stopping() -> Refusal {
    Refusal::listed(&api::codes::NODE_STOPPING, "the node is stopping")
}

/// Returns the outcome of a blocking read, or a refusal if its thread was given up.
pub(super) fn joined<T>(
    outcome: Result<Result<T, Refusal>, tokio::task::JoinError>,
) -> Result<T, Refusal> {
    outcome.unwrap_or_else(|_| {
        Err(Refusal::listed(
            &api::codes::NODE_STOPPING,
            "the query was given up",
        ))
    })
}
