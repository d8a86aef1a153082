//! A session: an ordered conversation with the same flow on another node.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use ledger::PartyId;
use primitives::{Decode, Encode};

use crate::FlowError;
use crate::error::MESSAGE_MALFORMED;
use crate::flow_state::FlowState;

/// One side of a session; cheap to clone. It ends with its flow, or when it is closed.
#[derive(Clone)]
pub struct Session {
    shared: Arc<FlowState>,
    number: u32,
    peer: PartyId,
}

impl Session {
    pub(crate) fn new(shared: Arc<FlowState>, number: u32, peer: PartyId) -> Session {
        Session {
            shared,
            number,
            peer,
        }
    }

    /// Returns the party on the other side.
    pub fn peer(&self) -> PartyId {
        self.peer
    }

    /// Sends a message. It leaves this node once the step is durable, and arrives once and in order.
    pub async fn send<T: Encode>(&self, message: &T) -> Result<(), FlowError> {
        self.send_bytes(message.to_bytes())
    }

    /// Receives the next message. If the other side failed, returns its error with its code.
    pub async fn receive<T: Decode>(&self) -> Result<T, FlowError> {
        poll_fn(|_| self.poll_receive()).await
    }

    /// Sends a message and receives the next one.
    pub async fn send_and_receive<T: Encode, R: Decode>(
        &self,
        message: &T,
    ) -> Result<R, FlowError> {
        self.send(message).await?;
        self.receive().await
    }

    /// Returns the version of the conversation that both sides agreed on.
    pub async fn version(&self) -> Result<u32, FlowError> {
        poll_fn(|_| self.shared.cell().agreed_version(self.number)).await
    }

    /// Ends this side of the session before the flow ends.
    pub fn close(&self) {
        self.shared.cell().close(self.number);
    }

    pub(crate) fn send_bytes(&self, bytes: Vec<u8>) -> Result<(), FlowError> {
        self.shared.cell().send(self.number, bytes)
    }

    pub(crate) fn poll_receive<T: Decode>(&self) -> Poll<Result<T, FlowError>> {
        match self.shared.cell().receive(self.number) {
            Poll::Ready(Ok(payload)) => Poll::Ready(T::from_bytes(&payload).map_err(|error| {
                let text = format!(
                    "a message from party {} does not decode: {error}",
                    self.peer
                );
                FlowError::listed(&MESSAGE_MALFORMED, text)
            })),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => Poll::Pending,
        }
    }
}
