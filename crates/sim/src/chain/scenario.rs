//! The scenario of a run: all faults at once, or one attack for a long time.

use std::fmt;
use std::str::FromStr;

/// The scenario of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scenario {
    /// Partitions, crashes, losses, clients and lying peers.
    #[default]
    Mixed,
    /// Mixed faults with more liars than honest links. The liars make claims and then stay silent.
    Liars,
    /// Attackers with this share of the stake forge secret branches for this many blocks' time, and extend them with keys without
    /// stake.
    Siege {
        /// The attackers' share of the whole stake, in percent.
        stake_percent: u32,
        /// Approximate number of blocks that the honest network makes in this time.
        blocks: u32,
        /// Whether to use the constants of a public network instead of small ones.
        production: bool,
    },
    /// A forger that signs several blocks at each of its turns and withholds bodies.
    Equivocation {
        /// The forger's share of the whole stake, in percent.
        stake_percent: u32,
        /// Approximate number of blocks that the network makes in this time.
        blocks: u32,
    },
    /// A node whose clock is ahead of all others.
    FastClock {
        /// The node's share of the stake, in whole tenths.
        stake_tenths: usize,
        /// The clock's lead, in percent of the drift that other nodes allow a block.
        drift_percent: u32,
        /// Approximate number of blocks to make.
        blocks: u32,
    },
}

impl Scenario {
    /// Returns whether the scenario has no other faults.
    pub(super) fn is_calm(self) -> bool {
        matches!(
            self,
            Self::Siege { .. } | Self::Equivocation { .. } | Self::FastClock { .. }
        )
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mixed => f.write_str("mixed"),
            Self::Liars => f.write_str("liars"),
            Self::Siege {
                stake_percent,
                blocks,
                production,
            } => {
                let name = if *production { "long-siege" } else { "siege" };
                write!(f, "{name}:{stake_percent}:{blocks}")
            }
            Self::Equivocation {
                stake_percent,
                blocks,
            } => write!(f, "equivocation:{stake_percent}:{blocks}"),
            Self::FastClock {
                stake_tenths,
                drift_percent,
                blocks,
            } => write!(f, "fast-clock:{stake_tenths}:{drift_percent}:{blocks}"),
        }
    }
}

impl FromStr for Scenario {
    type Err = String;

    /// Parses the format that [`fmt::Display`] writes.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "scenario {text:?}, expected mixed, liars, siege:PERCENT:BLOCKS, long-siege:PERCENT:BLOCKS, \
                 equivocation:PERCENT:BLOCKS or fast-clock:TENTHS:DRIFT_PERCENT:BLOCKS"
            )
        };
        let mut parts = text.split(':');
        let name = parts.next().expect("a split has a first part");
        let numbers: Result<Vec<u32>, _> = parts.map(str::parse).collect();
        match (name, numbers.map_err(|_| wrong())?.as_slice()) {
            ("mixed", []) => Ok(Self::Mixed),
            ("liars", []) => Ok(Self::Liars),
            ("siege" | "long-siege", [stake_percent @ 1..=49, blocks]) => Ok(Self::Siege {
                stake_percent: *stake_percent,
                blocks: *blocks,
                production: name == "long-siege",
            }),
            ("equivocation", [stake_percent @ 1..=49, blocks]) => Ok(Self::Equivocation {
                stake_percent: *stake_percent,
                blocks: *blocks,
            }),
            ("fast-clock", [tenths @ 1..=9, drift_percent, blocks]) => Ok(Self::FastClock {
                stake_tenths: *tenths as usize,
                drift_percent: *drift_percent,
                blocks: *blocks,
            }),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_is_read_as_it_is_written() {
        for text in [
            "mixed",
            "liars",
            "siege:20:500",
            "long-siege:11:7200",
            "equivocation:30:400",
            "fast-clock:3:100:900",
        ] {
            assert_eq!(
                text.parse::<Scenario>().map(|read| read.to_string()),
                Ok(text.to_owned())
            );
        }
        for text in [
            "",
            "siege",
            "siege:60:1",
            "fast-clock:0:1:1",
            "liars:1",
            "siege:x:1",
        ] {
            assert!(text.parse::<Scenario>().is_err(), "{text}");
        }
    }
}
