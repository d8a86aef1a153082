//! The cost of logins, and how long they last.

use std::time::Duration;

/// See the fields; each is a setting of section `users`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserLimits {
    /// Lifetime of a login that asks for none, in seconds.
    pub login_s: u64,
    /// Maximum lifetime of a login, in seconds.
    pub login_s_max: u64,
    /// Maximum logins of one user. A further login ends the one that would expire first.
    pub logins_per_user_max: usize,
    /// Passwords that are checked at once; each takes 19 MiB and a core for some 20 ms.
    pub password_checks_max: usize,
    /// Logins that wait for their password's check or have it checked; further ones are refused as busy.
    pub password_waits_max: usize,
    /// Number of failed logins with one name from one address (IPv6: one /64 network) before back-off begins. Failed logins with one
    /// name from all addresses where it has not logged in are counted together as well.
    pub failures_free: u32,
    /// Number of failed logins with any names that have not logged in from one address (IPv6: one /64 network), before back-off begins.
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
