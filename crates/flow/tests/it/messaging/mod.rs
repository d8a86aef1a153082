//! Black-box tests of the messaging machines: one event per line, with the actions that it has to cause.

mod burst;
mod delivery;
mod inbox;
mod outbox;
mod properties;
mod requests;

use ledger::{PartyId, TxId};
use primitives::{Hash, Monotonic};

pub(crate) fn peer(name: char) -> PartyId {
    PartyId::from_hash(Hash::plain(&[name as u8]))
}

pub(crate) fn name(peer_id: &PartyId) -> char {
    ('A'..='Z')
        .find(|letter| peer(*letter) == *peer_id)
        .unwrap_or('?')
}

pub(crate) fn tx(n: u8) -> TxId {
    TxId::from_hash(Hash::from_bytes([n; 32]))
}

pub(crate) fn at(ms: u64) -> Monotonic {
    Monotonic::from_ms(ms)
}
