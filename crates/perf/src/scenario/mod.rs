//! Scenarios: the driven work, in the order of measurement.

mod attachments;
pub mod cash;
mod issued;
mod lab;
mod questions;
mod stock;

pub use attachments::{LargeFiles, LargeFilesSent, send_large_files};
pub use lab::{CashLab, CashWork, LabError};
pub use questions::{Asked, Question, questions};
pub use stock::{ASKED, Stocked, fill, network_options};
