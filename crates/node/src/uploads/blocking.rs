//! Work that blocks, outside the threads of the runtime.

use api::codes::{INTERNAL, NODE_STOPPING};

use crate::http::Refusal;
use crate::http::place;

/// Runs work that blocks on a thread where blocking is allowed.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    place::blocking(work)
        .await
        .map_err(|error| match error.is_panic() {
            true => Refusal::listed(
                &INTERNAL,
                "a bug in the node interrupted the transfer of a file",
            ),
            false => Refusal::listed(&NODE_STOPPING, "the node is stopping"),
        })
}
