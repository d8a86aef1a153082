//! A load in progress: the state that its units share.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use super::clock::{Clock, Ticks};
use super::generator::Gauge;
use super::recorder::{Merged, Noted, Recorder};
use super::{Driven, Ended, LoadEnvironment, Settings};
use crate::load::{Fault, Live};
use crate::measure::whole_millis;
use crate::results::Stretch;

/// Time limit for outstanding units after a stop was requested.
const STOPPED_WAIT_MAX: Duration = Duration::from_secs(15);
/// Time limit for dropping units. They are dropped as soon as their tasks run again.
const ABANDONED_WAIT_MAX: Duration = Duration::from_secs(5);
/// The code of units that had not ended when waiting ended.
const UNFINISHED: &str = "lab.unfinished";
/// The code of units whose code gave up.
const PANICKED: &str = "lab.unit_panicked";

/// Shared by all units of a stretch, or of its warm-up.
pub(super) struct Stage<C, D> {
    pub clock: C,
    driven: Arc<D>,
    pub recorder: Recorder,
    live: Arc<Live>,
    units: Arc<AtomicU64>,
    /// The begin of the measurement. Units due earlier are not recorded.
    pub begin: Duration,
    /// Units that have started or are about to, and have not ended.
    pub outstanding: AtomicU64,
    /// Nothing starts any more.
    pub over: AtomicBool,
    /// Unfinished units are no longer waited for.
    abandoned: AtomicBool,
    abandoning: Notify,
}

impl<C: Clock, D: Driven> Stage<C, D> {
    pub fn new(
        clock: &C,
        driven: &Arc<D>,
        settings: &Settings,
        around: &LoadEnvironment,
        begin: Duration,
    ) -> Arc<Self> {
        Arc::new(Self {
            clock: clock.clone(),
            driven: Arc::clone(driven),
            recorder: Recorder::new(
                &settings.labels,
                super::generator::LATE_AFTER,
                clock.unix_ms(begin),
                around.samples.clone(),
                around.slices.clone(),
            ),
            live: Arc::clone(&around.live),
            units: Arc::clone(&around.units),
            begin,
            outstanding: AtomicU64::new(0),
            over: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            abandoning: Notify::new(),
        })
    }

    /// Runs one unit that already counts as outstanding, and records it if it was due while measuring. Returns whether it
    /// succeeded.
    pub async fn unit(&self, slot: u32, due: Duration) -> bool {
        let mut running = Running {
            stage: self,
            slot,
            due,
            started: self.clock.now(),
            ended: false,
        };
        let unit = self.units.fetch_add(1, Ordering::Relaxed);
        let run = self.driven.run(slot, unit, due);
        let ended = self.unless_abandoned(run).await;
        running.ended = true;
        // An abandoned unit is already counted as unfinished.
        ended.is_some_and(|ended| running.note(ended))
    }

    /// Waits for a future, until the units are abandoned.
    pub async fn unless_abandoned<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        // Register for the notification before checking the flag.
        let abandoning = self.abandoning.notified();
        if self.abandoned.load(Ordering::SeqCst) {
            return None;
        }
        tokio::select! {
            biased;
            ended = future => Some(ended),
            () = abandoning => None,
        }
    }

    /// Drops unfinished units. Their books record an unknown outcome, and no task of the stretch remains.
    pub async fn abandon(&self, ticks: &mut C::Ticks) {
        self.abandoned.store(true, Ordering::SeqCst);
        self.abandoning.notify_waiters();
        let until = self.clock.now() + ABANDONED_WAIT_MAX;
        while self.outstanding.load(Ordering::SeqCst) > 0 && self.clock.now() < until {
            ticks.next().await;
        }
    }

    /// Waits until nothing is outstanding, or until the time limit.
    pub async fn drain(
        &self,
        settings: &Settings,
        around: &LoadEnvironment,
        ticks: &mut C::Ticks,
        gauge: &mut Gauge,
    ) {
        let begun = self.clock.now();
        let mut stopped = None;
        while self.outstanding.load(Ordering::SeqCst) > 0 {
            let now = self.tick(ticks, gauge).await;
            if around.stop.is_asked() {
                stopped.get_or_insert(now);
            }
            let waited = |since: Duration, most: Duration| now - since >= most;
            if waited(begun, settings.unfinished_after)
                || stopped.is_some_and(|since| waited(since, STOPPED_WAIT_MAX))
            {
                break;
            }
        }
    }

    /// Waits for a tick and does the regular work. Returns the current time.
    pub async fn tick(&self, ticks: &mut C::Ticks, gauge: &mut Gauge) -> Duration {
        let due = ticks.next().await;
        let now = self.clock.now();
        gauge.lag(now - due);
        let outstanding = self.outstanding.load(Ordering::Relaxed);
        self.live.outstanding(outstanding);
        // Zero during the warm-up.
        let measured = now.saturating_sub(self.begin);
        self.recorder
            .collect(measured, whole_millis(self.begin), outstanding, &self.live);
        now
    }

    /// Everything that ended, as a document has it. `due` is how many were due or started while measuring, `end` when
    /// measuring was over at the earliest.
    pub fn finish(
        &self,
        settings: &Settings,
        gauge: Gauge,
        due: u64,
        dropped: u64,
        end: Duration,
    ) -> Stretch {
        let outstanding = self.outstanding.load(Ordering::Relaxed);
        // Zero if it was stopped during the warm-up.
        let measured = self.clock.now().saturating_sub(self.begin);
        let mut merged: Merged =
            self.recorder
                .finish(measured, whole_millis(self.begin), outstanding, &self.live);
        // If the wait for units was given up, one may have started and ended since `due` was counted.
        let unfinished = due.saturating_sub(dropped + merged.done + merged.failed);
        if unfinished > 0 {
            let words = format!(
                "not ended when the wait for all outstanding units ended ({unfinished} units)"
            );
            merged
                .faults
                .add_many(UNFINISHED.to_owned(), unfinished, words);
        }
        let last = if unfinished > 0 {
            measured
        } else {
            merged.last_end
        };
        // A load that ends with its last unit, or is stopped during the warm-up, gives an end before the beginning.
        let seconds = last.max(end.saturating_sub(self.begin)).as_secs_f64();
        Stretch {
            started_ms: whole_millis(self.begin),
            seconds,
            due,
            done: merged.done,
            dropped,
            late: merged.late,
            retries: merged.retries,
            latencies: merged.total.histogram(),
            works: merged.work_results(&settings.labels),
            series: std::mem::take(&mut merged.series),
            generator: gauge.end(&self.clock, merged.behind_max),
            faults: merged.faults.results(),
            ..Stretch::default()
        }
    }
}

/// A unit in progress. If it is dropped before its end, it failed.
struct Running<'a, C: Clock, D: Driven> {
    stage: &'a Stage<C, D>,
    slot: u32,
    due: Duration,
    started: Duration,
    ended: bool,
}

impl<C: Clock, D: Driven> Running<'_, C, D> {
    fn note(&self, ended: Ended) -> bool {
        let stage = self.stage;
        let ok = ended.outcome.is_ok();
        if self.due < stage.begin {
            return ok;
        }
        let since = |at: Duration| at - stage.begin;
        stage.recorder.note(Noted {
            due: since(self.due),
            started: since(self.started),
            ended: since(stage.clock.now()),
            slot: self.slot,
            work: ended.work,
            retries: ended.retries,
            outcome: ended.outcome,
        });
        stage.live.ended(ok);
        ok
    }
}

impl<C: Clock, D: Driven> Drop for Running<'_, C, D> {
    fn drop(&mut self) {
        if !self.ended {
            self.note(Ended {
                work: 0,
                outcome: Err(Fault::new(
                    PANICKED,
                    "the workload's code gave up in the middle of a unit",
                )),
                retries: 0,
            });
        }
        self.stage.outstanding.fetch_sub(1, Ordering::SeqCst);
    }
}
