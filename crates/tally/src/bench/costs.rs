//! Processor time per flow: of all processes, and of the thread that decides.

use anyhow::{Result, bail};
use perf::measure::ThreadTimes;
use perf::report::number;
use perf::topology::{Network, Who};

/// The thread of a node that makes all decisions, one after another.
const SERIAL_THREAD: &str = "kernel";

/// The metric with the processor time that this thread has spent on jobs, which other threads could do as well.
const JOBS_METRIC: &str = "tally_jobs_kernel_seconds_sum";

/// A reading of the processor times of all members of a network.
pub struct CostReading(Vec<MemberTimes>);

struct MemberTimes {
    who: Who,
    threads: ThreadTimes,
    /// The time that the deciding thread has spent on jobs.
    jobs_ns: u64,
}

impl CostReading {
    /// Reads the times now.
    pub async fn of(network: &Network) -> Result<Self> {
        let mut members = Vec::new();
        for (who, threads) in network.thread_times()? {
            let metrics = network.client(who)?.metrics().await?;
            members.push(MemberTimes {
                who,
                threads,
                jobs_ns: jobs_ns(&metrics)?,
            });
        }
        Ok(Self(members))
    }

    /// Returns the costs of `flows` flows that ran since this reading.
    pub async fn costs(&self, network: &Network, flows: u64) -> Result<Costs> {
        let now = Self::of(network).await?.0;
        if now.len() != self.0.len() {
            bail!("a node ended during the measurement");
        }
        let passed = now.iter().zip(&self.0).map(|(now, before)| {
            assert_eq!(now.who, before.who, "the members stay the same");
            let jobs_ns = now.jobs_ns.saturating_sub(before.jobs_ns);
            (
                network.name(now.who),
                now.threads.since(&before.threads),
                jobs_ns,
            )
        });
        Ok(Costs::new(passed, flows))
    }
}

/// Reads the time of the deciding thread's jobs from a node's metrics.
fn jobs_ns(metrics: &str) -> Result<u64> {
    let mut lines = metrics.lines();
    let value = lines.find_map(|line| line.strip_prefix(JOBS_METRIC));
    let seconds: Option<f64> = value.and_then(|value| value.trim().parse().ok());
    match seconds {
        Some(seconds) => Ok((seconds * 1e9) as u64),
        None => bail!("the node's metrics lack {JOBS_METRIC}"),
    }
}

/// The processor time of a flow, in microseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// The time of all threads of all members.
    pub cpu_us: f64,
    /// The time of the busiest deciding thread, without the jobs that other threads could do.
    pub serial_us: f64,
    /// The member with that thread.
    pub serial_at: String,
}

impl Costs {
    fn new<'a>(members: impl Iterator<Item = (&'a str, ThreadTimes, u64)>, flows: u64) -> Self {
        assert!(flows > 0, "costs are those of a flow");
        let each = |ns: u64| ns as f64 / 1e3 / flows as f64;
        let mut costs = Self {
            cpu_us: 0.0,
            serial_us: 0.0,
            serial_at: String::new(),
        };
        for (name, times, jobs_ns) in members {
            costs.cpu_us += each(times.total_ns());
            // Clipped at 0: the two are read one after the other.
            let serial_us = each(times.ns_of(SERIAL_THREAD).saturating_sub(jobs_ns));
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
            (
                "Notary",
                times(&[("kernel", 10_000), ("io", 20_000)]),
                4_000,
            ),
            (
                "Bank A",
                times(&[("kernel", 50_000), ("view", 20_000)]),
                30_000,
            ),
            ("Bank B", times(&[("kernel", 15_000), ("net", 85_000)]), 0),
        ];
        let costs = Costs::new(members.into_iter(), 2);
        assert_eq!(
            costs,
            Costs {
                cpu_us: 100.0,
                serial_us: 10.0,
                serial_at: "Bank A".to_owned(),
            }
        );
        assert_eq!(costs.ceiling_per_s(), 100_000.0);
    }

    #[test]
    fn the_time_of_jobs_is_read_from_the_metrics() {
        let text = "tally_jobs_kernel_seconds_bucket{le=\"0.001\"} 5\ntally_jobs_kernel_seconds_sum 0.25\n";
        assert_eq!(jobs_ns(text).expect("a sum"), 250_000_000);
        assert!(jobs_ns("tally_jobs_kernel_seconds_count 3\n").is_err());
    }
}
