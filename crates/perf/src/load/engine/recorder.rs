//! Records results with little contention: each thread writes to its own shard. Once a second the shards' finished
//! seconds are removed and merged.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::faults::Faults;
use super::samples::{BATCH_ROWS, SampleRow, SampleSink};
use super::slice::{Slice, SliceSink};
use crate::load::Live;
use crate::measure::{Latencies, whole_micros, whole_millis};
use crate::results::{Second, WorkResult};

/// Upper limit on shards. More threads share them.
const SHARDS_MAX: usize = 8;
/// Upper limit on seconds in a series: a week. Later ones are measured but not listed.
const SECONDS_MAX: usize = 7 * 24 * 3600;

/// The outcome of one measured unit.
pub(super) struct Noted {
    /// The due time (open loop) or start time (closed loop), since the recorder's beginning.
    pub due: Duration,
    /// The actual start time.
    pub started: Duration,
    /// When it ended.
    pub ended: Duration,
    pub slot: u32,
    pub work: usize,
    pub retries: u32,
    pub outcome: Result<(), crate::load::Fault>,
}

/// The recorder of one measured stretch.
pub(super) struct Recorder {
    shards: Vec<Mutex<Shard>>,
    merged: Mutex<Merged>,
    samples: Option<SampleSink>,
    slices: Option<SliceSink>,
    labels: Vec<String>,
    late_after: Duration,
    /// Milliseconds since 1970 at the beginning.
    begin_unix_ms: u64,
    /// Units that were due and never started.
    dropped: AtomicU64,
}

/// Everything that a recorder gathered.
#[derive(Debug, Default)]
pub(super) struct Merged {
    pub total: Latencies,
    pub works: Vec<Work>,
    pub series: Vec<Second>,
    pub faults: Faults,
    pub done: u64,
    pub failed: u64,
    pub retries: u64,
    pub late: u64,
    pub behind_max: Duration,
    /// The end of the last unit.
    pub last_end: Duration,
    /// Seconds taken out so far.
    seconds: u64,
}

#[derive(Debug, Default)]
pub(super) struct Work {
    pub done: u64,
    pub failed: u64,
    pub latencies: Latencies,
}

#[derive(Default)]
struct Shard {
    closed: bool,
    seconds: VecDeque<ShardSecond>,
    spare: Vec<Latencies>,
    /// All seconds before this one have been removed.
    taken: u64,
    /// Counts by kind of work, if there are several.
    works: Vec<Work>,
    faults: Faults,
    retries: u64,
    late: u64,
    behind_max: Duration,
    last_end: Duration,
    rows: Vec<SampleRow>,
}

struct ShardSecond {
    second: u64,
    done: u64,
    failed: u64,
    latencies: Latencies,
}

impl Recorder {
    /// Creates a recorder for these kinds of work, at least one.
    pub fn new(
        labels: &[String],
        late_after: Duration,
        begin_unix_ms: u64,
        samples: Option<SampleSink>,
        slices: Option<SliceSink>,
    ) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        // With a single kind, the total is enough.
        let works = if labels.len() > 1 { labels.len() } else { 0 };
        let several = || (0..works).map(|_| Work::default()).collect();
        let shard = || Shard {
            works: several(),
            ..Shard::default()
        };
        Self {
            shards: (0..threads.min(SHARDS_MAX))
                .map(|_| Mutex::new(shard()))
                .collect(),
            merged: Mutex::new(Merged {
                works: several(),
                ..Merged::default()
            }),
            samples,
            slices,
            labels: labels.to_vec(),
            late_after,
            begin_unix_ms,
            dropped: AtomicU64::new(0),
        }
    }

    /// Notes a unit that was due and never started.
    pub fn note_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of such units.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Records the end of a unit. Does nothing after [`Self::finish`].
    pub fn note(&self, noted: Noted) {
        let mut shard = lock(&self.shards[thread_number() % self.shards.len()]);
        if shard.closed {
            return;
        }
        let took = noted.ended - noted.due;
        let behind = noted.started - noted.due;
        shard.behind_max = shard.behind_max.max(behind);
        shard.late += u64::from(behind > self.late_after);
        shard.retries += u64::from(noted.retries);
        shard.last_end = shard.last_end.max(noted.ended);
        shard.count(&noted, took);
        let code = match noted.outcome {
            Ok(()) => None,
            Err(fault) => Some(shard.faults.add(fault, self.samples.is_some())),
        };
        if let Some(sink) = &self.samples {
            shard.rows.push(SampleRow {
                at_unix_ms: self.begin_unix_ms + whole_millis(noted.due),
                elapsed_us: whole_micros(took),
                latency_us: whole_micros(noted.ended - noted.started),
                work: noted.work,
                code: code.flatten(),
                slot: noted.slot,
            });
            if shard.rows.len() >= BATCH_ROWS {
                let batch = std::mem::replace(&mut shard.rows, Vec::with_capacity(BATCH_ROWS));
                sink.send(batch);
            }
        }
    }

    /// Removes every finished second before `now`. `begin_ms` is the start of the series.
    pub fn collect(&self, now: Duration, begin_ms: u64, outstanding: u64, live: &Live) {
        let mut merged = lock(&self.merged);
        while merged.seconds < now.as_secs() {
            let second = merged.seconds;
            self.take(&mut merged, second, begin_ms, outstanding, live);
        }
    }

    fn take(&self, merged: &mut Merged, second: u64, begin_ms: u64, outstanding: u64, live: &Live) {
        merged.seconds = second + 1;
        let mut all: Option<ShardSecond> = None;
        for shard in &self.shards {
            let mut shard = lock(shard);
            shard.taken = second + 1;
            while shard
                .seconds
                .front()
                .is_some_and(|one| one.second <= second)
            {
                let Some(one) = shard.seconds.pop_front() else {
                    break;
                };
                match &mut all {
                    None => all = Some(one),
                    Some(all) => {
                        all.done += one.done;
                        all.failed += one.failed;
                        all.latencies.merge(&one.latencies);
                        let mut spare = one.latencies;
                        spare.clear();
                        shard.spare.push(spare);
                    }
                }
            }
        }
        let mut row = Second {
            at_ms: begin_ms + second * 1000,
            outstanding,
            ..Second::default()
        };
        if let Some(mut all) = all {
            row.done = all.done;
            row.failed = all.failed;
            row.p50_ms = all.latencies.p50_ms();
            row.p99_ms = all.latencies.p99_ms();
            merged.done += all.done;
            merged.failed += all.failed;
            merged.total.merge(&all.latencies);
            if let Some(sink) = &self.slices {
                sink.send(self.slice(row.clone(), &all.latencies));
            }
            all.latencies.clear();
            lock(&self.shards[0]).spare.push(all.latencies);
        } else if let Some(sink) = &self.slices {
            // A second in which no unit ended may be a stall, so the reader needs its row.
            sink.send(self.slice(row.clone(), &Latencies::new()));
        }
        live.second(row.p50_ms, row.p99_ms);
        if merged.series.len() < SECONDS_MAX {
            merged.series.push(row);
        }
    }

    /// Returns the slice of a second, with the counts so far.
    fn slice(&self, second: Second, latencies: &Latencies) -> Slice {
        let mut so_far = Merged {
            works: self.labels.iter().map(|_| Work::default()).collect(),
            ..Merged::default()
        };
        for shard in &self.shards {
            let shard = lock(shard);
            so_far.add_counts(&shard);
            so_far.faults.merge(shard.faults.clone());
        }
        if self.labels.len() < 2 {
            so_far.works.clear();
        }
        Slice {
            second,
            latencies: latencies.histogram(),
            works: so_far.work_results(&self.labels),
            faults: so_far.faults.results(),
            retries: so_far.retries,
            late: so_far.late,
            dropped: self.dropped(),
        }
    }

    /// Closes all shards and returns everything up to now. A unit that ends later is not recorded.
    pub fn finish(&self, now: Duration, begin_ms: u64, outstanding: u64, live: &Live) -> Merged {
        for shard in &self.shards {
            lock(shard).closed = true;
        }
        self.collect(now, begin_ms, outstanding, live);
        let mut merged = lock(&self.merged);
        let left = |shard: &Mutex<Shard>| !lock(shard).seconds.is_empty();
        while self.shards.iter().any(left) {
            let second = merged.seconds;
            self.take(&mut merged, second, begin_ms, outstanding, live);
        }
        for shard in &self.shards {
            let mut shard = lock(shard);
            merged.add_counts(&shard);
            merged.faults.merge(std::mem::take(&mut shard.faults));
            if let Some(sink) = &self.samples {
                sink.send(std::mem::take(&mut shard.rows));
            }
        }
        std::mem::take(&mut merged)
    }
}

impl Shard {
    fn count(&mut self, noted: &Noted, took: Duration) {
        let ok = noted.outcome.is_ok();
        if let Some(work) = self.works.get_mut(noted.work) {
            if ok {
                work.done += 1;
                work.latencies.record(took);
            } else {
                work.failed += 1;
            }
        }
        let second = noted.ended.as_secs().max(self.taken);
        let place = self.seconds.iter().rposition(|one| one.second == second);
        let place = place.unwrap_or_else(|| {
            let place = self.seconds.partition_point(|one| one.second < second);
            let fresh = ShardSecond {
                second,
                done: 0,
                failed: 0,
                latencies: self.spare.pop().unwrap_or_default(),
            };
            self.seconds.insert(place, fresh);
            place
        });
        let entry = &mut self.seconds[place];
        if ok {
            entry.done += 1;
            entry.latencies.record(took);
        } else {
            entry.failed += 1;
        }
    }
}

impl Merged {
    /// Adds a shard's totals, without its seconds and faults.
    fn add_counts(&mut self, shard: &Shard) {
        self.retries += shard.retries;
        self.late += shard.late;
        self.behind_max = self.behind_max.max(shard.behind_max);
        self.last_end = self.last_end.max(shard.last_end);
        for (to, from) in self.works.iter_mut().zip(&shard.works) {
            to.done += from.done;
            to.failed += from.failed;
            to.latencies.merge(&from.latencies);
        }
    }

    /// Returns the results by kind of work, if there are several.
    pub fn work_results(&self, labels: &[String]) -> Vec<WorkResult> {
        let labels = labels.iter().zip(&self.works);
        labels
            .map(|(label, work)| WorkResult {
                label: label.clone(),
                done: work.done,
                failed: work.failed,
                latencies: work.latencies.histogram(),
            })
            .collect()
    }
}

/// Returns a number of the calling thread, the same each time.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
