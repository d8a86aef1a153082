//! Scenarios: what is driven, in the order in which it is measured.

pub mod cash;
mod lab;

pub use lab::{CashLab, CashWork, LabError};
