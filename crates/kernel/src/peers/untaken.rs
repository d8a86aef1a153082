//! Session messages that arrive before any may be taken: after a start, until the data is vouched for.

use std::collections::BTreeMap;

use ledger::PartyId;

/// Maximum size of the messages that are kept of one peer, in bytes. The peer repeats those that are not kept.
pub const UNTAKEN_OF_PEER_MAX: usize = 64 << 10;
/// Maximum size of the messages that are kept of all peers together, in bytes.
pub const UNTAKEN_MAX: usize = 16 << 20;

/// The messages of one peer, with their numbers, in the order in which they arrived.
type Messages = Vec<(u64, Vec<u8>)>;

/// The kept messages. A message counts with its bytes and with [`MESSAGE_BYTES`] for its place.
#[derive(Debug, Default)]
pub(crate) struct Untaken {
    of_peer: BTreeMap<PartyId, (usize, Messages)>,
    bytes: usize,
}

/// The size of a message apart from its body, in bytes.
const MESSAGE_BYTES: usize = 64;

impl Untaken {
    /// Keeps a message if there is room for it.
    pub(super) fn keep(&mut self, peer: PartyId, seq: u64, body: Vec<u8>) {
        let bytes = body.len() + MESSAGE_BYTES;
        let own = self.of_peer.get(&peer).map_or(0, |(bytes, _)| *bytes);
        if own + bytes > UNTAKEN_OF_PEER_MAX || self.bytes + bytes > UNTAKEN_MAX {
            return;
        }
        let (own, messages) = self.of_peer.entry(peer).or_default();
        *own += bytes;
        self.bytes += bytes;
        messages.push((seq, body));
    }

    /// Removes and returns the messages of a peer.
    pub(super) fn take(&mut self, peer: &PartyId) -> Messages {
        let Some((bytes, messages)) = self.of_peer.remove(peer) else {
            return Vec::new();
        };
        assert!(
            bytes <= self.bytes,
            "{bytes} bytes are kept of a peer, and {} of all",
            self.bytes
        );
        self.bytes -= bytes;
        messages
    }

    /// Returns a peer that has kept messages.
    pub(super) fn first(&self) -> Option<PartyId> {
        self.of_peer.keys().next().copied()
    }
}

#[cfg(test)]
mod tests {
    use primitives::Hash;

    use super::*;

    #[test]
    fn messages_are_kept_within_the_room_of_a_peer_and_of_all() {
        let peer = |n: u16| PartyId::from_hash(Hash::plain(&n.to_be_bytes()));
        let mut untaken = Untaken::default();
        let body = |bytes: usize| vec![7; bytes - MESSAGE_BYTES];
        untaken.keep(peer(0), 1, body(UNTAKEN_OF_PEER_MAX));
        untaken.keep(peer(0), 2, body(100));
        untaken.keep(peer(1), 1, body(100));
        untaken.keep(peer(1), 2, body(100));
        let numbers = |messages: Messages| messages.iter().map(|m| m.0).collect::<Vec<u64>>();
        assert_eq!(numbers(untaken.take(&peer(0))), [1]);
        assert_eq!(numbers(untaken.take(&peer(0))), [0_u64; 0]);
        assert_eq!(untaken.first(), Some(peer(1)));
        assert_eq!(numbers(untaken.take(&peer(1))), [1, 2]);
        assert_eq!((untaken.first(), untaken.bytes), (None, 0));
        for n in 0..300 {
            untaken.keep(peer(n), 1, body(UNTAKEN_OF_PEER_MAX));
        }
        assert_eq!(untaken.of_peer.len(), 256);
        assert_eq!(untaken.bytes, UNTAKEN_MAX);
    }
}
