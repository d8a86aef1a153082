//! The programs that a host runs, and the signals that it sends: nothing else.

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

/// A node that a host runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::agent) enum NodeKind {
    /// `node run FOLDER`
    Node,
    /// `chain run FOLDER`
    ChainNode,
}

/// A command that a host runs for a stopped node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::agent) enum NodeCommand {
    /// `chain history --json --transactions N FOLDER`
    History { transactions: u64 },
    /// `chain accept-store --confirm NAME FOLDER`
    AcceptStore { name: String },
}

/// A signal to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::agent) enum NodeSignal {
    Terminate,
    Kill,
    Stop,
    Continue,
}

impl NodeKind {
    /// Returns the words of its command line before the folder.
    pub fn words(self) -> [&'static str; 2] {
        match self {
            NodeKind::Node => ["node", "run"],
            NodeKind::ChainNode => ["chain", "run"],
        }
    }

    /// Returns the node of these words and its folder; `None` for any other program.
    pub fn of(words: &[String]) -> Option<(Self, &str)> {
        let [first, second, folder] = words else {
            return None;
        };
        let both = [NodeKind::Node, NodeKind::ChainNode].into_iter();
        let mut same = both.filter(|kind| kind.words() == [first.as_str(), second.as_str()]);
        Some((same.next()?, folder))
    }
}

impl NodeCommand {
    /// Returns the words of its command line before the folder.
    pub fn words(&self) -> Vec<String> {
        let (words, last) = match self {
            NodeCommand::History { transactions } => (
                ["chain", "history", "--json", "--transactions"].as_slice(),
                transactions.to_string(),
            ),
            NodeCommand::AcceptStore { name } => (
                ["chain", "accept-store", "--confirm"].as_slice(),
                name.clone(),
            ),
        };
        let words = words.iter().map(|word| (*word).to_owned());
        words.chain([last]).collect()
    }

    /// Returns the command of these words and its folder; `None` for any other command.
    pub fn of(words: &[String]) -> Option<(Self, &str)> {
        let all: Vec<&str> = words.iter().map(String::as_str).collect();
        match all.as_slice() {
            [
                "chain",
                "history",
                "--json",
                "--transactions",
                count,
                folder,
            ] => {
                let transactions = count.parse().ok()?;
                Some((NodeCommand::History { transactions }, folder))
            }
            ["chain", "accept-store", "--confirm", name, folder] => {
                let name = (*name).to_owned();
                Some((NodeCommand::AcceptStore { name }, folder))
            }
            _ => None,
        }
    }
}

impl NodeSignal {
    /// Returns the signal of the system.
    pub fn signal(self) -> Signal {
        match self {
            NodeSignal::Terminate => Signal::TERM,
            NodeSignal::Kill => Signal::KILL,
            NodeSignal::Stop => Signal::STOP,
            NodeSignal::Continue => Signal::CONT,
        }
    }

    /// Returns the signal of the system as one that hosts send; `None` for any other.
    pub fn of(signal: Signal) -> Option<Self> {
        let all = [
            NodeSignal::Terminate,
            NodeSignal::Kill,
            NodeSignal::Stop,
            NodeSignal::Continue,
        ];
        all.into_iter().find(|one| one.signal() == signal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn only_nodes_are_started() {
        for (text, expected) in [
            ("node run a/b", Some((NodeKind::Node, "a/b"))),
            ("chain run a", Some((NodeKind::ChainNode, "a"))),
            ("node run --standby a", None),
            ("node run", None),
            ("chain genesis a", None),
            ("-c id a", None),
            ("", None),
        ] {
            assert_eq!(NodeKind::of(&words(text)), expected, "{text}");
        }
    }

    #[test]
    fn commands_are_known_by_their_words() {
        for (text, known) in [
            ("chain history --json --transactions 5 a", true),
            ("chain accept-store --confirm server2 a", true),
            ("chain history --json --transactions x a", false),
            ("chain run a", false),
        ] {
            let words = words(text);
            let Some((command, folder)) = NodeCommand::of(&words) else {
                assert!(!known, "{text}");
                continue;
            };
            let mut again = command.words();
            again.push(folder.to_owned());
            assert!(known && again == words, "{text}");
        }
    }

    #[test]
    fn signals_are_four() {
        for (signal, known) in [
            (Signal::TERM, true),
            (Signal::KILL, true),
            (Signal::STOP, true),
            (Signal::CONT, true),
            (Signal::HUP, false),
        ] {
            let found = NodeSignal::of(signal);
            assert_eq!(found.is_some(), known);
            assert!(found.is_none_or(|found| found.signal() == signal));
        }
    }
}
