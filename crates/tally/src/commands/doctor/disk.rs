//! The disk of the node's data: the rate of durable writes, and the free space.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use super::finding::Finding;
use crate::output::grouped;

/// Maximum duration of the disk trial, and its maximum number of writes.
const TRIAL_MAX: Duration = Duration::from_millis(500);
const COMMITS_MAX: u32 = 1_000;
/// Size of one commit of a node with little load.
const COMMIT_BYTES: usize = 4_096;
/// Minimum commit rate. A payment takes four commits in a row, so below this rate it takes at least 80 ms.
const COMMITS_PER_SECOND_MIN: u32 = 50;

const GIB: u64 = 1 << 30;
/// Below this the node may stop at any time.
const FREE_BYTES_MIN: u64 = GIB;
/// Below this more space should be planned.
const FREE_BYTES_LOW: u64 = 10 * GIB;

/// Measures durable commits per second on a temporary file.
pub fn speed(data: &Path) -> Finding {
    const CHECK: &str = "disk speed";
    let trial = || -> std::io::Result<(u32, Duration)> {
        let mut scratch = tempfile::tempfile_in(data)?;
        let begin = Instant::now();
        let mut commits = 0;
        while commits < COMMITS_MAX && begin.elapsed() < TRIAL_MAX {
            scratch.write_all(&[0xa5; COMMIT_BYTES])?;
            scratch.sync_data()?;
            commits += 1;
        }
        Ok((commits, begin.elapsed()))
    };
    match trial() {
        Err(error) => Finding::problem(
            CHECK,
            format!("{}: {error}", data.display()),
            "Let the node's user write to the folder, and check the disk.",
        ),
        Ok((commits, took)) => judge_speed(commits, took),
    }
}

fn judge_speed(commits: u32, took: Duration) -> Finding {
    let took_us = took.as_micros().max(1);
    let rate = u128::from(commits) * 1_000_000 / took_us;
    let found = format!("{} durable commits a second", grouped(rate));
    if rate < u128::from(COMMITS_PER_SECOND_MIN) {
        let action =
            "Payments wait for four commits in a row: put data_dir on a local solid-state disk.";
        Finding::warning("disk speed", found, action)
    } else {
        Finding::ok("disk speed", found)
    }
}

/// Checks the free space for the node's user.
pub fn space(data: &Path) -> Finding {
    match rustix::fs::statvfs(data) {
        Err(error) => Finding::problem(
            "disk space",
            format!("{}: {error}", data.display()),
            "Check that the disk is mounted.",
        ),
        // A clipped product is enough space.
        Ok(disk) => judge_space(disk.f_bavail.saturating_mul(disk.f_frsize)),
    }
}

fn judge_space(free_bytes: u64) -> Finding {
    let found = format!("{} MiB free", grouped(free_bytes >> 20));
    let action = "Free some, or move data_dir to a larger disk while the node is stopped.";
    if free_bytes < FREE_BYTES_MIN {
        Finding::problem("disk space", found, action)
    } else if free_bytes < FREE_BYTES_LOW {
        Finding::warning("disk space", found, action)
    } else {
        Finding::ok("disk space", found)
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;

    #[test]
    fn verdicts() {
        for (commits, ms, verdict) in [
            (500, 500, Verdict::Ok),
            (25, 500, Verdict::Ok),
            (24, 500, Verdict::Warning),
            (1, 0, Verdict::Ok),
        ] {
            let finding = judge_speed(commits, Duration::from_millis(ms));
            assert_eq!(finding.verdict, verdict, "{}", finding.found);
        }
        for (bytes, verdict) in [
            (0, Verdict::Problem),
            (GIB - 1, Verdict::Problem),
            (GIB, Verdict::Warning),
            (10 * GIB, Verdict::Ok),
        ] {
            assert_eq!(judge_space(bytes).verdict, verdict, "{bytes}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        assert!(speed(folder.path()).found.contains("commits a second"));
        assert_eq!(speed(&folder.path().join("none")).verdict, Verdict::Problem);
    }
}
