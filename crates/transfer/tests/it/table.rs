//! One machine under a table of events.

use ledger::{PartyId, TxId};
use primitives::{Decode, Encode, Hash};
use transfer::{Action, Event, Message, Offer, Options, Payload, Transfers};

/// Bytes of a file in one message, here.
pub const CHUNK: u64 = 10;

pub fn options() -> Options {
    Options {
        memory_bytes: 100,
        peer_bytes: 60,
        file_bytes: 40,
        chunk_bytes: CHUNK as u32,
        at_once: 4,
        at_once_per_peer: 2,
        down_bytes_per_s: 0,
        up_bytes_per_s: 0,
        silence_ms: 1_000,
        away_ms: 5_000,
    }
}

pub fn peer(number: u8) -> PartyId {
    PartyId::from_array([number; 32])
}

pub fn file(number: u16) -> Hash {
    let mut bytes = [number.to_le_bytes()[0]; 32];
    bytes[..2].copy_from_slice(&number.to_le_bytes());
    Hash::from_bytes(bytes)
}

pub fn transaction() -> TxId {
    TxId::from_array([7; 32])
}

/// A machine and its time.
pub struct Table {
    pub machine: Transfers,
    pub now: u64,
}

impl Table {
    pub fn new(options: Options) -> Self {
        Self {
            machine: Transfers::new(options),
            now: 0,
        }
    }

    /// Gives events, flushes, and describes the requested actions in words.
    pub fn give(&mut self, events: impl IntoIterator<Item = Event>) -> Vec<String> {
        let mut actions = Vec::new();
        for event in events {
            self.machine.handle(self.now, event, &mut actions);
        }
        self.machine.flush(self.now, &mut actions);
        actions.iter().map(words).collect()
    }

    pub fn at(&mut self, now: u64) -> Vec<String> {
        self.now = now;
        self.give([Event::Tick])
    }
}

pub fn up(number: u8) -> Event {
    Event::PeerUp { peer: peer(number) }
}

pub fn down(number: u8) -> Event {
    Event::PeerDown { peer: peer(number) }
}

pub fn fetch(of: u16, from: u8) -> Event {
    Event::Fetch {
        hash: file(of),
        peer: peer(from),
        transaction: transaction(),
        size_max: 1_000,
    }
}

pub fn says(number: u8, message: &Message) -> Event {
    Event::Message {
        peer: peer(number),
        bytes: message.to_bytes(),
    }
}

pub fn offer(of: u16, size: u64) -> Message {
    Message::Offer {
        hash: file(of),
        offer: Offer {
            size,
            name: Some("a.txt".to_owned()),
            media_type: None,
        },
    }
}

pub fn data(of: u16, offset: u64, length: usize) -> Message {
    Message::Data {
        hash: file(of),
        offset,
        bytes: Payload::new(vec![of.to_le_bytes()[0]; length]),
    }
}

pub fn ask(of: u16, offset: u64, length: u64) -> Message {
    Message::Ask {
        hash: file(of),
        offset,
        length,
    }
}

pub fn want(of: u16) -> Message {
    Message::Want {
        hash: file(of),
        transaction: transaction(),
    }
}

pub fn opened(of: u16, have: u64) -> Event {
    Event::Opened {
        hash: file(of),
        have,
    }
}

pub fn wrote(of: u16, upto: u64, bytes: u64) -> Event {
    Event::Wrote {
        hash: file(of),
        upto,
        bytes,
    }
}

fn name(hash: &Hash) -> u16 {
    let bytes = hash.as_bytes();
    u16::from_le_bytes([bytes[0], bytes[1]])
}

fn who(peer: &PartyId) -> u8 {
    peer.as_bytes()[0]
}

/// An action, short.
pub fn words(action: &Action) -> String {
    match action {
        Action::Send { peer, bytes } => {
            let message = Message::from_bytes(bytes).expect("what is sent can be read");
            format!("{}: {}", who(peer), said(&message))
        }
        Action::Permit { peer, hash, .. } => format!("permit {} {}?", who(peer), name(hash)),
        Action::Open { hash } => format!("open {}", name(hash)),
        Action::Write {
            hash,
            offset,
            bytes,
        } => {
            format!("write {} {offset}+{}", name(hash), bytes.len())
        }
        Action::Close { hash, discard } => {
            format!(
                "{} {}",
                if *discard { "discard" } else { "close" },
                name(hash)
            )
        }
        Action::Publish { hash, size } => format!("publish {} of {size}", name(hash)),
        Action::Read {
            peer,
            hash,
            offset,
            length,
            ..
        } => format!("read for {} {} {offset}+{length}", who(peer), name(hash)),
        Action::Gauge { peer } => format!("gauge {}", who(peer)),
        Action::Offered { hash, size, .. } => format!("offered {} of {size}", name(hash)),
        Action::Arrived { hash, size, .. } => format!("arrived {} of {size}", name(hash)),
        Action::Failed {
            hash,
            peer,
            failure,
        } => format!("failed {} of {}: {failure:?}", name(hash), who(peer)),
        Action::Fault { peer, fault } => format!("fault of {}: {fault:?}", who(peer)),
    }
}

fn said(message: &Message) -> String {
    match message {
        Message::Want { hash, .. } => format!("want {}", name(hash)),
        Message::Offer { hash, offer } => format!("offer {} of {}", name(hash), offer.size),
        Message::Ask {
            hash,
            offset,
            length,
        } => format!("ask {} {offset}+{length}", name(hash)),
        Message::Data {
            hash,
            offset,
            bytes,
        } => format!("data {} {offset}+{}", name(hash), bytes.len()),
        Message::Refused { hash, reason } => format!("refused {} {reason:?}", name(hash)),
        Message::Done { hash } => format!("done {}", name(hash)),
    }
}
