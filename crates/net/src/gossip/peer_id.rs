//! The id of a peer: its ed25519 key.

use std::fmt;
use std::str::FromStr;

use libp2p_identity::{Keypair, PublicKey, ed25519};
use thiserror::Error;

/// A peer: its ed25519 public key. Text is the form that libp2p's tools show, `12D3KooW...`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId([u8; 32]);

/// The text is not a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a peer; give the text that begins with 12D3KooW")]
pub struct ParsePeerIdError;

/// The bytes before the key in libp2p's id: a multihash of the key itself (0x00, 36 bytes), which is a protobuf message of
/// key type 1 (ed25519) and 32 bytes of key.
const PREFIX: [u8; 6] = [0x00, 0x24, 0x08, 0x01, 0x12, 0x20];

impl PeerId {
    /// The peer with this key.
    #[must_use]
    pub const fn from_bytes(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// Its key.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the id of the node whose key has this seed (`GossipOptions::key_seed`).
    #[must_use]
    pub fn of_seed(seed: &[u8; 32]) -> Self {
        Self::of_keys(&keys(seed))
    }

    pub(super) fn of_keys(keys: &ed25519::Keypair) -> Self {
        Self(keys.public().to_bytes())
    }

    /// Converts libp2p's id. Returns `None` for key types that our nodes do not use.
    pub(super) fn of(peer: &libp2p_identity::PeerId) -> Option<Self> {
        let bytes = peer.to_bytes();
        let key = bytes.strip_prefix(&PREFIX)?;
        Some(Self(key.try_into().ok()?))
    }

    /// Converts to libp2p's id. Returns `None` if the bytes are not a valid key.
    pub(super) fn to_libp2p(self) -> Option<libp2p_identity::PeerId> {
        let key = ed25519::PublicKey::try_from_bytes(&self.0).ok()?;
        Some(PublicKey::from(key).to_peer_id())
    }
}

/// The keys that a seed stands for.
pub(super) fn keys(seed: &[u8; 32]) -> ed25519::Keypair {
    let mut seed = *seed;
    let secret = ed25519::SecretKey::try_from_bytes(&mut seed).expect("any 32 bytes are a secret");
    ed25519::Keypair::from(secret)
}

/// For libp2p.
pub(super) fn keypair(seed: &[u8; 32]) -> Keypair {
    Keypair::from(keys(seed))
}

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = PREFIX.to_vec();
        bytes.extend_from_slice(&self.0);
        match libp2p_identity::PeerId::from_bytes(&bytes) {
            Ok(peer) => f.pad(&peer.to_base58()),
            Err(_) => f.pad(&primitives::hex::encode(&self.0)),
        }
    }
}

impl fmt::Debug for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PeerId {
    type Err = ParsePeerIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let peer = libp2p_identity::PeerId::from_str(text).map_err(|_| ParsePeerIdError)?;
        Self::of(&peer).ok_or(ParsePeerIdError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_always_the_same_peer_and_text_goes_there_and_back() {
        let peer = PeerId::of_seed(&[7; 32]);
        assert_eq!(peer, PeerId::of_seed(&[7; 32]));
        assert_ne!(peer, PeerId::of_seed(&[8; 32]));
        let text = peer.to_string();
        assert!(text.starts_with("12D3KooW"), "{text}");
        assert_eq!(text.parse(), Ok(peer));
        assert_eq!(keypair(&[7; 32]).public().to_peer_id().to_string(), text);
        let libp2p = peer.to_libp2p().expect("a key");
        assert_eq!(PeerId::of(&libp2p), Some(peer));
    }

    #[test]
    fn other_text_is_no_peer() {
        for text in [
            "",
            "12D3KooW",
            "QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N",
        ] {
            assert_eq!(text.parse::<PeerId>(), Err(ParsePeerIdError), "{text}");
        }
    }
}
