//! Speeds of links.

use std::collections::BTreeMap;
use std::time::Duration;

/// A link, the same both ways.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkSpeed {
    /// From one end to the other; a round trip takes twice as long.
    pub delay: Duration,
    /// Bandwidth each way, bytes a second; unlimited if `None`.
    pub bytes_per_s: Option<f64>,
}

impl LinkSpeed {
    /// Creates a speed from a delay in milliseconds and megabits (10^6) a second.
    pub fn new(delay_ms: f64, mbit_per_s: Option<f64>) -> Self {
        Self {
            delay: Duration::from_secs_f64(delay_ms.max(0.0) / 1e3),
            bytes_per_s: mbit_per_s.map(|mbit| mbit.max(f64::MIN_POSITIVE) * 1e6 / 8.0),
        }
    }

    /// Combines two links: the longer delay and the narrower bandwidth.
    fn slower(self, other: Self) -> Self {
        let narrower = match (self.bytes_per_s, other.bytes_per_s) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, other) => one.or(other),
        };
        Self {
            delay: self.delay.max(other.delay),
            bytes_per_s: narrower,
        }
    }
}

/// The links of a network. Each pair of nodes has one, with its own bandwidth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSpeeds {
    /// Between any two nodes.
    pub all: LinkSpeed,
    /// Links of single nodes to every other node, by position (the notary is 0), instead of `all`. Between two nodes with
    /// their own links, the slower one applies.
    pub own: BTreeMap<usize, LinkSpeed>,
}

impl LinkSpeeds {
    /// Returns whether any node has its own link.
    pub(super) fn has_own(&self) -> bool {
        !self.own.is_empty()
    }

    /// Returns the speed between two nodes. The dialler may be unknown.
    pub(super) fn between(&self, dialler: Option<usize>, dialled: usize) -> LinkSpeed {
        let own = |at: usize| self.own.get(&at).copied();
        match (dialler.and_then(own), own(dialled)) {
            (Some(a), Some(b)) => a.slower(b),
            // Nodes without a speed of their own have the common one.
            (one, other) => one.or(other).unwrap_or(self.all),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_s_own_link_is_instead_of_everybody_s_and_of_two_the_slower_counts() {
        let all = LinkSpeed::new(1.0, None);
        let far = LinkSpeed::new(40.0, Some(1000.0));
        let narrow = LinkSpeed::new(5.0, Some(8.0));
        let speeds = LinkSpeeds {
            all,
            own: [(1, far), (2, narrow)].into(),
        };
        for (dialler, dialled, expected) in [
            (Some(0), 3, all),
            (None, 3, all),
            (Some(0), 1, far),
            (Some(1), 0, far),
            (None, 1, far),
            (Some(1), 2, LinkSpeed::new(40.0, Some(8.0))),
            (Some(2), 1, LinkSpeed::new(40.0, Some(8.0))),
        ] {
            let found = speeds.between(dialler, dialled);
            assert_eq!(found, expected, "{dialler:?} {dialled}");
        }
        assert!(speeds.has_own() && !LinkSpeeds::default().has_own());
        assert_eq!(narrow.bytes_per_s, Some(1e6));
    }
}
