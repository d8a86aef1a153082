//! The transfers of one node, both ways.

use ledger::PartyId;

use crate::event::{Action, Event, Fault};
use crate::fetch::{FetchState, Source};
use crate::figures::Figures;
use crate::message::Message;
use crate::options::Options;
use crate::out::Out;
use crate::receiving::Receiving;
use crate::serving::Serving;

/// The file transfers of one node: see the [crate](crate). Times are in milliseconds, of any clock that never steps back.
#[derive(Debug)]
pub struct Transfers {
    receiving: Receiving,
    serving: Serving,
    figures: Figures,
}

impl Transfers {
    /// Creates transfers without fetches or connections.
    pub fn new(options: Options) -> Self {
        let options = options.sound();
        Self {
            receiving: Receiving::new(options.clone()),
            serving: Serving::new(options),
            figures: Figures::default(),
        }
    }

    /// Handles an event. After a batch of events, call [`Transfers::flush`] to get the next
    /// requests and reads.
    pub fn handle(&mut self, now_ms: u64, event: Event, actions: &mut Vec<Action>) {
        let Self {
            receiving,
            serving,
            figures,
        } = self;
        let out = &mut Out {
            now_ms,
            actions,
            figures,
        };
        match event {
            Event::Fetch {
                hash,
                peer,
                transaction,
                size_max,
            } => {
                let source = Source {
                    peer,
                    transaction,
                    size_max,
                };
                receiving.fetch(now_ms, hash, source, out);
            }
            Event::Abandon { hash } => receiving.abandon(hash, out),
            Event::Message { peer, bytes } => self.message(now_ms, peer, bytes, actions),
            Event::PeerUp { peer } => {
                receiving.peer_up(now_ms, peer, out);
                serving.peer_up(peer);
            }
            Event::PeerDown { peer } => {
                receiving.peer_down(now_ms, peer, out);
                serving.peer_down(peer);
            }
            Event::Permitted { peer, hash, offer } => serving.permitted(peer, hash, offer, out),
            Event::Opened { hash, have } => receiving.opened(now_ms, hash, have, out),
            Event::OpenFailed { hash, code } => receiving.open_failed(hash, code, out),
            Event::Wrote { hash, upto, bytes } => receiving.wrote(hash, (upto, bytes), out),
            Event::WriteFailed { hash, bytes, code } => {
                receiving.write_failed(hash, (bytes, code), out);
            }
            Event::Present { hash, size } | Event::Published { hash, size } => {
                receiving.published(hash, size, out);
            }
            Event::Mismatched { hash } => receiving.mismatched(now_ms, hash, out),
            Event::PublishFailed { hash, code } => receiving.publish_failed(hash, code, out),
            Event::Read {
                peer,
                hash,
                length,
                message,
            } => serving.read(peer, hash, (length, message), out),
            Event::ReadFailed { peer, hash, length } => {
                serving.read_failed(peer, hash, length, out);
            }
            Event::Queued { peer, bytes } => serving.queued(peer, bytes),
            Event::Tick => {}
        }
    }

    /// Requests the parts and the reads that the budgets allow now.
    pub fn flush(&mut self, now_ms: u64, actions: &mut Vec<Action>) {
        let out = &mut Out {
            now_ms,
            actions,
            figures: &mut self.figures,
        };
        self.receiving.on_time(now_ms, out);
        self.receiving.pump(now_ms, out);
        self.serving.pump(now_ms, out);
    }

    /// Returns the time to call [`Transfers::flush`] if no event comes before.
    pub fn next_wakeup(&self) -> Option<u64> {
        let times = [self.receiving.next_wakeup(), self.serving.next_wakeup()];
        times.into_iter().flatten().min()
    }

    /// Returns counters and current gauges.
    pub fn figures(&self) -> Figures {
        let moving = |fetch: &&crate::fetch::Fetch| matches!(fetch.state, FetchState::Moving);
        let fetches = &self.receiving.fetches;
        Figures {
            fetches: fetches.len() as u64,
            moving: fetches.values().filter(moving).count() as u64,
            served: self.serving.served(),
            memory_in: self.receiving.memory(),
            memory_out: self.serving.memory(),
            ..self.figures
        }
    }

    fn message(&mut self, now: u64, peer: PartyId, bytes: Vec<u8>, actions: &mut Vec<Action>) {
        let Self {
            receiving,
            serving,
            figures,
        } = self;
        let out = &mut Out {
            now_ms: now,
            actions,
            figures,
        };
        let Ok(message) = Message::read(bytes) else {
            out.figures.malformed += 1;
            return receiving.tell(now, peer, Fault::Malformed, out);
        };
        match message {
            Message::Want { hash, transaction } => serving.wanted(peer, hash, transaction, out),
            Message::Offer { hash, offer } => receiving.offered(peer, hash, offer, out),
            Message::Ask {
                hash,
                offset,
                length,
            } => {
                if let Some(fault) = serving.asked(peer, hash, (offset, length), out) {
                    receiving.tell(now, peer, fault, out);
                }
            }
            Message::Data {
                hash,
                offset,
                bytes,
            } => receiving.data(now, peer, hash, (offset, bytes), out),
            Message::Refused { hash, reason } => receiving.refused(now, peer, hash, reason, out),
            Message::Done { hash } => serving.done(peer, hash),
        }
    }
}
