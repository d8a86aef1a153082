//! Instruments: latencies, medians, memory and processor time of processes, disk use, times as numbers.

mod disk;
mod latencies;
mod median;
mod process;
mod threads;
mod whole;

pub use disk::DiskUse;
pub use latencies::Latencies;
pub use median::median;
pub use process::{ProcessReading, load_average};
pub use threads::ThreadTimes;
pub use whole::{unix_now, whole_micros, whole_millis};
