//! Computes when bytes on a link are due at its far end.

use std::time::Duration;

use tokio::time::Instant;

use super::speed::LinkSpeed;

/// How long bytes may queue in front of a narrow link before no more are taken. This bounds the delay of a small message
/// behind them. With less, the timer's granularity, a millisecond, would reduce the rate.
const QUEUE_MAX: Duration = Duration::from_millis(5);

/// One way of one link.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When the last byte so far has gone in; `None` before the first.
    free_at: Option<Instant>,
}

impl Pace {
    /// Returns when the last of these bytes, which enter now, has come out.
    pub(super) fn due(&mut self, now: Instant, bytes: usize, speed: LinkSpeed) -> Instant {
        let from = self.free_at.map_or(now, |free| free.max(now));
        let takes = speed
            .bytes_per_s
            .map_or(Duration::ZERO, |per_s| duration(bytes as f64 / per_s));
        let free = from + takes;
        self.free_at = Some(free);
        free + speed.delay
    }

    /// Returns when more bytes may be taken.
    pub(super) fn open_at(&self, now: Instant) -> Instant {
        self.free_at
            .and_then(|free| free.checked_sub(QUEUE_MAX))
            .map_or(now, |open| open.max(now))
    }
}

/// Converts to a time, at most an hour.
fn duration(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.clamp(0.0, 3_600.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_due_one_after_the_other_and_after_the_delay() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        // 8 Mbit/s are 1000 bytes a millisecond.
        let narrow = LinkSpeed::new(20.0, Some(8.0));
        let wide = LinkSpeed::new(20.0, None);
        let mut pace = Pace::default();
        assert_eq!(pace.open_at(at(0)), at(0));
        for (now, bytes, speed, due, open) in [
            (0, 10_000, narrow, 30, 5),
            (5, 10_000, narrow, 40, 15),
            (100, 1_000, narrow, 121, 100),
            (100, 0, narrow, 121, 100),
            (200, 1_000_000, wide, 220, 200),
            // Bytes on a link that became wide do not overtake earlier ones.
            (300, 50_000, narrow, 370, 345),
            (301, 50_000, wide, 370, 345),
        ] {
            assert_eq!(pace.due(at(now), bytes, speed), at(due), "{now} {bytes}");
            assert_eq!(pace.open_at(at(now)), at(open), "{now} {bytes}");
        }
    }

    #[test]
    fn no_speed_gives_a_time_that_cannot_be_counted() {
        let mut pace = Pace::default();
        let never = LinkSpeed {
            delay: Duration::ZERO,
            bytes_per_s: Some(f64::MIN_POSITIVE),
        };
        let now = Instant::now();
        assert_eq!(
            pace.due(now, usize::MAX, never),
            now + Duration::from_secs(3_600)
        );
    }
}
