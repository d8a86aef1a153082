//! Sessions, and waits for several things at once.

use std::future::{Future, poll_fn};
use std::task::Poll;

use ledger::PartyId;
use primitives::{Decode, Encode};

use super::FlowContext;
use crate::error::TIMED_OUT;
use crate::{FlowError, Session};

impl FlowContext {
    /// Opens a session with the responder of this flow (or of the sub-flow this context belongs to) at another party.
    pub fn open_session(&self, party: &PartyId) -> Result<Session, FlowError> {
        self.open_session_offering(party, &[self.version])
    }

    /// Opens a session and offers several versions of the conversation; [`Session::version`] says which was picked.
    pub fn open_session_offering(
        &self,
        party: &PartyId,
        versions: &[u32],
    ) -> Result<Session, FlowError> {
        let number = self
            .shared
            .cell()
            .open_session(self.scope, *party, self.name, versions)?;
        Ok(Session::new(self.shared.clone(), number, *party))
    }

    /// Sends one message on each of several sessions.
    pub async fn send_all<T: Encode>(
        &self,
        sessions: &[Session],
        message: &T,
    ) -> Result<(), FlowError> {
        let bytes = message.to_bytes();
        sessions
            .iter()
            .try_for_each(|session| session.send_bytes(bytes.clone()))
    }

    /// Receives one message on each of several sessions. Returns the messages in the order of the sessions, or the
    /// first failure.
    pub async fn receive_all<T: Decode>(&self, sessions: &[Session]) -> Result<Vec<T>, FlowError> {
        let mut received: Vec<Option<T>> = sessions.iter().map(|_| None).collect();
        poll_fn(move |_| {
            let mut missing = false;
            for (slot, session) in received.iter_mut().zip(sessions) {
                if slot.is_none() {
                    match session.poll_receive::<T>() {
                        Poll::Ready(message) => *slot = Some(message?),
                        Poll::Pending => missing = true,
                    }
                }
            }
            if missing {
                return Poll::Pending;
            }
            Poll::Ready(Ok(received.iter_mut().filter_map(Option::take).collect()))
        })
        .await
    }

    /// Runs futures concurrently. Returns their results in the order given, or the first failure. Their effects are
    /// numbered in the order of their issue, which replay repeats.
    pub async fn join_all<T: Send, F>(&self, futures: Vec<F>) -> Result<Vec<T>, FlowError>
    where
        F: Future<Output = Result<T, FlowError>> + Send,
    {
        let mut running: Vec<_> = futures.into_iter().map(|f| Some(Box::pin(f))).collect();
        let mut results: Vec<Option<T>> = running.iter().map(|_| None).collect();
        poll_fn(move |task| {
            let mut missing = false;
            for (future, result) in running.iter_mut().zip(&mut results) {
                if let Some(f) = future {
                    match f.as_mut().poll(task) {
                        Poll::Ready(value) => {
                            *result = Some(value?);
                            *future = None;
                        }
                        Poll::Pending => missing = true,
                    }
                }
            }
            if missing {
                return Poll::Pending;
            }
            Poll::Ready(Ok(results.iter_mut().filter_map(Option::take).collect()))
        })
        .await
    }

    /// Waits for a future for at most this many milliseconds, then fails with `flow.timed_out`.
    pub async fn timeout_ms<T>(
        &self,
        ms: u64,
        future: impl Future<Output = Result<T, FlowError>> + Send,
    ) -> Result<T, FlowError> {
        let mut future = Box::pin(future);
        let mut sleep = Box::pin(self.sleep_ms(ms));
        poll_fn(move |task| {
            if let Poll::Ready(result) = future.as_mut().poll(task) {
                return Poll::Ready(result);
            }
            match sleep.as_mut().poll(task) {
                Poll::Ready(Ok(())) => {
                    let text = format!("no result within {ms} ms");
                    Poll::Ready(Err(FlowError::listed(&TIMED_OUT, text)))
                }
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}
