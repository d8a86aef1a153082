//! The serial part of a node's work: the processor time of the one thread that makes all decisions, and the rate that
//! follows from it.

/// The thread of a node that makes all decisions, one after another.
pub const SERIAL_THREAD: &str = "kernel";

/// The metric with the processor time that this thread has spent on jobs, which other threads could do as well.
pub const SERIAL_JOBS_METRIC: &str = "tally_jobs_kernel_seconds_sum";

/// Processor time of a node's deciding thread: so far, or within a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SerialTimes {
    /// All of it, microseconds.
    pub thread_us: u64,
    /// The part that went into jobs, microseconds.
    pub jobs_us: u64,
}

impl SerialTimes {
    /// Returns the times since an earlier reading. `None` if a time has fallen: the node was restarted.
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        Some(Self {
            thread_us: self.thread_us.checked_sub(earlier.thread_us)?,
            jobs_us: self.jobs_us.checked_sub(earlier.jobs_us)?,
        })
    }

    /// Returns the time without jobs, microseconds.
    pub fn serial_us(&self) -> u64 {
        // Clipped at 0: the two are read one after the other.
        self.thread_us.saturating_sub(self.jobs_us)
    }
}

/// Reads the value of a metric in seconds as microseconds. `None` if it is no time.
pub fn seconds_as_us(value: &str) -> Option<u64> {
    let seconds: f64 = value.trim().parse().ok()?;
    let is_time = seconds.is_finite() && seconds >= 0.0;
    is_time.then_some((seconds * 1e6).round() as u64)
}

/// The node whose deciding thread needs the most time for a unit of work. It sets the ceiling of the whole network.
#[derive(Clone, Debug, PartialEq)]
pub struct SerialShare {
    /// The node.
    pub node: String,
    /// Its serial processor time for a unit, microseconds. Above 0.
    pub us_per_unit: f64,
}

impl SerialShare {
    /// Returns the share of the busiest node in a period with this many units. `None` if the time of any node is unknown,
    /// because that node could be the busiest one, and if no node spent time.
    pub fn busiest<'a>(
        nodes: impl IntoIterator<Item = (&'a str, Option<SerialTimes>)>,
        units: u64,
    ) -> Option<Self> {
        let mut most: Option<(&str, u64)> = None;
        for (node, times) in nodes {
            let serial_us = times?.serial_us();
            if most.is_none_or(|(_, us)| serial_us > us) {
                most = Some((node, serial_us));
            }
        }
        let (node, serial_us) = most.filter(|(_, us)| *us > 0 && units > 0)?;
        Some(Self {
            node: node.to_owned(),
            us_per_unit: serial_us as f64 / units as f64,
        })
    }
}

/// Returns the rate at which a serial time for each unit fills one core, units a second.
pub fn ceiling_per_s(serial_us_per_unit: f64) -> f64 {
    1e6 / serial_us_per_unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busiest_thread_sets_the_ceiling() {
        let times = |thread_us, jobs_us| Some(SerialTimes { thread_us, jobs_us });
        let notary = ("notary", times(10, 4));
        let bank = ("bank-1", times(50, 30));
        for (nodes, units, expected) in [
            (vec![notary, bank], 2, Some(("bank-1", 10.0))),
            (
                vec![notary, ("bank-1", times(50, 49))],
                2,
                Some(("notary", 3.0)),
            ),
            // The jobs were read later than the thread.
            (vec![("notary", times(4, 5))], 2, None),
            (vec![notary, ("bank-1", None)], 2, None),
            (vec![notary], 0, None),
            (vec![], 2, None),
        ] {
            let found = SerialShare::busiest(nodes.clone(), units);
            let expected = expected.map(|(node, us_per_unit)| SerialShare {
                node: node.to_owned(),
                us_per_unit,
            });
            assert_eq!(found, expected, "{nodes:?} {units}");
        }
        assert_eq!(ceiling_per_s(20.0), 50_000.0);
    }

    #[test]
    fn seconds_become_microseconds() {
        for (text, expected) in [
            (" 0.0025\n", Some(2_500)),
            ("NaN", None),
            ("-1", None),
            ("3 s", None),
        ] {
            assert_eq!(seconds_as_us(text), expected, "{text}");
        }
    }

    #[test]
    fn fallen_time_is_unknown() {
        let at = |thread_us, jobs_us| SerialTimes { thread_us, jobs_us };
        for (earlier, later, expected) in [
            (at(10, 2), at(50, 30), Some(at(40, 28))),
            (at(10, 2), at(9, 2), None),
            (at(10, 2), at(50, 1), None),
        ] {
            assert_eq!(later.since(&earlier), expected, "{earlier:?} {later:?}");
        }
    }
}
