//! How often a login failed, for each user name and each address: after a few failures each further one costs time.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::options::UserLimits;

/// Names and addresses remembered; the one that failed longest ago is forgotten first.
const REMEMBERED_MAX: usize = 8_192;
/// The first wait, doubled with each further failure.
const WAIT_MIN: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Who {
    User(String),
    Address(IpAddr),
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Instant,
}

impl Failures {
    fn wait(self, free: u32, wait_max: Duration, now: Instant) -> Option<Duration> {
        let over = self.count.checked_sub(free)?;
        let wait = WAIT_MIN.saturating_mul(1 << over.min(16)).min(wait_max);
        wait.checked_sub(now.saturating_duration_since(self.last))
            .filter(|left| !left.is_zero())
    }
}

/// The failed logins.
#[derive(Debug)]
pub(super) struct Attempts {
    failed: HashMap<Who, Failures>,
    limits: UserLimits,
}

impl Attempts {
    /// Nothing has failed yet.
    pub(super) fn new(limits: UserLimits) -> Self {
        Self {
            failed: HashMap::new(),
            limits,
        }
    }

    /// Counts an attempt as failed before it is looked at, so that many at once gain nothing; or says how long to wait.
    pub(super) fn begin(
        &mut self,
        user: &str,
        address: IpAddr,
        now: Instant,
    ) -> Result<(), Duration> {
        let keys = self.keys(user, address);
        let waits = keys.iter().filter_map(|(who, free)| {
            let failures = self.failed.get(who)?;
            failures.wait(*free, self.limits.failure_wait_max, now)
        });
        if let Some(wait) = waits.max() {
            return Err(wait);
        }
        for (who, _) in keys {
            self.make_room(now);
            let failures = self.failed.entry(who).or_insert(Failures {
                count: 0,
                last: now,
            });
            if now.saturating_duration_since(failures.last) >= self.limits.failure_memory {
                failures.count = 0;
            }
            failures.count = failures.count.saturating_add(1);
            failures.last = now;
        }
        Ok(())
    }

    /// The attempt did not fail: the user starts afresh, and the address gets this one back.
    pub(super) fn succeeded(&mut self, user: &str, address: IpAddr) {
        self.failed.remove(&Who::User(user.to_owned()));
        self.give_back(&Who::Address(address));
    }

    /// The attempt was not looked at.
    pub(super) fn undone(&mut self, user: &str, address: IpAddr) {
        for (who, _) in self.keys(user, address) {
            self.give_back(&who);
        }
    }

    fn give_back(&mut self, who: &Who) {
        if let Some(failures) = self.failed.get_mut(who) {
            failures.count = failures.count.saturating_sub(1);
        }
    }

    fn make_room(&mut self, now: Instant) {
        if self.failed.len() < REMEMBERED_MAX {
            return;
        }
        let memory = self.limits.failure_memory;
        self.failed
            .retain(|_, known| now.saturating_duration_since(known.last) < memory);
        if self.failed.len() >= REMEMBERED_MAX {
            let oldest = self.failed.iter().min_by_key(|(_, known)| known.last);
            if let Some(oldest) = oldest.map(|(who, _)| who.clone()) {
                self.failed.remove(&oldest);
            }
        }
    }

    fn keys(&self, user: &str, address: IpAddr) -> [(Who, u32); 2] {
        [
            (Who::User(user.to_owned()), self.limits.failures_free),
            (Who::Address(address), self.limits.address_failures_free),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_cost_more_and_more_time_up_to_a_bound() {
        let (mut attempts, start) = (Attempts::new(UserLimits::default()), Instant::now());
        let address = IpAddr::from([127, 0, 0, 1]);
        let mut now = start;
        for _ in 0..UserLimits::default().failures_free {
            assert_eq!(attempts.begin("ann", address, now), Ok(()));
        }
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            let wait = Duration::from_secs(seconds);
            assert_eq!(attempts.begin("ann", address, now), Err(wait));
            assert_eq!(attempts.begin("bob", address, now), Ok(()));
            attempts.undone("bob", address);
            now += wait;
            assert_eq!(attempts.begin("ann", address, now), Ok(()));
        }
        now += UserLimits::default().failure_memory;
        assert_eq!(attempts.begin("ann", address, now), Ok(()));
        attempts.succeeded("ann", address);
        assert!(!attempts.failed.contains_key(&Who::User("ann".to_owned())));
    }

    #[test]
    fn many_names_from_one_address_are_held_up_and_memory_is_bounded() {
        let (mut attempts, now) = (Attempts::new(UserLimits::default()), Instant::now());
        let address = IpAddr::from([127, 0, 0, 1]);
        for n in 0..UserLimits::default().address_failures_free {
            assert!(attempts.begin(&n.to_string(), address, now).is_ok());
        }
        assert_eq!(attempts.begin("x", address, now), Err(WAIT_MIN));
        for n in 0..20_000_u32 {
            let other = IpAddr::from(n.to_be_bytes());
            assert!(attempts.begin(&format!("u{n}"), other, now).is_ok());
        }
        assert!(attempts.failed.len() <= REMEMBERED_MAX);
    }
}
