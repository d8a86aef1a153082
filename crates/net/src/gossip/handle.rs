//! The handle through which the application uses a gossip service.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use super::codec::{REQUEST_BYTES_MAX, RESPONSE_BYTES_MAX};
use super::shared::GossipState;
use super::{
    GossipFigures, MessageId, PeerId, PeerView, RequestId, SendError, Ticket, Topic, Verdict,
};

/// A command for the service.
#[derive(Debug)]
pub(super) enum Call {
    Broadcast(Topic, Vec<u8>),
    Request {
        id: RequestId,
        peer: PeerId,
        bytes: Vec<u8>,
        deadline: Duration,
    },
    Respond(Ticket, Option<Vec<u8>>),
    Verdict(MessageId, Verdict),
    Penalise(PeerId, u32, String),
    Ban(PeerId, Duration, String),
    Unban(PeerId),
    Disconnect(PeerId, String),
}

impl Call {
    /// Returns the memory that the call takes while it waits, in bytes.
    pub(super) fn cost(&self) -> usize {
        let bytes = match self {
            Self::Broadcast(_, bytes) | Self::Request { bytes, .. } => bytes.len(),
            Self::Respond(_, bytes) => bytes.as_ref().map_or(0, Vec::len),
            Self::Penalise(_, _, reason)
            | Self::Ban(_, _, reason)
            | Self::Disconnect(_, reason) => reason.len(),
            Self::Verdict(..) | Self::Unban(_) => 0,
        };
        bytes + size_of::<Self>()
    }
}

/// Bytes of queued calls.
#[derive(Debug, Default)]
pub(super) struct WaitingBytes(AtomicUsize);

impl WaitingBytes {
    fn add(&self, bytes: usize, max: usize) -> bool {
        let before = self.0.fetch_add(bytes, Ordering::Relaxed);
        let fits = before + bytes <= max;
        if !fits {
            self.remove(bytes);
        }
        fits
    }

    pub(super) fn remove(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A running gossip service; cheap to clone. No call blocks: each is carried out soon, in order. The service ends when
/// [`shutdown`](Self::shutdown) is called or the last handle is dropped.
#[derive(Clone, Debug)]
pub struct GossipHandle {
    pub(super) calls: mpsc::Sender<Call>,
    pub(super) waiting: Arc<WaitingBytes>,
    pub(super) shared: Arc<GossipState>,
    pub(super) requests: Arc<AtomicU64>,
    pub(super) stop: Arc<watch::Sender<bool>>,
    pub(super) me: PeerId,
    pub(super) address: SocketAddr,
}

impl GossipHandle {
    /// Returns this node's id.
    #[must_use]
    pub fn me(&self) -> PeerId {
        self.me
    }

    /// Returns the address on which the node listens.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a message to all peers, once. A message that was broadcast or received in the last minute is not sent again, even if
    /// no peer had room for it. A message is lost if no peer is there to receive it.
    pub fn broadcast(&self, topic: Topic, bytes: Vec<u8>) -> Result<(), SendError> {
        fits(&bytes, topic.bytes_max())?;
        self.call(Call::Broadcast(topic, bytes))
    }

    /// Asks a peer. Every outcome is one [`Response`](super::GossipEvent::Response) with the returned id. The deadline is at most
    /// a minute, and is kept to within a fifth of a second.
    pub fn request(
        &self,
        peer: PeerId,
        bytes: Vec<u8>,
        deadline: Duration,
    ) -> Result<RequestId, SendError> {
        fits(&bytes, REQUEST_BYTES_MAX)?;
        let id = RequestId(self.requests.fetch_add(1, Ordering::Relaxed));
        self.call(Call::Request {
            id,
            peer,
            bytes,
            deadline,
        })?;
        Ok(id)
    }

    /// Answers a request. Does nothing if it has been answered, or the peer does not wait any more.
    pub fn respond(&self, ticket: Ticket, bytes: Vec<u8>) -> Result<(), SendError> {
        fits(&bytes, RESPONSE_BYTES_MAX)?;
        self.call(Call::Respond(ticket, Some(bytes)))
    }

    /// Refuses a request: it is closed without an answer, and the peer's request fails.
    pub fn refuse(&self, ticket: Ticket) -> Result<(), SendError> {
        self.call(Call::Respond(ticket, None))
    }

    /// Gives the verdict on a message. A message without a verdict is not passed on.
    pub fn verdict(&self, message: MessageId, verdict: Verdict) -> Result<(), SendError> {
        self.call(Call::Verdict(message, verdict))
    }

    /// Counts points against a peer; at [`BAN_POINTS`](super::BAN_POINTS) it is banned for the usual time.
    pub fn penalise(&self, peer: PeerId, points: u32, reason: &str) -> Result<(), SendError> {
        self.call(Call::Penalise(peer, points, reason.to_owned()))
    }

    /// Bans a peer for some time, and ends all its connections.
    pub fn ban(&self, peer: PeerId, time: Duration, reason: &str) -> Result<(), SendError> {
        self.call(Call::Ban(peer, time, reason.to_owned()))
    }

    /// Dismisses a peer that is not useful: ends all its connections without a ban. Its address is dialled again after a minute at the earliest.
    pub fn disconnect(&self, peer: PeerId, reason: &str) -> Result<(), SendError> {
        self.call(Call::Disconnect(peer, reason.to_owned()))
    }

    /// Ends a ban.
    pub fn unban(&self, peer: PeerId) -> Result<(), SendError> {
        self.call(Call::Unban(peer))
    }

    /// Returns the known peers, connected or not, by id. At most 1024.
    #[must_use]
    pub fn peers(&self) -> Vec<PeerView> {
        self.shared.peers().views(Instant::now())
    }

    /// Returns the service's counters.
    #[must_use]
    pub fn figures(&self) -> GossipFigures {
        self.shared.counters.figures()
    }

    /// Ends the service, and waits until its sockets are closed. Calls that wait are not carried out.
    pub async fn shutdown(&self) {
        self.stop.send_replace(true);
        self.calls.closed().await;
    }

    /// Returns whether [`GossipHandle::shutdown`] was called. If not, events that end are a fault of the service.
    #[must_use]
    pub fn is_shut_down(&self) -> bool {
        *self.stop.borrow()
    }

    fn call(&self, call: Call) -> Result<(), SendError> {
        let cost = call.cost();
        if !self.waiting.add(cost, self.shared.limits.calls_bytes_max) {
            return Err(SendError::Busy);
        }
        self.calls.try_send(call).map_err(|error| {
            self.waiting.remove(cost);
            match error {
                mpsc::error::TrySendError::Full(_) => SendError::Busy,
                mpsc::error::TrySendError::Closed(_) => SendError::Stopped,
            }
        })
    }
}

fn fits(bytes: &[u8], max: usize) -> Result<(), SendError> {
    let bytes = bytes.len();
    if bytes > max {
        return Err(SendError::TooLarge { bytes, max });
    }
    Ok(())
}
