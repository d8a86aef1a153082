//! The description of a network to bring up, and its `NETWORK.toml`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use super::host::{Host, Placement, this_machine};
use super::network_error::NetworkError;
use super::notary_database::NotaryBackend;
use super::who::Who;

/// The notary's short name.
pub(super) const NOTARY: &str = "Notary";
/// The short name of a replicated notary, which transactions name.
const SERVICE: &str = "Notary Service";
/// The short name of a member without a node.
const REQUESTER: &str = "Requester";
/// The user and the database of a replicated notary, until the network has started its own.
const NOTARY_USER: &str = "notary";

/// Options of a network to bring up.
#[derive(Clone, Debug)]
pub struct NetworkOptions {
    /// The `tally` executable.
    pub binary: PathBuf,
    /// Short names of the banks; each becomes `O=NAME, L=London, C=GB`.
    pub banks: Vec<String>,
    /// The folder of the network. If `None`, a temporary folder that is removed at the end.
    pub folder: Option<PathBuf>,
    /// Settings of every node, each a line such as `limits.live_flows = 100`.
    pub settings: Vec<String>,
    /// Whether the notary validates.
    pub validating: bool,
    /// Whether the nodes keep their data on one PostgreSQL server, which the network starts.
    pub database: bool,
    /// Whether they reach it through a proxy that can delay ([`Network::set_database_latency`](super::Network::set_database_latency)).
    pub database_link: bool,
    /// Whether the first bank has a second process on the same database, which waits to take over
    /// ([`Network::standby`](super::Network::standby)). Needs `database`.
    pub standby: bool,
    /// Workers of a replicated notary on a database that the network starts. 0: a single notary.
    pub notary_workers: usize,
    /// The database of a replicated notary.
    pub notary_backend: NotaryBackend,
    /// Members without a node.
    pub requesters: usize,
    /// Whether the last bank is a second notary instead.
    pub second_notary: bool,
    /// Addresses at which the others reach each node, best first: of the notary, then of the banks. A node without any is reached where it
    /// listens. Links have precedence.
    pub advertised: Vec<Vec<String>>,
    /// Whether each node is behind a proxy that can delay traffic from the others ([`Links`](super::Links)).
    pub links: bool,
    /// The hosts of the nodes. On other machines there are no links, no databases and no standby.
    pub placement: Placement,
}

impl NetworkOptions {
    /// Returns options for two banks in a temporary folder.
    pub fn two_banks(binary: PathBuf) -> Self {
        Self {
            binary,
            banks: vec!["Bank A".into(), "Bank B".into()],
            folder: None,
            settings: Vec::new(),
            validating: false,
            database: false,
            database_link: false,
            standby: false,
            notary_workers: 0,
            notary_backend: NotaryBackend::Galera,
            requesters: 0,
            second_notary: false,
            advertised: Vec::new(),
            links: false,
            placement: Placement::default(),
        }
    }

    /// Returns options for this many banks, named `Bank 1` and so on. Their folders are `bank-1` and so on.
    pub fn numbered(binary: PathBuf, banks: u32) -> Self {
        Self {
            banks: (1..=banks).map(|bank| format!("Bank {bank}")).collect(),
            ..Self::two_banks(binary)
        }
    }
}

impl NetworkOptions {
    /// Refuses a standby that nothing could hand over to, and parts that exist on this machine only.
    pub(super) fn check(&self) -> Result<(), NetworkError> {
        let local = [
            (self.links, "link"),
            (self.database, "database"),
            (self.notary_workers > 0, "notary = \"replicated\""),
        ];
        let found = local.into_iter().find(|(wanted, _)| *wanted);
        if let (Some((_, name)), false) = (found, self.placement.is_here()) {
            return Err(NetworkError::Setting {
                name: format!("network.{name}"),
                message: "it works on one machine only; leave it or --host out".to_owned(),
            });
        }
        let missing = match (self.standby, self.banks.is_empty(), self.database) {
            (true, true, _) => "a bank",
            (true, false, false) => "a database server that both processes use",
            _ => return Ok(()),
        };
        Err(NetworkError::Setting {
            name: "standby".to_owned(),
            message: format!("it needs {missing}"),
        })
    }

    /// Returns the host of a member. Those without a node are on this machine.
    pub(super) fn host_of(&self, position: usize) -> Arc<dyn Host> {
        let who = match position.checked_sub(1) {
            None => Who::Notary,
            Some(bank) if bank < self.banks.len() => Who::Bank(bank),
            Some(_) if position < self.nodes() => Who::Worker(position - self.banks.len() - 1),
            Some(_) => return this_machine(),
        };
        self.placement.host_of(&who.to_string(), position)
    }

    /// Returns the number of nodes.
    pub(super) fn nodes(&self) -> usize {
        self.banks.len() + self.notary_workers.max(1)
    }

    /// Returns the number of members: nodes and requesters.
    pub(super) fn members(&self) -> usize {
        self.nodes() + self.requesters
    }

    /// Returns the folder that bootstrap makes for the notary (position 0), a bank (from 1), a further worker of the notary (after the
    /// banks), or a requester (after the nodes).
    pub(super) fn folder_name(&self, position: usize) -> String {
        self.short_name(position).to_lowercase().replace(' ', "-")
    }

    /// Returns the description that bootstrap reads. Each node has two addresses, for other nodes and for clients. Other
    /// nodes use the advertised addresses of a node that has any.
    pub(super) fn network_toml(
        &self,
        addresses: &[[SocketAddr; 2]],
        advertised: &[Vec<String>],
    ) -> String {
        let mut text = String::new();
        for (position, pair) in addresses.iter().enumerate() {
            let name = legal_name(&self.short_name(position));
            text.push_str(&format!(
                "[[node]]\nname = \"{name}\"\naddress = \"{}\"\napi = \"{}\"\n",
                pair[0], pair[1]
            ));
            if let Some(addresses) = advertised.get(position).filter(|all| !all.is_empty()) {
                text.push_str(&format!("advertised = {addresses:?}\n"));
            }
            let is_further = position > self.banks.len() && position < self.nodes();
            let is_worker = self.notary_workers > 0 && (position == 0 || is_further);
            if is_worker {
                // The network starts the database later, and writes its place then.
                text.push_str(&format!(
                    "notary = true\nservice = \"{}\"\nconfig.notary_database.url = \"mysql://{NOTARY_USER}@localhost/{NOTARY_USER}\"\n",
                    legal_name(SERVICE)
                ));
            } else if position == 0 || (self.second_notary && position == self.banks.len()) {
                text.push_str("notary = true\n");
                if self.validating {
                    text.push_str("validating = true\n");
                }
            }
            for setting in &self.settings {
                text.push_str(&format!("config.{setting}\n"));
            }
            text.push('\n');
        }
        text
    }

    /// Returns the short name of a node.
    pub(super) fn short_name(&self, position: usize) -> String {
        match position.checked_sub(1) {
            None => NOTARY.to_owned(),
            Some(bank) => match self.banks.get(bank) {
                Some(bank) => bank.clone(),
                None if position < self.nodes() => {
                    format!("{NOTARY} {}", position - self.banks.len() + 1)
                }
                None => format!("{REQUESTER} {}", position - self.nodes() + 1),
            },
        }
    }
}

/// Converts `Bank A` to its legal name.
pub(super) fn legal_name(short: &str) -> String {
    format!("O={short}, L=London, C=GB")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::standby::local;

    #[test]
    fn a_description() {
        let mut options = NetworkOptions::two_banks("tally".into());
        options.banks.truncate(1);
        options.settings.push("limits.live_flows = 5".into());
        let addresses = [[1, 2], [3, 4]].map(|two| two.map(local));
        assert_eq!(
            options.network_toml(&addresses, &[]),
            "[[node]]\nname = \"O=Notary, L=London, C=GB\"\naddress = \"127.0.0.1:1\"\napi = \"127.0.0.1:2\"\n\
             notary = true\nconfig.limits.live_flows = 5\n\n\
             [[node]]\nname = \"O=Bank A, L=London, C=GB\"\naddress = \"127.0.0.1:3\"\napi = \"127.0.0.1:4\"\n\
             config.limits.live_flows = 5\n\n"
        );
        let linked = options.network_toml(&addresses, &[vec!["127.0.0.1:9".into()]]);
        let advertised = "api = \"127.0.0.1:2\"\nadvertised = [\"127.0.0.1:9\"]\nnotary = true\n";
        assert!(linked.contains(advertised), "{linked}");
        assert_eq!(options.folder_name(1), "bank-a");
    }

    #[test]
    fn a_standby_needs_a_bank_and_a_database() {
        for (banks, database, standby, missing) in [
            (2, true, true, None),
            (2, false, true, Some("needs a database server")),
            (0, true, true, Some("needs a bank")),
            (0, false, true, Some("needs a bank")),
            (0, false, false, None),
        ] {
            let mut options = NetworkOptions::two_banks("tally".into());
            options.banks.truncate(banks);
            (options.database, options.standby) = (database, standby);
            let error = options.check().err().map(|error| error.to_string());
            match missing {
                Some(missing) => assert!(error.is_some_and(|error| error.contains(missing))),
                None => assert_eq!(error, None, "{banks} {database} {standby}"),
            }
        }
    }

    #[test]
    fn parts_of_one_machine_are_refused_on_several() {
        use crate::topology::host::fake::FakeHost;
        let host: Arc<dyn Host> = Arc::new(FakeHost::new("a"));
        let placement = Placement::new(vec![host], Default::default()).expect("in order");
        for (links, database, workers, refused) in [
            (false, false, 0, None),
            (true, false, 0, Some("network.link: ")),
            (false, true, 0, Some("network.database: ")),
            (false, false, 2, Some("network.notary")),
        ] {
            let mut options = NetworkOptions::two_banks("tally".into());
            (options.links, options.database) = (links, database);
            options.notary_workers = workers;
            assert!(options.check().is_ok(), "on one machine");
            options.placement = placement.clone();
            let error = options.check().err().map(|error| error.to_string());
            match refused {
                Some(words) => assert!(error.is_some_and(|error| error.starts_with(words))),
                None => assert_eq!(error, None),
            }
        }
    }
}
