//! The service of a notary: requests, the verification of whole transactions, and decisions.

pub(crate) mod answers;
pub(crate) mod deciding;
pub(crate) mod requests;
pub(crate) mod validating;
pub(crate) mod whole;
