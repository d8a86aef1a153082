//! Payments that a history has signed.

use std::sync::Arc;

use crate::Carried;

/// Payments signed by [`super::History::payments`], the only function that returns some. A block of a history takes no others, so
/// its signatures need no check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignedPayments(Vec<Arc<Carried>>);

impl SignedPayments {
    /// Takes payments that the caller has signed.
    pub(super) fn new(payments: Vec<Arc<Carried>>) -> Self {
        Self(payments)
    }

    /// Adds the payments of another slice of the batch.
    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// Returns the payments.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Carried>> {
        self.0.iter()
    }

    /// Returns the payments without the proof that they were signed here.
    pub(super) fn into_inner(self) -> Vec<Arc<Carried>> {
        self.0
    }
}
