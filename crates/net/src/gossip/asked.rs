//! Requests in flight, sent and received.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use libp2p_request_response::{InboundRequestId, OutboundRequestId, ResponseChannel};

use super::{PeerId, RequestError, RequestId, Ticket};

/// The requests of this node. A request whose caller has given up keeps its place until libp2p is done with it, so that a
/// peer that never answers does not get more and more requests.
#[derive(Debug, Default)]
pub(super) struct Asked(HashMap<OutboundRequestId, AskedPeer>);

#[derive(Debug)]
struct AskedPeer {
    peer: PeerId,
    waits: Waits,
}

/// The caller that waits for an answer.
#[derive(Clone, Copy, Debug)]
enum Waits {
    Application {
        id: RequestId,
        until: Instant,
        deadline: Duration,
    },
    Addresses,
    /// The deadline has passed and was reported.
    Nobody,
}

impl AskedPeer {
    fn is_application(&self) -> bool {
        !matches!(self.waits, Waits::Addresses)
    }
}

/// The request that an answer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum For {
    Application(RequestId),
    Addresses,
    Nobody,
}

impl Asked {
    /// Returns the number of the application's requests in flight to one peer.
    pub(super) fn of(&self, peer: PeerId) -> usize {
        let of_application = self.0.values().filter(|one| one.is_application());
        of_application.filter(|one| one.peer == peer).count()
    }

    /// Returns the number of the application's requests in flight.
    pub(super) fn len(&self) -> usize {
        let of_application = self.0.values().filter(|one| one.is_application());
        of_application.count()
    }

    pub(super) fn add(
        &mut self,
        key: OutboundRequestId,
        peer: PeerId,
        id: Option<(RequestId, Duration)>,
        now: Instant,
    ) {
        let waits = id.map_or(Waits::Addresses, |(id, deadline)| Waits::Application {
            id,
            until: now + deadline,
            deadline,
        });
        self.0.insert(key, AskedPeer { peer, waits });
    }

    /// Removes a finished request. Returns its peer and the caller that waits for it.
    pub(super) fn end(&mut self, key: &OutboundRequestId) -> Option<(PeerId, For)> {
        let one = self.0.remove(key)?;
        let whose = match one.waits {
            Waits::Application { id, .. } => For::Application(id),
            Waits::Addresses => For::Addresses,
            Waits::Nobody => For::Nobody,
        };
        Some((one.peer, whose))
    }

    /// Returns the requests whose deadline has passed since the last call.
    pub(super) fn late(&mut self, now: Instant) -> Vec<(PeerId, RequestId, RequestError)> {
        let mut late = Vec::new();
        for one in self.0.values_mut() {
            if let Waits::Application {
                id,
                until,
                deadline,
            } = one.waits
                && until <= now
            {
                one.waits = Waits::Nobody;
                late.push((one.peer, id, RequestError::Deadline(deadline)));
            }
        }
        late
    }
}

/// Requests of peers that this node has not answered.
#[derive(Debug, Default)]
pub(super) struct Tickets {
    open: HashMap<Ticket, (PeerId, InboundRequestId, ResponseChannel<Vec<u8>>)>,
    next: u64,
}

impl Tickets {
    /// Returns the number of unanswered requests of one peer.
    pub(super) fn of(&self, peer: PeerId) -> usize {
        let open = self.open.values();
        open.filter(|(whose, _, _)| *whose == peer).count()
    }

    pub(super) fn issue(
        &mut self,
        peer: PeerId,
        key: InboundRequestId,
        channel: ResponseChannel<Vec<u8>>,
    ) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.open.insert(ticket, (peer, key, channel));
        ticket
    }

    pub(super) fn take(&mut self, ticket: Ticket) -> Option<ResponseChannel<Vec<u8>>> {
        self.open.remove(&ticket).map(|(_, _, channel)| channel)
    }

    /// Removes a request whose peer has given it up.
    pub(super) fn forget(&mut self, key: InboundRequestId) {
        self.open.retain(|_, (_, own, _)| *own != key);
    }

    /// Removes the requests whose caller has given up.
    pub(super) fn clear(&mut self) {
        self.open.retain(|_, (_, _, channel)| channel.is_open());
    }
}
