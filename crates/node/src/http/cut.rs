//! Ends from outside what carries an answer: its stream of HTTP/2, or its connection of HTTP/1. An answer whose client takes
//! nothing of it is not polled, so it cannot end itself.

use std::future::Future;
use std::sync::Arc;

use hyper::rt::Executor;
use tokio::sync::Notify;

tokio::task_local! {
    /// What ends the stream that the current task serves.
    static STREAM: Cut;
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Cut(Arc<Notify>);

impl Cut {
    /// Of the current task's stream, if it serves one.
    pub(super) fn of_stream() -> Option<Self> {
        STREAM.try_with(Self::clone).ok()
    }

    /// Ends it.
    pub(super) fn end(&self) {
        self.0.notify_one();
    }

    /// Runs something until it is done, or is ended.
    pub(super) async fn or_done(&self, work: impl Future) {
        tokio::select! {
            biased;
            _ = work => {}
            () = self.0.notified() => {}
        }
    }
}

/// Runs each stream of an HTTP/2 connection as a task of its own. One that is ended is dropped there, which resets it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Streams;

impl<F> Executor<F> for Streams
where
    F: Future + Send + 'static,
{
    fn execute(&self, stream: F) {
        let cut = Cut::default();
        let own = cut.clone();
        tokio::spawn(STREAM.scope(cut, async move { own.or_done(stream).await }));
    }
}
