//! Processor time per flow: of all processes, and of the thread that decides.

use std::io;

use perf::measure::ThreadTimes;
use perf::report::number;
use perf::topology::{Network, Who};

/// The thread of a node that makes all decisions, one after another.
const SERIAL_THREAD: &str = "kernel";

/// A reading of the processor times of all members of a network.
pub struct CostReading(Vec<(Who, ThreadTimes)>);

impl CostReading {
    /// Reads the times now.
    pub fn of(network: &Network) -> io::Result<Self> {
        network.thread_times().map(Self)
    }

    /// Returns the costs of `flows` flows that ran since this reading.
    pub fn costs(&self, network: &Network, flows: u64) -> io::Result<Costs> {
        let now = network.thread_times()?;
        if now.len() != self.0.len() {
            return Err(io::Error::other("a node ended during the measurement"));
        }
        let passed = now.iter().zip(&self.0).map(|((who, now), (same, before))| {
            assert_eq!(who, same, "the members stay the same");
            (network.name(*who), now.since(before))
        });
        Ok(Costs::new(passed, flows))
    }
}

/// The processor time of a flow, in microseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// The time of all threads of all members.
    pub cpu_us: f64,
    /// The time of the busiest deciding thread.
    pub serial_us: f64,
    /// The member with that thread.
    pub serial_at: String,
}

impl Costs {
    fn new<'a>(members: impl Iterator<Item = (&'a str, ThreadTimes)>, flows: u64) -> Self {
        assert!(flows > 0, "costs are those of a flow");
        let each = |ns: u64| ns as f64 / 1e3 / flows as f64;
        let mut costs = Self {
            cpu_us: 0.0,
            serial_us: 0.0,
            serial_at: String::new(),
        };
        for (name, times) in members {
            costs.cpu_us += each(times.total_ns());
            let serial_us = each(times.ns_of(SERIAL_THREAD));
            if serial_us > costs.serial_us {
                (costs.serial_us, costs.serial_at) = (serial_us, name.to_owned());
            }
        }
        costs
    }

    /// Returns the rate that one deciding thread can reach on any number of cores, per second.
    pub fn ceiling_per_s(&self) -> f64 {
        1e6 / self.serial_us
    }

    /// Returns the costs as text.
    pub fn text(&self) -> String {
        format!(
            "{} us of processor time a flow; {} us of them one after another at {}, so at most {} /s on any number of cores",
            number(self.cpu_us),
            number(self.serial_us),
            self.serial_at,
            number(self.ceiling_per_s()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_deciding_thread_sets_the_ceiling() {
        let times = |threads: &[(&str, u64)]| threads.iter().copied().collect::<ThreadTimes>();
        let members = [
            ("Notary", times(&[("kernel", 10_000), ("io", 20_000)])),
            ("Bank A", times(&[("kernel", 50_000), ("view", 20_000)])),
            ("Bank B", times(&[("net", 100_000)])),
        ];
        let costs = Costs::new(members.into_iter(), 2);
        assert_eq!(
            costs,
            Costs {
                cpu_us: 100.0,
                serial_us: 25.0,
                serial_at: "Bank A".to_owned(),
            }
        );
        assert_eq!(costs.ceiling_per_s(), 40_000.0);
    }
}
