//! Instruments: latencies, medians, memory and processor time of processes, disk use.

mod disk;
mod latencies;
mod median;
mod process;

pub use disk::DiskUse;
pub use latencies::Latencies;
pub use median::median;
pub use process::{ProcessReading, load_average};
