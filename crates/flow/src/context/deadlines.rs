//! Deadlines for waits on a counterparty.
//!
//! # Correctness
//! Replay does not compare deadlines. They are not in the digests that replay compares, and they take no numbers from the flow's
//! other effects. So a flow replays whether or not its code had a deadline at that place when the journal was written, unless
//! the flow continues after a deadline that has passed. The journal names such a deadline by its number, the count of the
//! deadlines before it. A flow that catches `flow.counterparty_silent` and gets more or fewer deadlines needs a new version.
//!
//! A deadline covers everything that it is put around. Put one around a whole exchange of messages: with a deadline of its own for
//! each message, a counterparty that answers slowly could stretch the wait by as many times as it is asked.

use std::future::{Future, poll_fn};
use std::task::Poll;

use super::FlowContext;
use crate::error::COUNTERPARTY_SILENT;
use crate::{Deadline, EffectKind, FlowError};

impl FlowContext {
    /// Waits for an action of a counterparty until the deadline. `what` names the awaited thing in the error.
    ///
    /// # Errors
    /// `flow.counterparty_silent`: the deadline passed first.
    pub async fn within<T>(
        &self,
        deadline: Deadline,
        what: &str,
        future: impl Future<Output = Result<T, FlowError>> + Send,
    ) -> Result<T, FlowError> {
        let mut future = Box::pin(future);
        // Set only if the flow has to wait, so that an answer that has already arrived costs no timer.
        let mut timer = None;
        poll_fn(move |task| {
            if let Poll::Ready(result) = future.as_mut().poll(task) {
                return Poll::Ready(result);
            }
            let timer = timer.get_or_insert_with(|| {
                let issued = self.shared.cell().issue_deadline(self.scope, deadline);
                Box::pin(self.wait(issued, EffectKind::Sleep))
            });
            match timer.as_mut().poll(task) {
                Poll::Ready(Ok(_)) => {
                    let text = format!("{what} did not come in time");
                    Poll::Ready(Err(FlowError::listed(&COUNTERPARTY_SILENT, text)))
                }
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}
