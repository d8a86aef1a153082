//! Files that nodes fetch from each other: the shell around [`transfer`]. The bytes never pass through the kernel.
//!
//! ```text
//!  peers ──net, lane 3──► transfers ──► transfer thread ──► disk workers ──► store::Files
//!  kernel ──FetchFile …──►  ▲            │    ▲             │
//!     ▲                     └────────────┼────┴── answers ──┘
//!     └── FileArrived, FilePermit … ◄────┴──► net, lane 3
//! ```
//! One thread decides which parts are requested next, within budgets. Workers read, write and hash. One worker does all work on
//! one file, so this work is done in order. The kernel alone decides which parties may have a file.

mod claims;
mod errors;
mod figures;
mod handle;
mod start;
mod thread;
mod upkeep;
mod workers;

pub use errors::ERRORS;
pub(crate) use errors::lost;
pub(crate) use figures::show;
pub(crate) use handle::{FILES_LANE, TransferHandle};
pub(crate) use start::{Running, Shell, start};
pub(crate) use upkeep::UpkeepOptions;
pub(crate) use workers::remove_without_row;
