//! The service of a notary: requests, the verification of whole transactions, and decisions.

pub(crate) mod answers;
mod deciding;
mod entering;
pub(crate) mod own_signature;
pub(crate) mod requests;
pub(crate) mod tear_off_job;
mod validating;
pub(crate) mod views;
mod whole;
