//! The description of a network to bring up, and its `NETWORK.toml`.

use std::path::PathBuf;

use super::network_error::NetworkError;
use super::notary_database::NotaryBackend;

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
    /// Refuses a standby that nothing could hand over to.
    pub(super) fn check(&self) -> Result<(), NetworkError> {
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

    /// Returns the description that bootstrap reads. Each node has two ports, for other nodes and for clients. Other nodes
    /// use the advertised addresses of a node that has any.
    pub(super) fn network_toml(&self, ports: &[u16], advertised: &[Vec<String>]) -> String {
        let mut text = String::new();
        for (position, pair) in ports.chunks_exact(2).enumerate() {
            let name = legal_name(&self.short_name(position));
            text.push_str(&format!(
                "[[node]]\nname = \"{name}\"\naddress = \"127.0.0.1:{}\"\napi = \"127.0.0.1:{}\"\n",
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

    #[test]
    fn a_description() {
        let mut options = NetworkOptions::two_banks("tally".into());
        options.banks.truncate(1);
        options.settings.push("limits.live_flows = 5".into());
        assert_eq!(
            options.network_toml(&[1, 2, 3, 4], &[]),
            "[[node]]\nname = \"O=Notary, L=London, C=GB\"\naddress = \"127.0.0.1:1\"\napi = \"127.0.0.1:2\"\n\
             notary = true\nconfig.limits.live_flows = 5\n\n\
             [[node]]\nname = \"O=Bank A, L=London, C=GB\"\naddress = \"127.0.0.1:3\"\napi = \"127.0.0.1:4\"\n\
             config.limits.live_flows = 5\n\n"
        );
        let linked = options.network_toml(&[1, 2, 3, 4], &[vec!["127.0.0.1:9".into()]]);
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
}
