//! The bounds of a user's starts of flows: their rate and their size.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Users whose rates are remembered; beyond, those who made no start lately are forgotten first.
const USERS_MAX: usize = 16_384;
/// The time over which a user may save up starts.
const SAVED_UP: Duration = Duration::from_secs(1);

/// Limits of one user's starts. The node's settings replace absent ones. 0 means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartQuota {
    /// Starts in a second.
    pub starts_per_s: Option<u32>,
    /// The largest start, in bytes: the body of one request, or the line of a stream.
    pub start_bytes_max: Option<u32>,
}

impl StartQuota {
    /// Returns the limits in force. The settings replace absent ones. `None` means unlimited.
    #[must_use]
    pub fn or(self, settings: StartQuota) -> StartQuota {
        let bound = |own: Option<u32>, set: Option<u32>| own.or(set).filter(|bound| *bound > 0);
        StartQuota {
            starts_per_s: bound(self.starts_per_s, settings.starts_per_s),
            start_bytes_max: bound(self.start_bytes_max, settings.start_bytes_max),
        }
    }
}

/// The recent rate of flow starts of each user.
#[derive(Debug, Default)]
pub struct StartRates {
    /// The time of each user's next allowed start, if the starts so far are spread evenly at the limit (generic cell rate algorithm).
    due: Mutex<HashMap<Arc<str>, Instant>>,
}

impl StartRates {
    /// Counts a start of a user with this rate. A user may start a second's worth at once.
    ///
    /// # Errors
    /// The time until the user may start again. If there is one, the start is not counted.
    pub fn take(&self, user: &Arc<str>, per_s: u32, now: Instant) -> Result<(), Duration> {
        let apart = SAVED_UP / per_s.max(1);
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let next = due.get(user).map_or(now, |next| (*next).max(now));
        // Clipped at 0: a start that is due is not early.
        let early = next.saturating_duration_since(now);
        if let Some(wait) = early.checked_sub(SAVED_UP - apart)
            && !wait.is_zero()
        {
            return Err(wait);
        }
        if due.len() >= USERS_MAX && !due.contains_key(user) {
            due.retain(|_, next| *next > now);
            // The users then present start afresh. A node has fewer users than this.
            if due.len() >= USERS_MAX {
                due.clear();
            }
        }
        due.insert(Arc::clone(user), next + apart);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_s_worth_at_once_and_then_one_at_a_time() {
        let rates = StartRates::default();
        let (ann, bob): (Arc<str>, Arc<str>) = ("ann".into(), "bob".into());
        let start = Instant::now();
        // Milliseconds since the first start, and the expected wait of a user with four starts a second.
        for (ms, wait) in [
            (0, None),
            (0, None),
            (0, None),
            (0, None),
            (0, Some(250)),
            (100, Some(150)),
            (250, None),
            (250, Some(250)),
            (750, None),
            (750, None),
            (750, Some(250)),
            (60_000, None),
            (60_000, None),
            (60_000, None),
            (60_000, None),
            (60_001, Some(249)),
        ] {
            let found = rates.take(&ann, 4, start + Duration::from_millis(ms));
            let expected = wait.map_or(Ok(()), |wait| Err(Duration::from_millis(wait)));
            assert_eq!(found, expected, "after {ms} ms");
        }
        assert_eq!(rates.take(&bob, 1, start), Ok(()));
        assert_eq!(rates.take(&bob, 1, start), Err(Duration::from_secs(1)));
    }

    #[test]
    fn users_that_are_remembered_are_bounded() {
        let rates = StartRates::default();
        let start = Instant::now();
        for user in 0..2 * USERS_MAX {
            let name: Arc<str> = user.to_string().into();
            let now = start + Duration::from_millis(user as u64);
            assert_eq!(rates.take(&name, 1_000, now), Ok(()));
            assert!(rates.due.lock().expect("free").len() <= USERS_MAX);
        }
    }

    #[test]
    fn a_user_s_own_bounds_come_before_the_settings_and_zero_is_none() {
        let quota = |starts_per_s, start_bytes_max| StartQuota {
            starts_per_s,
            start_bytes_max,
        };
        for (own, set, expected) in [
            (quota(None, None), quota(None, None), quota(None, None)),
            (
                quota(None, None),
                quota(Some(0), Some(9)),
                quota(None, Some(9)),
            ),
            (
                quota(Some(3), Some(0)),
                quota(Some(5), Some(9)),
                quota(Some(3), None),
            ),
        ] {
            assert_eq!(own.or(set), expected, "{own:?} {set:?}");
        }
    }
}
