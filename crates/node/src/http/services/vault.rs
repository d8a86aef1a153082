//! The service of the vault: balances, states, queries and changes.

use std::time::Instant;

use api::{Balances, Quarantined, StatesPage, VaultAnswer, VaultQuery};
use tokio::sync::watch;

use crate::http::pending::Pending;
use crate::http::vault_changes::VaultChanges;

/// The port to the vault. No method blocks. An answered change is durable.
pub trait VaultService: Send + Sync + 'static {
    /// Returns the sums once the vault's view shows everything acknowledged before this call. Refuses at the deadline.
    fn balances(&self, deadline: Instant) -> Pending<'_, Balances>;

    /// Returns unconsumed states after a number, under the same condition.
    fn states(
        &self,
        after: Option<u64>,
        limit: usize,
        quarantined: Quarantined,
        deadline: Instant,
    ) -> Pending<'_, StatesPage>;

    /// Returns the states or groups of a query, under the same condition. Dropping the answer cancels the query.
    fn vault_query(&self, query: VaultQuery, deadline: Instant) -> Pending<'_, VaultAnswer>;

    /// Returns the ledger position of the last change that was acknowledged. The vault's view may be behind it.
    fn vault_end(&self) -> u64;

    /// Returns the ledger position that the vault's view has reached.
    fn vault_seq(&self) -> watch::Receiver<u64>;

    /// Returns the changes of the vault after a position, up to one that the view has reached. Examines `limit` positions at
    /// most.
    fn vault_changes(&self, after: u64, upto: u64, limit: usize) -> Pending<'_, VaultChanges>;
}
