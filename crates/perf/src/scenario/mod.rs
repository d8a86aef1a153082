//! Scenarios: what is driven, in the order in which it is measured.

pub mod cash;
mod lab;
mod questions;
mod stock;

pub use lab::{CashLab, CashWork, LabError};
pub use questions::{Asked, Question, questions};
pub use stock::{ASKED, Stocked, fill, network_options};
