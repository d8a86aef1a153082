//! Counters of the commit thread, readable at any time without stopping it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::shared::WriteTimes;

/// Buckets of a [`Distribution`]: bucket `i` counts values in `[2^(i-1), 2^i)`, bucket 0 counts zero.
pub const BUCKETS: usize = 32;

/// Shared counters; read them with [`CommitStats::totals`].
#[derive(Debug, Default)]
pub struct CommitStats {
    commits: AtomicU64,
    submissions: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
    failures: AtomicU64,
    rows_per_commit: Buckets,
    submissions_per_commit: Buckets,
    commit_us: Buckets,
    sync_us: Buckets,
    apply_us: Buckets,
    wait_us: Buckets,
}

/// Totals since the committer started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitTotals {
    /// Durable commits, each one sync.
    pub commits: u64,
    /// Submissions completed, empty ones included.
    pub submissions: u64,
    /// Rows written.
    pub rows: u64,
    /// Bytes of keys and values written.
    pub bytes: u64,
    /// Submissions that failed.
    pub failures: u64,
    /// Rows in each commit.
    pub rows_per_commit: Distribution,
    /// Submissions in each commit.
    pub submissions_per_commit: Distribution,
    /// Time of each commit, all of it, in microseconds.
    pub commit_us: Distribution,
    /// Time of each commit's sync alone, in microseconds.
    pub sync_us: Distribution,
    /// Time to make each commit's rows visible, in microseconds.
    pub apply_us: Distribution,
    /// Time from submission until durable, in microseconds.
    pub wait_us: Distribution,
}

/// A histogram by powers of two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// `counts[0]` counts zeroes, `counts[i]` values in `[2^(i-1), 2^i)`.
    pub counts: [u64; BUCKETS],
    /// Sum of the values.
    pub sum: u64,
}

impl Distribution {
    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the upper bound of a bucket, for metrics.
    pub fn upper_bound(bucket: usize) -> u64 {
        1u64 << bucket.min(BUCKETS - 1)
    }

    /// Returns the upper bound of the bucket that contains the value at the given share (0 to 1000 per
    /// mille).
    pub fn quantile_upper(&self, per_mille: u64) -> u64 {
        let target = (u128::from(self.count()) * u128::from(per_mille)).div_ceil(1000);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if u128::from(seen) >= target && *count > 0 {
                return Self::upper_bound(bucket);
            }
        }
        0
    }
}

#[derive(Debug, Default)]
struct Buckets {
    counts: [AtomicU64; BUCKETS],
    sum: AtomicU64,
}

impl Buckets {
    fn add(&self, value: u64) {
        let bucket = (u64::BITS - value.leading_zeros()) as usize;
        self.counts[bucket.min(BUCKETS - 1)].fetch_add(1, Relaxed);
        self.sum.fetch_add(value, Relaxed);
    }

    fn read(&self) -> Distribution {
        Distribution {
            counts: std::array::from_fn(|i| self.counts[i].load(Relaxed)),
            sum: self.sum.load(Relaxed),
        }
    }
}

impl CommitStats {
    /// Returns a reading of all counters.
    pub fn totals(&self) -> CommitTotals {
        CommitTotals {
            commits: self.commits.load(Relaxed),
            submissions: self.submissions.load(Relaxed),
            rows: self.rows.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            failures: self.failures.load(Relaxed),
            rows_per_commit: self.rows_per_commit.read(),
            submissions_per_commit: self.submissions_per_commit.read(),
            commit_us: self.commit_us.read(),
            sync_us: self.sync_us.read(),
            apply_us: self.apply_us.read(),
            wait_us: self.wait_us.read(),
        }
    }

    pub(crate) fn commit(
        &self,
        submissions: u64,
        rows: u64,
        bytes: u64,
        took: Duration,
        times: WriteTimes,
    ) {
        self.commits.fetch_add(1, Relaxed);
        self.rows.fetch_add(rows, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        self.rows_per_commit.add(rows);
        self.submissions_per_commit.add(submissions);
        self.commit_us.add(micros(took));
        self.sync_us.add(micros(times.sync));
        self.apply_us.add(micros(times.apply));
    }

    pub(crate) fn completed(&self, waited: Duration) {
        self.submissions.fetch_add(1, Relaxed);
        self.wait_us.add(micros(waited));
    }

    pub(crate) fn failed(&self) {
        self.failures.fetch_add(1, Relaxed);
    }
}

/// Returns a duration in whole microseconds. One beyond 64 bits, 584,000 years, is in the last bucket anyway.
fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
