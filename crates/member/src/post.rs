//! The thread between a member's callers and its connections: it sends their requests, repeats and moves them, and passes answers on.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use flow::Service;
use flow::messaging::{RequestAction, RequestId, Requests};
use kernel::message::{Answer, PeerMessage, ServiceId};
use ledger::{PartyId, Rejection};
use net::{Handle, Inbound, Sink};
use primitives::{Decode, Encode, Monotonic, whole_ms};
use tokio::sync::oneshot;

/// Maximum time without a look at the requests. It only bounds the sleep; a deadline or an event ends it earlier.
const LOOK: Duration = Duration::from_secs(1);
/// Maximum number of events handled before the resulting messages are sent.
const EVENTS_MAX: usize = 256;
/// The priority of requests on a connection.
const PRIORITY: u8 = 0;

/// The answer of a service: its bytes, or why it refuses.
pub(crate) type Reply = Result<Vec<u8>, Rejection>;

/// A message to the thread.
pub(crate) enum Event {
    /// Something came from the network.
    Net(Inbound),
    /// A request to a party.
    Ask {
        id: RequestId,
        party: PartyId,
        body: Vec<u8>,
        reply: oneshot::Sender<Reply>,
    },
    /// The caller has stopped waiting for the answer.
    Cancel(RequestId),
    /// The member ends.
    Stop,
}

/// Passes the events of the network to the thread.
pub(crate) struct Inbox(pub(crate) Sender<Event>);

impl Sink for Inbox {
    fn deliver(&self, batch: &mut Vec<Inbound>) {
        for inbound in batch.drain(..) {
            // The thread ends before the connections do.
            let _ = self.0.send(Event::Net(inbound));
        }
    }

    /// Answers are few and small compared with the requests, whose number the callers bound.
    fn has_room(&self) -> bool {
        true
    }
}

/// The thread's state.
pub(crate) struct Post {
    pub(crate) requests: Requests,
    pub(crate) waiting: HashMap<RequestId, oneshot::Sender<Reply>>,
    pub(crate) handle: Handle,
    pub(crate) began: Instant,
}

impl Post {
    /// Runs until [`Event::Stop`], or until all senders of events are gone.
    pub(crate) fn run(mut self, events: &Receiver<Event>) {
        let mut actions = Vec::new();
        loop {
            let now = self.now();
            let wait = match self.requests.next_deadline() {
                Some(at) => Duration::from_millis(at.as_ms().saturating_sub(now.as_ms())).min(LOOK),
                None => LOOK,
            };
            let mut next = match events.recv_timeout(wait) {
                Ok(event) => Some(event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let now = self.now();
            for _ in 0..EVENTS_MAX {
                let Some(event) = next else { break };
                if matches!(event, Event::Stop) {
                    return;
                }
                self.take(event, now, &mut actions);
                next = events.try_recv().ok();
            }
            // An event beyond the limit is handled in the next turn.
            if let Some(event) = next {
                self.take(event, now, &mut actions);
            }
            self.requests.timer(now, &mut actions);
            let messages = actions.drain(..).map(|action| {
                let RequestAction::Send { peer, id, body, .. } = action;
                let service = ServiceId::Notarise as u8;
                let message = PeerMessage::Request { id, service, body };
                (peer, PRIORITY, message.to_bytes())
            });
            self.handle.send_many(messages);
        }
    }

    fn now(&self) -> Monotonic {
        Monotonic::from_ms(whole_ms(self.began.elapsed()))
    }

    fn take(&mut self, event: Event, now: Monotonic, actions: &mut Vec<RequestAction>) {
        match event {
            Event::Ask {
                id,
                party,
                body,
                reply,
            } => {
                self.waiting.insert(id, reply);
                self.requests
                    .ask(id, party, Service::Notarise, body, now, actions);
            }
            Event::Cancel(id) => {
                if self.waiting.remove(&id).is_some() {
                    self.requests.cancel(&id, now, actions);
                }
            }
            Event::Net(Inbound::PeerUp { peer, .. }) => self.requests.peer_up(peer, now, actions),
            Event::Net(Inbound::PeerDown { peer }) => self.requests.peer_down(peer, now, actions),
            Event::Net(Inbound::Message { peer, bytes, .. }) => {
                // A member answers no other message: it has no ledger.
                if let Ok(PeerMessage::Response { id, answer }) = PeerMessage::from_bytes(&bytes) {
                    self.answered(peer, id, answer, now, actions);
                }
            }
            Event::Stop => {}
        }
    }

    fn answered(
        &mut self,
        peer: PartyId,
        id: RequestId,
        answer: Answer,
        now: Monotonic,
        actions: &mut Vec<RequestAction>,
    ) {
        let reply = match answer {
            Answer::Wait(eta_ms) => return self.requests.wait(&id, &peer, eta_ms, now),
            Answer::Done(bytes) => Ok(bytes),
            Answer::Failed(rejection) => Err(rejection),
        };
        if self.requests.answered(&id, &peer, now, actions).is_some()
            && let Some(waiting) = self.waiting.remove(&id)
        {
            // The caller may have given up in the meantime.
            let _ = waiting.send(reply);
        }
    }
}
