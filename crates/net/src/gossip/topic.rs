//! Topics of messages, names of topics and protocols in a network, and verdicts on messages.

use std::fmt;

use primitives::{Hash, hex};

use super::PeerId;

/// The topic of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// Unconfirmed transactions, in batches.
    Transactions,
    /// Blocks and the announcements that lead to them.
    Blocks,
}

/// Largest message about transactions, in bytes (`gossip.message_too_large`).
pub const TRANSACTIONS_BYTES_MAX: usize = 1 << 20;
/// Largest message about blocks, in bytes (`gossip.message_too_large`).
pub const BLOCKS_BYTES_MAX: usize = 2 << 20;

impl Topic {
    /// All topics.
    pub const ALL: [Self; 2] = [Self::Transactions, Self::Blocks];

    /// Largest message, in bytes.
    #[must_use]
    pub const fn bytes_max(self) -> usize {
        match self {
            Self::Transactions => TRANSACTIONS_BYTES_MAX,
            Self::Blocks => BLOCKS_BYTES_MAX,
        }
    }

    /// Returns the name: `transactions` or `blocks`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transactions => "transactions",
            Self::Blocks => "blocks",
        }
    }

    /// Returns its index in [`ALL`](Self::ALL).
    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The names of a network's protocols and topics. Each name carries the network's hash, so that nodes of different
/// networks have no protocol in common. Gossipsub keeps its usual name, because under others it does less.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// The network's name in the identify protocol.
    pub(super) network: String,
    /// The request protocol's name.
    pub(super) request: String,
    topics: [String; 2],
}

/// The prefix of the names of all our networks.
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

    /// Checks that the network that a node names is ours. Otherwise returns the name of its network, for display.
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

/// A message, and the peer that passed it on to us.
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

/// The application's verdict on a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Good: it is passed on.
    Accept,
    /// Useless here: it is not passed on, and no peer is penalised.
    Ignore,
    /// Wrong, as its sender could have known: it is not passed on, and counts against the peers that sent it.
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
