//! The cost of logins, and how long they last.

use std::time::Duration;

/// See the fields; each is a setting of section `users`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserLimits {
    /// How long a login lasts when it does not say, in seconds.
    pub login_s: u64,
    /// How long a login lasts at most, in seconds.
    pub login_s_max: u64,
    /// Logins of one user at once; a further one ends the one that would have ended first.
    pub logins_per_user_max: usize,
    /// Passwords that are checked at once; each takes 19 MiB and a core for some 20 ms.
    pub password_checks_max: usize,
    /// Logins that wait for their password's check or have it checked; further ones are refused as busy.
    pub password_waits_max: usize,
    /// Failed logins with one name from one address (of IPv6: one /64 network) that cost no wait. Those with one name from all
    /// addresses where it has not logged in count together as well.
    pub failures_free: u32,
    /// Failed logins from one address (of IPv6: one /64 network) that cost no wait, with any names that have not logged in from
    /// there.
    pub address_failures_free: u32,
    /// The longest wait after a failed login; the first is a second, and each further one twice as long.
    pub failure_wait_max: Duration,
    /// Failures are forgotten after so long without one.
    pub failure_memory: Duration,
}

impl Default for UserLimits {
    fn default() -> Self {
        Self {
            login_s: 3_600,
            login_s_max: 24 * 3_600,
            logins_per_user_max: 16,
            password_checks_max: 2,
            password_waits_max: 32,
            failures_free: 5,
            address_failures_free: 20,
            failure_wait_max: Duration::from_secs(60),
            failure_memory: Duration::from_secs(15 * 60),
        }
    }
}
