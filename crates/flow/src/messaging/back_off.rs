//! Delays before a repetition: 1.8 times longer each time, with a jitter that is the same in a replay.

use ledger::PartyId;

use crate::digest::Digest;

/// A growing delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackOff {
    /// The first delay, in milliseconds.
    pub first_ms: u64,
    /// The longest delay, in milliseconds.
    pub max_ms: u64,
}

impl BackOff {
    /// Returns the delay before attempt `attempt` (0 is the first repetition). It is shortened or lengthened by at most
    /// a tenth according to `key`, so that many waiters do not retry at once.
    pub fn delay_ms(&self, attempt: u32, key: u64) -> u64 {
        let mut delay = self.first_ms.min(self.max_ms);
        for _ in 0..attempt.min(64) {
            if delay >= self.max_ms {
                break;
            }
            // A clipped product is above the longest delay, which bounds it.
            delay = delay.saturating_mul(9) / 5;
        }
        let delay = delay.min(self.max_ms);
        let spread = delay / 5;
        if spread == 0 {
            return delay;
        }
        let jitter = Digest::new(key).word(attempt.into()).value() % spread;
        delay - delay / 10 + jitter
    }
}

/// Returns the jitter key of a peer.
pub(super) fn spread(peer: &PartyId) -> u64 {
    Digest::new(0).bytes(peer.as_bytes()).value()
}

#[cfg(test)]
mod tests {
    use super::BackOff;

    #[test]
    fn grows_by_1_8_and_stops_at_the_cap() {
        let back_off = BackOff {
            first_ms: 30_000,
            max_ms: 600_000,
        };
        for (attempt, plain) in [
            (0, 30_000),
            (1, 54_000),
            (2, 97_200),
            (3, 174_960),
            (9, 600_000),
            (u32::MAX, 600_000),
        ] {
            for key in 0..50 {
                let delay = back_off.delay_ms(attempt, key);
                assert!(
                    delay >= plain - plain / 10 && delay <= plain + plain / 10,
                    "{attempt} {delay}"
                );
            }
        }
    }

    #[test]
    fn a_zero_delay_stays_zero() {
        assert_eq!(
            BackOff {
                first_ms: 0,
                max_ms: 0
            }
            .delay_ms(5, 1),
            0
        );
    }
}
