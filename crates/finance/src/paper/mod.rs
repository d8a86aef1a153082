//! Commercial paper: a promise to pay a face value in cash at maturity.

mod contract;
mod errors;
mod state;

pub mod builder;

pub use contract::{PAPER_NAME, PaperContract, paper_name};
pub use errors::PaperError;
pub use state::{PaperCommand, PaperState};
