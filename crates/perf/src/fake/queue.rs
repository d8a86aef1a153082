//! Computes when a unit ends: it waits for its turn, is served, and pauses during stalls.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use super::behaviour::{Behaviour, milliseconds};

/// Service in the order of arrival.
#[derive(Debug)]
pub(super) struct Queue {
    /// The time at which each slot becomes free. `None` if slots are unlimited.
    slots: Option<BinaryHeap<Reverse<Duration>>>,
    /// The time at which each waiting unit begins.
    begins: BinaryHeap<Reverse<Duration>>,
    waiting_max: usize,
    stalls: Option<(Duration, Duration)>,
}

impl Queue {
    pub fn new(behaviour: &Behaviour) -> Self {
        let free = |slots: u32| (0..slots.max(1)).map(|_| Reverse(Duration::ZERO)).collect();
        let stalls = behaviour.stall.map(|stall| {
            let every = milliseconds(stall.every_s * 1000.0).max(Duration::from_millis(1));
            // At least 1 % of each period is free of stalls.
            (every, milliseconds(stall.ms).min(every * 99 / 100))
        });
        Self {
            slots: behaviour.slots.map(free),
            begins: BinaryHeap::new(),
            waiting_max: behaviour.waiting_max as usize,
            stalls,
        }
    }

    /// Returns when a unit ends that arrives at `now` and takes `service`; `None` if too many wait. `now` never goes
    /// back.
    pub fn end(&mut self, now: Duration, service: Duration) -> Option<Duration> {
        let Some(slots) = &mut self.slots else {
            return Some(after(self.stalls, now, service));
        };
        while self.begins.peek().is_some_and(|begin| begin.0 <= now) {
            self.begins.pop();
        }
        // There is always one slot.
        let free = slots.peek().map_or(now, |free| free.0);
        if free > now && self.begins.len() >= self.waiting_max {
            return None;
        }
        let begin = free.max(now);
        if begin > now {
            self.begins.push(Reverse(begin));
        }
        slots.pop();
        let end = after(self.stalls, begin, service);
        slots.push(Reverse(end));
        Some(end)
    }
}

/// Returns the end of a service that begins at `begin`, not counting time in stalls. It converts `begin` to stall-free
/// time, adds `service`, and converts back.
fn after(stalls: Option<(Duration, Duration)>, begin: Duration, service: Duration) -> Duration {
    let Some((every, length)) = stalls else {
        return begin + service;
    };
    let (every, length, begin) = (every.as_nanos(), length.as_nanos(), begin.as_nanos());
    // Stall-free time of each period but the first.
    let fit = every - length;
    let fit_before = match begin / every {
        0 => begin,
        // A beginning within a stall waits until the stall is over.
        period => every + (period - 1) * fit + (begin % every).saturating_sub(length),
    };
    let wanted = fit_before + service.as_nanos();
    let end = match wanted.checked_sub(every + 1) {
        None => wanted,
        Some(beyond) => {
            let period = beyond / fit;
            (period + 1) * every + length + beyond % fit + 1
        }
    };
    // A unit that would end after 584 years never ends.
    Duration::from_nanos(u64::try_from(end.max(begin)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{ServiceTime, Stall};

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn time_stands_still_in_stalls() {
        let stalls = Some((ms(1000), ms(200)));
        for (begin, service, end) in [
            (0, 999, 999),
            (0, 1000, 1000),
            (0, 1001, 1201),
            (990, 20, 1210),
            (1000, 5, 1205),
            (1100, 5, 1205),
            (1200, 5, 1205),
            (1500, 500, 2000),
            (1500, 501, 2201),
            (1500, 1300, 3000),
            (1500, 1301, 3201),
            (1500, 2101, 4201),
        ] {
            assert_eq!(
                after(stalls, ms(begin), ms(service)),
                ms(end),
                "{begin} {service}"
            );
        }
        assert_eq!(after(None, ms(5), ms(7)), ms(12));
    }

    #[test]
    fn units_are_served_in_order_and_refused_beyond_the_queue() {
        let mut queue = Queue::new(&Behaviour {
            service: ServiceTime::Constant(10.0),
            slots: Some(2),
            waiting_max: 2,
            stall: None::<Stall>,
            ..Behaviour::default()
        });
        let ends: Vec<_> = (0..5).map(|_| queue.end(ms(100), ms(10))).collect();
        let expected = [Some(110), Some(110), Some(120), Some(120), None];
        assert_eq!(ends, expected.map(|end| end.map(ms)));
        assert_eq!(queue.end(ms(110), ms(10)), Some(ms(130)));
        assert_eq!(queue.end(ms(500), ms(10)), Some(ms(510)));
    }
}
