//! The scenarios that come with the program.

/// A scenario that is shipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// Its name for `tally lab run`.
    pub name: &'static str,
    /// The text of its file.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($name:literal,)*) => {
        &[$(Shipped { name: $name, text: include_str!(concat!("../../scenarios/", $name, ".toml")) }),*]
    };
}

/// All shipped scenarios, in the order of `make lab`.
pub const SHIPPED: &[Shipped] = shipped![
    "issue",
    "issue-and-pay",
    "states-per-transaction",
    "cores",
    "cores-payee",
    "cores-notary",
    "swap-latency",
    "swap-throughput",
    "swap-clients",
    "tuning",
    "threads",
    "memory",
    "connection",
    "database",
    "database-distance",
    "plain-postgres",
    "notary",
    "notary-states",
    "notary-kinds",
    "failover",
    "distance",
    "round-trips",
    "attachments-sizes",
    "attachments-gateway",
    "attachments-distance",
    "attachments-make",
    "attachments-limits",
    "attachments-large",
    "nightly",
    "admission",
    "starts",
    "followers",
    "vault-queries",
    "knee",
    "generator",
    "soak",
    "chain-demo",
    "chain-flat",
    "chain-published",
    "chain-rate",
    "chain-soak",
];

/// Returns the scenario of a name.
pub fn shipped(name: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|shipped| shipped.name == name)
}
