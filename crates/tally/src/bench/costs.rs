//! Processor time per flow: of all processes, and of the thread that decides.

use anyhow::{Context, Result, bail};
use perf::measure::{SERIAL_JOBS_METRIC, SERIAL_THREAD, SerialShare, SerialTimes, ThreadTimes};
use perf::report::number;
use perf::topology::{Network, Who};

/// A reading of the processor times of all members of a network.
pub struct CostReading(Vec<MemberTimes>);

struct MemberTimes {
    who: Who,
    threads: ThreadTimes,
    serial: SerialTimes,
}

impl CostReading {
    /// Reads the times now.
    pub async fn of(network: &Network) -> Result<Self> {
        let mut members = Vec::new();
        for (who, threads) in network.thread_times()? {
            let metrics = network.client(who)?.metrics().await?;
            let serial = SerialTimes::read(&threads, &metrics).with_context(|| {
                format!("{who} has no thread `{SERIAL_THREAD}`, or no metric {SERIAL_JOBS_METRIC}")
            })?;
            members.push(MemberTimes {
                who,
                threads,
                serial,
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
            (
                network.name(now.who),
                now.threads.since(&before.threads),
                now.serial.since(&before.serial),
            )
        });
        let costs = Costs::new(passed, flows);
        costs.context("a node was restarted during the measurement, or no node did any work")
    }
}

/// The processor time of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// The time of all threads of all members, microseconds.
    pub cpu_us: f64,
    /// The busiest deciding thread.
    pub serial: SerialShare,
}

impl Costs {
    /// Returns the costs of members with these times; `None` if the serial time is unknown.
    fn new<'a>(
        members: impl Iterator<Item = (&'a str, ThreadTimes, Option<SerialTimes>)>,
        flows: u64,
    ) -> Option<Self> {
        assert!(flows > 0, "costs are those of a flow");
        let mut all_ns = 0;
        let serial = members.map(|(name, threads, serial)| {
            all_ns += threads.total_ns();
            (name, serial)
        });
        let serial: Vec<_> = serial.collect();
        Some(Self {
            cpu_us: all_ns as f64 / 1e3 / flows as f64,
            serial: SerialShare::busiest(serial, flows)?,
        })
    }

    /// Returns the costs as text.
    pub fn text(&self) -> String {
        format!(
            "{} us of processor time a flow; {} us of them one after another at {}, so at most {} /s on any number of cores",
            number(self.cpu_us),
            number(self.serial.us_per_unit),
            self.serial.node,
            number(self.serial.ceiling_per_s()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_of_all_threads_and_of_the_busiest_deciding_one() {
        let times = |threads: &[(&str, u64)]| threads.iter().copied().collect::<ThreadTimes>();
        let serial = |thread_us, jobs_us| Some(SerialTimes { thread_us, jobs_us });
        let notary = times(&[("kernel", 10_000), ("io", 20_000)]);
        let bank = times(&[("kernel", 50_000), ("view", 120_000)]);
        for (of_bank, expected) in [
            (
                serial(50, 30),
                Some(Costs {
                    cpu_us: 100.0,
                    serial: SerialShare {
                        node: "Bank A".to_owned(),
                        us_per_unit: 10.0,
                    },
                }),
            ),
            (None, None),
        ] {
            let members = [
                ("Notary", notary.clone(), serial(10, 4)),
                ("Bank A", bank.clone(), of_bank),
            ];
            assert_eq!(Costs::new(members.into_iter(), 2), expected);
        }
    }
}
