//! The interruption of a query whose caller no longer waits, and its refusals.

use std::sync::{Arc, Mutex, PoisonError};

use vaultview::{QueryError, VaultReader};

use super::readers::QueryFailure;
use crate::http::Refusal;

/// A function that stops a query from another thread.
type Interrupt = Box<dyn Fn() + Send>;

/// Stops a query whose caller no longer waits. The reader serves other queries later, so the interrupt is removed when the query
/// ends.
#[derive(Clone, Default)]
pub(super) struct QueryInterrupt(Arc<Mutex<InterruptState>>);

#[derive(Default)]
struct InterruptState {
    given_up: bool,
    interrupt: Option<Interrupt>,
}

/// The caller's end of a query. Dropping it stops the query.
pub(super) struct InterruptOnDrop(pub(super) QueryInterrupt);

impl Drop for InterruptOnDrop {
    fn drop(&mut self) {
        let mut state = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.given_up = true;
        if let Some(interrupt) = &state.interrupt {
            interrupt();
        }
    }
}

impl QueryInterrupt {
    /// Returns true if the caller no longer waits.
    pub(super) fn is_given_up(&self) -> bool {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.given_up
    }

    /// Runs a search that [`InterruptOnDrop`] can stop.
    pub(super) fn run<T>(
        &self,
        reader: &VaultReader,
        search: impl FnOnce() -> Result<T, QueryError>,
    ) -> Result<T, QueryFailure> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = reader.interrupt_handle();
        let given_up = {
            let mut state = lock();
            state.interrupt = Some(Box::new(move || handle.interrupt()));
            state.given_up
        };
        let found = if given_up {
            Err(QueryError::Interrupted)
        } else {
            search()
        };
        lock().interrupt = None;
        found.map_err(|error| match error {
            QueryError::Bad(text) => bad(text).into(),
            QueryError::Interrupted => late().into(),
            QueryError::View(error) => QueryFailure::of_view(&error),
        })
    }
}

pub(super) fn late() -> Refusal {
    Refusal::listed(
        &api::codes::QUERY_TIMEOUT,
        "the query did not end in the time it had",
    )
}

pub(super) fn bad(text: impl Into<String>) -> Refusal {
    Refusal::listed(&api::codes::BAD_QUERY, text)
}
