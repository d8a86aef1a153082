//! What messages are about, what they and the protocols are called in a network, and what is thought of a message.

use std::fmt;

use primitives::{Hash, hex};

use super::PeerId;

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// Unconfirmed transactions, in batches.
    Transactions,
    /// Blocks and what leads to them.
    Blocks,
}

/// Largest message about transactions, in bytes (`gossip.message_too_large`).
pub const TRANSACTIONS_BYTES_MAX: usize = 1 << 20;
/// Largest message about blocks, in bytes (`gossip.message_too_large`).
pub const BLOCKS_BYTES_MAX: usize = 2 << 20;

impl Topic {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Transactions, Self::Blocks];

    /// Largest message, in bytes.
    #[must_use]
    pub const fn bytes_max(self) -> usize {
        match self {
            Self::Transactions => TRANSACTIONS_BYTES_MAX,
            Self::Blocks => BLOCKS_BYTES_MAX,
        }
    }

    /// `transactions` or `blocks`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transactions => "transactions",
            Self::Blocks => "blocks",
        }
    }

    /// Its place in [`ALL`](Self::ALL).
    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What the protocols and topics of a network are called: each name carries the network's hash, so that nodes of different
/// networks have nothing to say to each other. Gossipsub keeps its usual name, since it does less under others.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// Of the network, as the identify protocol tells it.
    pub(super) network: String,
    /// Of requests.
    pub(super) request: String,
    topics: [String; 2],
}

/// What names of any of our networks begin with.
const FAMILY: &str = "/tally/";

impl Names {
    pub(super) fn new(network: &[u8; 32]) -> Self {
        let hash = hex::encode(network);
        // Each message carries its topic, so only the hash's beginning.
        let short = &hash[..16];
        Self {
            network: format!("{FAMILY}{hash}/1"),
            request: format!("{FAMILY}{hash}/request/1"),
            topics: Topic::ALL.map(|topic| format!("{short}/{topic}")),
        }
    }

    pub(super) fn topic(&self, topic: Topic) -> &str {
        &self.topics[topic.index()]
    }

    pub(super) fn topic_of(&self, name: &str) -> Option<Topic> {
        let topics = Topic::ALL.into_iter();
        topics
            .zip(&self.topics)
            .find_map(|(topic, own)| (own == name).then_some(topic))
    }

    /// Whether a node that tells this network is of ours; for people, which one it is otherwise.
    pub(super) fn same_network(&self, told: &str) -> Result<(), String> {
        if told == self.network {
            return Ok(());
        }
        let hash = told.strip_prefix(FAMILY).and_then(|rest| rest.get(..16));
        Err(match hash {
            Some(hash) if hash.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
                format!("network {hash}...")
            }
            _ => "no network of ours".to_owned(),
        })
    }
}

/// A message, and who passed it on to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    pub(super) hash: Hash,
    pub(super) from: PeerId,
}

impl MessageId {
    /// SHA-256 of the topic's name, a zero byte and the message: the same on all nodes of a network.
    #[must_use]
    pub const fn hash(&self) -> &Hash {
        &self.hash
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.hash, f)
    }
}

/// What is thought of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Good: it is passed on.
    Accept,
    /// Of no use here: it goes no further, and nobody is blamed.
    Ignore,
    /// Wrong, as whoever sent it could have known: it goes no further and counts against those who sent it.
    Reject,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_networks_differ_and_say_which() {
        let (one, other) = (Names::new(&[1; 32]), Names::new(&[2; 32]));
        for topic in Topic::ALL {
            assert_eq!(one.topic_of(one.topic(topic)), Some(topic));
            assert_eq!(one.topic_of(other.topic(topic)), None);
        }
        assert_eq!(one.same_network(&one.network), Ok(()));
        for (told, shown) in [
            (other.network.as_str(), "network 0202020202020202..."),
            ("ipfs/0.1.0", "no network of ours"),
            (
                "/tally/\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}",
                "no network of ours",
            ),
            ("/tally/01", "no network of ours"),
            ("", "no network of ours"),
        ] {
            assert_eq!(one.same_network(told), Err(shown.to_owned()), "{told}");
        }
    }
}
