//! A rate limit for log lines about a peer's faults: a peer that sends only invalid messages must not fill the log.

use std::collections::BTreeMap;

use ledger::PartyId;
use primitives::Monotonic;

/// Maximum number of lines about one peer within [`WINDOW_MS`]. Further ones are counted, and the next line tells their number.
pub(crate) const LINES_MAX: u32 = 20;
/// The window of the rate limit, in milliseconds.
pub(crate) const WINDOW_MS: u64 = 60_000;

#[derive(Clone, Copy, Debug)]
struct LogWindow {
    since: Monotonic,
    lines: u32,
    silent: u64,
}

/// The log lines about peers. It has one entry for each peer, so the network map bounds it.
#[derive(Debug, Default)]
pub(crate) struct Complaints {
    peers: BTreeMap<PartyId, LogWindow>,
}

impl Complaints {
    /// Returns the number of suppressed lines if a line about the peer may be written now, and `None` if it may not.
    pub(crate) fn may_tell(&mut self, peer: PartyId, now: Monotonic) -> Option<u64> {
        let fresh = LogWindow {
            since: now,
            lines: 0,
            silent: 0,
        };
        let told = self.peers.entry(peer).or_insert(fresh);
        if now.passed_ms(told.since) >= WINDOW_MS {
            (told.since, told.lines) = (now, 0);
        }
        if told.lines >= LINES_MAX {
            told.silent += 1;
            return None;
        }
        told.lines += 1;
        Some(std::mem::take(&mut told.silent))
    }
}

#[cfg(test)]
mod tests {
    use primitives::Hash;

    use super::*;

    #[test]
    fn a_peer_gets_twenty_lines_a_minute() {
        let mut complaints = Complaints::default();
        let (peer, other) = (
            PartyId::from_hash(Hash::ZERO),
            PartyId::from_hash(Hash::plain(b"o")),
        );
        let at = |second: u64| Monotonic::from_ms(second * 1_000);
        let told = (0..50)
            .filter(|_| complaints.may_tell(peer, at(1)).is_some())
            .count();
        assert_eq!(told, 20);
        assert_eq!(complaints.may_tell(other, at(2)), Some(0));
        assert_eq!(complaints.may_tell(peer, at(60)), None);
        assert_eq!(complaints.may_tell(peer, at(61)), Some(31));
        assert_eq!(complaints.may_tell(peer, at(61)), Some(0));
    }
}
