//! Contracts and consents for the API.

use std::sync::Arc;

use api::{ConsentList, ContractList};

use crate::core::consents;
use crate::core::service::Service;
use crate::http::{ContractService, Pending};

impl ContractService for Service {
    fn contracts(&self) -> ContractList {
        consents::contracts(&self.contracts)
    }

    fn consents(
        &self,
        change: Option<kernel::ConsentChange>,
        user: &Arc<str>,
    ) -> Pending<'_, ConsentList> {
        Box::pin(self.consented(change, user.to_string()))
    }
}
