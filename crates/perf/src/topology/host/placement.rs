//! The hosts of a network, and which node is on which.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::error::HostError;
use super::machine::Host;
use super::this_machine::this_machine;
use crate::topology::network_error::NetworkError;

/// Interval between two checks for a host that is gone.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The hosts of a network's nodes. Without any, all nodes are on this machine.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    hosts: Vec<Arc<dyn Host>>,
    place: BTreeMap<String, String>,
}

impl Placement {
    /// Places nodes on hosts: those that `place` names on the hosts that it gives them, the others in turn.
    ///
    /// # Errors
    /// Refuses two hosts of one name, a host in `place` that is not among them, and a name that no node can have.
    pub fn new(
        hosts: Vec<Arc<dyn Host>>,
        place: BTreeMap<String, String>,
    ) -> Result<Self, NetworkError> {
        let refused = |name: &str, message: String| {
            Err(NetworkError::Setting {
                name: name.to_owned(),
                message,
            })
        };
        for (at, host) in hosts.iter().enumerate() {
            if hosts[..at].iter().any(|other| other.name() == host.name()) {
                return refused(host.name(), "two hosts have this name".to_owned());
            }
        }
        for (node, wanted) in &place {
            if !hosts.iter().any(|host| host.name() == wanted) {
                return refused(node, format!("no host has the name {wanted}"));
            }
            if !is_node(node) {
                let message = "no node has such a name; nodes are notary, bank-1, node-1 and so on";
                return refused(node, message.to_owned());
            }
        }
        Ok(Self { hosts, place })
    }

    /// Returns whether all nodes are on this machine.
    pub fn is_here(&self) -> bool {
        self.hosts.iter().all(|host| host.is_here())
    }

    /// Returns the host of a node: by its name in results, else by its position among all nodes.
    pub fn host_of(&self, node: &str, position: usize) -> Arc<dyn Host> {
        let wanted = self.place.get(node);
        let named = wanted.and_then(|name| self.hosts.iter().find(|host| host.name() == name));
        let in_turn = || self.hosts.get(position % self.hosts.len().max(1));
        named.or_else(in_turn).map_or_else(this_machine, Arc::clone)
    }

    /// Refuses nodes of another executable than the run's, unless all are on this machine: an agent runs its own.
    pub fn refuse_other_binary(&self) -> Result<(), NetworkError> {
        match self.is_here() {
            true => Ok(()),
            false => Err(NetworkError::Setting {
                name: "--tally".to_owned(),
                message:
                    "hosts run the tally of their agents; leave --host out to compare executables"
                        .to_owned(),
            }),
        }
    }

    /// Returns the processor cores that every host has at least.
    pub fn cores(&self) -> u32 {
        let cores = self.hosts.iter().map(|host| host.cores());
        cores.min().unwrap_or_else(|| this_machine().cores())
    }

    /// Returns the error of the first host that is gone.
    pub fn lost(&self) -> Option<HostError> {
        self.hosts.iter().find_map(|host| host.lost())
    }

    /// Waits until a host is gone: for ever without hosts.
    pub(crate) async fn until_lost(&self) -> HostError {
        loop {
            match self.lost() {
                Some(lost) => return lost,
                None if self.is_here() => std::future::pending().await,
                None => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    }
}

impl fmt::Display for Placement {
    /// Writes the names of the hosts: ` on hosts a, b`; nothing for this machine.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.hosts.iter().map(|host| host.name()).collect();
        match names.as_slice() {
            [] => Ok(()),
            [one] => write!(out, " on host {one}"),
            all => write!(out, " on hosts {}", all.join(", ")),
        }
    }
}

/// Returns whether a node of some network can have this name.
fn is_node(name: &str) -> bool {
    let numbered = name.split_once('-').is_some_and(|(kind, number)| {
        let number: Result<u32, _> = number.parse();
        ["bank", "node"].contains(&kind) && number.is_ok_and(|number| number > 0)
    });
    name == "notary" || numbered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::host::fake::FakeHost;

    fn hosts(names: &[&str]) -> Vec<Arc<dyn Host>> {
        let host = |name: &&str| Arc::new(FakeHost::new(name)) as Arc<dyn Host>;
        names.iter().map(host).collect()
    }

    fn place(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = pairs.iter();
        let owned = pairs.map(|(node, host)| ((*node).to_owned(), (*host).to_owned()));
        owned.collect()
    }

    #[test]
    fn nodes_are_placed_by_name_and_else_in_turn() {
        for (names, placed, expected) in [
            (&[][..], &[][..], ["here", "here", "here", "here"]),
            (&["a"], &[], ["a", "a", "a", "a"]),
            (&["a", "b"], &[], ["a", "b", "a", "b"]),
            (&["a", "b"], &[("bank-1", "a")], ["a", "a", "a", "b"]),
            (
                &["a", "b", "c"],
                &[("notary", "c"), ("bank-3", "b")],
                ["c", "b", "c", "b"],
            ),
        ] {
            let placement = Placement::new(hosts(names), place(placed)).expect("in order");
            let nodes = ["notary", "bank-1", "bank-2", "bank-3"];
            let nodes = nodes.iter().enumerate();
            let found = nodes.map(|(at, node)| placement.host_of(node, at).name().to_owned());
            assert_eq!(found.collect::<Vec<_>>(), expected, "{names:?} {placed:?}");
            assert_eq!(placement.is_here(), names.is_empty());
        }
    }

    #[test]
    fn wrong_placements_are_refused() {
        for (names, placed, words) in [
            (&["a", "a"][..], &[][..], "a: two hosts have this name"),
            (&["a"], &[("bank-1", "b")], "bank-1: no host has the name b"),
            (&["a"], &[("bank", "a")], "bank: no node has such a name"),
            (
                &["a"],
                &[("bank-0", "a")],
                "bank-0: no node has such a name",
            ),
            (&[], &[("bank-1", "a")], "bank-1: no host has the name a"),
        ] {
            let refused = Placement::new(hosts(names), place(placed)).expect_err(words);
            assert!(refused.to_string().starts_with(words), "{refused}");
        }
    }

    #[test]
    fn hosts_in_words() {
        for (names, expected) in [
            (&[][..], ""),
            (&["a"], " on host a"),
            (&["a", "b"], " on hosts a, b"),
        ] {
            let placement = Placement::new(hosts(names), BTreeMap::new()).expect("in order");
            assert_eq!(placement.to_string(), expected);
        }
    }
}
