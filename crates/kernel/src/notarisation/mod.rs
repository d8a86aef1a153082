//! The service of a notary: requests, the verification of whole transactions, and decisions.

pub(crate) mod requests;
pub(crate) mod whole;
