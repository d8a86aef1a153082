//! The time by which tokens and users' records are dated.

/// Seconds since the Unix epoch; 0 on a clock before it.
pub fn now_s() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
