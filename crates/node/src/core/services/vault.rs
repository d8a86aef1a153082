//! The vault for the API.

use std::time::Instant;

use api::{Balances, Quarantined, StatesPage, VaultAnswer, VaultQuery};
use tokio::sync::watch;

use crate::core::service::Service;
use crate::http::{Pending, VaultChanges, VaultService};

impl VaultService for Service {
    fn balances(&self, deadline: Instant) -> Pending<'_, Balances> {
        Box::pin(self.read_balances(deadline))
    }

    fn states(
        &self,
        after: Option<u64>,
        limit: usize,
        quarantined: Quarantined,
        deadline: Instant,
    ) -> Pending<'_, StatesPage> {
        Box::pin(self.read_states(after, limit, quarantined, deadline))
    }

    fn vault_query(&self, query: VaultQuery, deadline: Instant) -> Pending<'_, VaultAnswer> {
        Box::pin(self.answer_query(query, deadline))
    }

    fn vault_end(&self) -> u64 {
        self.shared.view.fed_seq()
    }

    fn vault_seq(&self) -> watch::Receiver<u64> {
        self.shared.view.reached()
    }

    fn vault_changes(&self, after: u64, upto: u64, limit: usize) -> Pending<'_, VaultChanges> {
        Box::pin(self.read_changes(after, upto, limit))
    }
}
