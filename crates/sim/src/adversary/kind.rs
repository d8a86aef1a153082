//! The kinds of harmful members, with their names on the command line.

use std::str::FromStr;

/// A kind of dishonest or broken member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adversary {
    /// Opens more sessions than its share and sends no message on them.
    Swarm,
    /// Replays its own and observed sessions and messages, to their first receivers and to others.
    Replayer,
    /// Sets the clocks of nodes and notaries.
    Clocks,
    /// Stops answering in the middle of trades, swaps and exchanges of cash.
    Silent,
    /// Sends bytes that do not decode, bad signatures and requests for invented states.
    Garbage,
}

impl Adversary {
    /// Every adversary with its name on the command line.
    pub const ALL: [(Adversary, &str); 5] = [
        (Adversary::Swarm, "swarm"),
        (Adversary::Replayer, "replayer"),
        (Adversary::Clocks, "clocks"),
        (Adversary::Silent, "silent"),
        (Adversary::Garbage, "garbage"),
    ];

    /// Returns whether honest nodes may log this warning in the adversary's presence.
    pub(crate) fn expects(self, code: &str) -> bool {
        // A restarted or slow counterparty is silent for some time in any network.
        if code == "flow.counterparty_silent" {
            return true;
        }
        let codes: &[&str] = match self {
            Self::Swarm => &[],
            Self::Replayer => &["node.bad_message"],
            Self::Clocks => &["node.clock_jumped"],
            Self::Silent => &["vault.quarantined", "node.delivery_waits"],
            Self::Garbage => &[
                "node.bad_message",
                "node.peer_cut_off",
                "node.transaction_refused",
            ],
        };
        codes.contains(&code)
    }

    /// Returns whether the adversary is the exchange. Ordinary flows do not use the exchange then.
    pub(crate) fn is_the_exchange(self) -> bool {
        matches!(self, Self::Silent | Self::Garbage)
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        let named = Self::ALL.into_iter().find(|(one, _)| *one == self);
        named.map_or("", |(_, name)| name)
    }
}

impl FromStr for Adversary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|(_, name)| *name == text);
        found.map(|(adversary, _)| adversary).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.into_iter().map(|(_, name)| name).collect();
            let names = names.join(", ");
            format!("no adversary is called {text:?}; expected one of: {names}")
        })
    }
}
