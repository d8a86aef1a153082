//! The recovery after a rollback for the API.

use api::RecoveryView;

use crate::core::service::Service;
use crate::http::{IntegrityService, Pending};

impl IntegrityService for Service {
    fn order_recovery(
        &self,
        order: kernel::integrity::IntegrityOrder,
    ) -> Pending<'_, RecoveryView> {
        Box::pin(self.recovery_ordered(order))
    }
}
