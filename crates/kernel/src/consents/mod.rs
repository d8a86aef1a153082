//! The proposals of others that this node signs: the consents of operators, and the checks.

mod changes;
mod checks;
mod rows;

pub use rows::{ConsentChange, ConsentOptions, ConsentRow, Consents, NotaryConsentRow};
