//! The machine's own limits, measured in the same run as a result, so that a reader can tell how far the result is from them.

mod connection;
mod distance;
mod durable;
mod files;
mod hashing;
mod limits;
mod rate;
mod signing;
mod surroundings;

pub use distance::{ALL_CORES, distance};
pub use files::file_limits;
pub use limits::{describe, finish, limits};
pub use signing::SignatureRates;
pub use surroundings::busy_cores;
