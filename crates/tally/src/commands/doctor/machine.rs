//! The machine: its clock and its limits.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use node::open_files::wanted_files;
use primitives::Timestamp;
use rustix::process::{Resource, getrlimit};

use super::finding::Finding;
use crate::output::grouped;

/// Duration of the comparison of the two clocks.
const WATCHED: Duration = Duration::from_millis(100);
/// Maximum drift between the clocks in this time.
const DRIFT_MAX: Duration = Duration::from_millis(20);

/// Checks that the clock runs evenly and is not before an event of the network's past, such as "its genesis".
pub fn clock(event: &str, at: Timestamp) -> Finding {
    let (wall, even) = (SystemTime::now(), Instant::now());
    std::thread::sleep(WATCHED);
    let drift = drift(wall, SystemTime::now(), even.elapsed());
    let at = Duration::from_millis(at.as_ms());
    // A clock before 1970 is before every day of signing.
    let now = wall.duration_since(UNIX_EPOCH).unwrap_or_default();
    judge_clock(now, event, at, drift)
}

/// Returns the amount by which a clock was set between two readings that are `even` apart.
fn drift(before: SystemTime, after: SystemTime, even: Duration) -> Duration {
    match after.duration_since(before) {
        Ok(passed) => passed.abs_diff(even),
        Err(back) => even + back.duration(),
    }
}

fn judge_clock(now: Duration, event: &str, at: Duration, drift: Duration) -> Finding {
    const CHECK: &str = "clock";
    let action = "Let the machine keep its clock with NTP (chrony or systemd-timesyncd).";
    if now < at {
        let found = format!("it is before {event}");
        return Finding::problem(CHECK, found, action);
    }
    if drift > DRIFT_MAX {
        let found = format!("it was set by {} ms while watched", drift.as_millis());
        return Finding::warning(CHECK, found, action);
    }
    Finding::ok(CHECK, format!("goes evenly, and is not before {event}"))
}

/// Checks that the process may open as many files as the configuration allows clients and peers.
pub fn open_files(connections: usize, peers: usize) -> Finding {
    // A node raises its soft limit to the hard one.
    let limit = getrlimit(Resource::Nofile).maximum;
    judge_files(limit, wanted_files(connections, peers))
}

fn judge_files(limit: Option<u64>, wanted: u64) -> Finding {
    const CHECK: &str = "open files";
    match limit {
        Some(limit) if limit < wanted => Finding::warning(
            CHECK,
            format!(
                "{} allowed, {} may be wanted",
                grouped(limit),
                grouped(wanted)
            ),
            format!(
                "ulimit -Hn {wanted}, or LimitNOFILE={wanted} in the service; or lower api.connections_max."
            ),
        ),
        Some(limit) => Finding::ok(CHECK, format!("{} allowed", grouped(limit))),
        None => Finding::ok(CHECK, "as many as wanted"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;

    #[test]
    fn a_clock_set_back_drifts_by_the_whole_step() {
        let at = |ms| UNIX_EPOCH + Duration::from_millis(ms);
        for (after, drifted) in [(1_100, 0), (1_130, 30), (1_090, 10), (400, 700)] {
            let found = drift(at(1_000), at(after), Duration::from_millis(100));
            assert_eq!(found, Duration::from_millis(drifted), "{after}");
        }
    }

    #[test]
    fn verdicts() {
        for (now_s, issued_s, drift_ms, verdict) in [
            (10, 10, 0, Verdict::Ok),
            (9, 10, 0, Verdict::Problem),
            (10, 9, 20, Verdict::Ok),
            (10, 9, 21, Verdict::Warning),
        ] {
            let (now, issued) = (Duration::from_secs(now_s), Duration::from_secs(issued_s));
            let finding = judge_clock(now, "genesis", issued, Duration::from_millis(drift_ms));
            assert_eq!(finding.verdict, verdict, "{}", finding.found);
        }
        for (limit, verdict) in [
            (Some(1_024), Verdict::Warning),
            (Some(2_048), Verdict::Ok),
            (None, Verdict::Ok),
        ] {
            assert_eq!(judge_files(limit, 2_048).verdict, verdict, "{limit:?}");
        }
    }
}
