//! The proposals of other parties that this node signs: the consents of its operators, and the checks.

mod changes;
mod checks;
mod rows;

pub use rows::{ConsentChange, ConsentOptions, ConsentRow, Consents, NotaryConsentRow};
