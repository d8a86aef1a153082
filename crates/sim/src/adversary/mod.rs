//! Members that do harm. Each seed has one of them; honest nodes have to come to the predicted end in spite of it.

mod asked;
mod clocks;
mod replayer;
mod replays;
mod timed;

use std::str::FromStr;

use flow::FlowRegistry;

use crate::SimOptions;

pub(crate) use clocks::{ClockFault, clock_faults};
pub(crate) use replayer::Replayer;
pub(crate) use timed::TimedArgs;

/// A kind of dishonest or broken member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adversary {
    /// Opens more sessions than its share and says nothing on them.
    Swarm,
    /// Presents sessions and messages again: its own and observed ones, to their first receivers and to others.
    Replayer,
    /// Sets the clocks of nodes and notaries.
    Clocks,
}

impl Adversary {
    /// Every adversary with its name on the command line.
    pub const ALL: [(Adversary, &str); 3] = [
        (Adversary::Swarm, "swarm"),
        (Adversary::Replayer, "replayer"),
        (Adversary::Clocks, "clocks"),
    ];

    /// The adversary of a simulation: the chosen one, or the seed's.
    pub(crate) fn of(options: &SimOptions) -> Option<Self> {
        let of_seed = match options.seed % 5 {
            0 => Some(Self::Swarm),
            1 => Some(Self::Replayer),
            2 => Some(Self::Clocks),
            _ => None,
        };
        options.adversary.or(of_seed)
    }

    /// Whether honest nodes may warn of this in its presence.
    pub(crate) fn expects(self, code: &str) -> bool {
        let codes: &[&str] = match self {
            Self::Swarm => &[],
            Self::Replayer => &["node.bad_message"],
            Self::Clocks => &["node.clock_jumped"],
        };
        codes.contains(&code)
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

/// Registers the flows that adversaries start.
pub(crate) fn register(flows: &mut FlowRegistry) {
    flows.register::<replays::Replay>();
    flows.register::<timed::Timed>();
}
