//! The service of contracts: the registered ones, and the consents to transitions.

use std::sync::Arc;

use api::{ConsentList, ContractList};

use crate::http::pending::Pending;

/// The port to the contracts and the consents to transitions. No method blocks. An answered change is durable.
pub trait ContractService: Send + Sync + 'static {
    /// Returns the registered contracts.
    fn contracts(&self) -> ContractList;

    /// Returns the consents to transitions of other nodes, after a change of them if one is given.
    fn consents(
        &self,
        change: Option<kernel::ConsentChange>,
        user: &Arc<str>,
    ) -> Pending<'_, ConsentList>;
}
