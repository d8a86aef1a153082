//! The service of the checks after a restored backup.

use api::RecoveryView;

use crate::http::pending::Pending;

/// The port to the recovery after a rollback of the data. No method blocks. An answered change is durable.
pub trait IntegrityService: Send + Sync + 'static {
    /// Carries out an order about a rollback, and returns the state of the data afterwards.
    fn order_recovery(&self, order: kernel::integrity::IntegrityOrder)
    -> Pending<'_, RecoveryView>;
}
