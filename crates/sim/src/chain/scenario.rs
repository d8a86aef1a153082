//! What a run is about: everything at once, or one attack for a long time.

use std::fmt;
use std::str::FromStr;

/// The subject of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scenario {
    /// Partitions, crashes, losses, clients and lying peers.
    #[default]
    Mixed,
    /// The same among more liars than honest links; they claim and stay silent.
    Liars,
    /// Attackers with this share of the stake forge branches of their own for so many blocks' time, and prolong them by keys that hold
    /// nothing.
    Siege {
        /// Their share of the whole stake.
        stake_percent: u32,
        /// Blocks that the honest network makes meanwhile, about.
        blocks: u32,
        /// The constants of a public network, instead of small ones.
        production: bool,
    },
    /// A forger signs several blocks at each of its turns, and withholds bodies.
    Equivocation {
        /// Its share of the whole stake.
        stake_percent: u32,
        /// Blocks that the network makes meanwhile, about.
        blocks: u32,
    },
    /// One node's clock is ahead of all others'.
    FastClock {
        /// Its share of the stake, in whole tenths.
        stake_tenths: usize,
        /// How far it is ahead, in percent of the drift that others allow a block.
        drift_percent: u32,
        /// Blocks to be made, about.
        blocks: u32,
    },
}

impl Scenario {
    /// Whether nothing else goes wrong.
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

    /// Reads the form that [`fmt::Display`] writes.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "scenario {text:?}, expected mixed, liars, siege:PERCENT:BLOCKS, long-siege:PERCENT:BLOCKS, \
                 equivocation:PERCENT:BLOCKS or fast-clock:TENTHS:DRIFT_PERCENT:BLOCKS"
            )
        };
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
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
