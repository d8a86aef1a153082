//! Instruments: latencies, medians, memory and processor time of processes, serial time, disk use, times as numbers.

mod disk;
mod family;
mod latencies;
mod look;
mod median;
mod process;
mod serial;
mod threads;
mod whole;

pub use disk::DiskUse;
pub use latencies::Latencies;
pub(crate) use look::own_cpu_ns;
pub use look::{Look, ProcessKey};
pub use median::median;
pub use process::{ProcessReading, TICKS_PER_S, load_average};
pub use serial::{
    SERIAL_JOBS_METRIC, SERIAL_THREAD, SerialShare, SerialTimes, ceiling_per_s, seconds_as_us,
};
pub use threads::thread_ns;
pub use whole::{unix_now, whole_micros, whole_millis};
