//! The role of a process in a network.

use serde::Serialize;

use crate::results::is_database;

/// A role that a buyer plans hardware for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A node with a ledger and a vault, a node of a chain, or another system.
    Node,
    /// A notary, or a worker of a replicated one.
    Notary,
    /// A server of the database of the nodes or of a replicated notary.
    Database,
}

impl Role {
    /// Returns the role of a process by its name in results.
    pub fn of(name: &str) -> Self {
        match name {
            _ if is_database(name) => Role::Database,
            _ if name == "notary" || name.starts_with("notary-") => Role::Notary,
            _ => Role::Node,
        }
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Role::Node => "node",
            Role::Notary => "notary",
            Role::Database => "database",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_follow_from_names() {
        for (name, role) in [
            ("bank-1", "node"),
            ("node-3", "node"),
            ("notary", "notary"),
            ("notary-2", "notary"),
            ("database", "database"),
            ("notary-database", "database"),
            ("notary-database-3", "database"),
        ] {
            assert_eq!(Role::of(name).name(), role, "{name}");
        }
    }
}
