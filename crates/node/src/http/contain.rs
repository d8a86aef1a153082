//! A panic while answering a request ends that request and nothing else.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Runs a future to its end; a panic becomes its text.
pub(super) async fn contain<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let mut future = pin!(future);
    std::future::poll_fn(move |cx| {
        // After a panic the future is never polled again, so no broken state of its is seen.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Err(panic) => Poll::Ready(Err(text(panic.as_ref()))),
        }
    })
    .await
}

/// Returns the message of a panic.
pub(crate) fn text(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "a panic without a text".to_owned(),
    }
}
