//! The closed loop: a set number of workers, each with one unit at a time.
//!
//! Its weakness: while the system stalls, it requests nothing. A stall then shows in the rate, and in only as many
//! latencies as there are workers, so the percentiles hide it. Use the open loop to see stalls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::chance::Chance;
use super::clock::Clock;
use super::generator::Gauge;
use super::schedule::seconds;
use super::stage::Stage;
use super::{Driven, LoadEnvironment, Settings};
use crate::plan::{Closed, Think};
use crate::results::Stretch;

/// Pause of a worker after a failure, so that a busy node is not called again at once.
const REST_AFTER_FAULT: Duration = Duration::from_millis(20);

/// State that workers share in addition to the stage.
struct Workers {
    think: Think,
    seed: u64,
    /// No unit starts at or after this time.
    until: Duration,
    /// Units started so far, and their upper limit.
    started: AtomicU64,
    most: u64,
}

/// Runs a warm-up to its end, then the measured load.
pub(super) async fn run<C: Clock, D: Driven>(
    clock: &C,
    driven: &Arc<D>,
    load: &Closed,
    settings: &Settings,
    around: &LoadEnvironment,
) -> Stretch {
    if settings.warm_up > Duration::ZERO && !around.stop.is_asked() {
        let warm_up = Settings {
            measured: settings.warm_up,
            count: None,
            ..settings.clone()
        };
        // The warm-up begins to measure after its end, so nothing is measured.
        let around = LoadEnvironment {
            samples: None,
            slices: None,
            ..around.clone()
        };
        part(clock, driven, load, &warm_up, &around, Duration::MAX).await;
    }
    part(clock, driven, load, settings, around, Duration::ZERO).await
}

async fn part<C: Clock, D: Driven>(
    clock: &C,
    driven: &Arc<D>,
    load: &Closed,
    settings: &Settings,
    around: &LoadEnvironment,
    measured_after: Duration,
) -> Stretch {
    let mut ticks = clock.ticks();
    let start = clock.now();
    let begin = start.max(measured_after);
    let stage = Stage::new(clock, driven, settings, around, begin);
    let mut gauge = Gauge::begin(clock);
    let workers = Arc::new(Workers {
        think: load.think,
        seed: settings.seed,
        // A load that ends by its count may have no end in time.
        until: start.saturating_add(settings.measured),
        started: AtomicU64::new(0),
        // Without a count, the time alone ends it.
        most: settings.count.unwrap_or(u64::MAX),
    });
    for slot in 0..load.outstanding {
        clock.spawn(worker(Arc::clone(&stage), Arc::clone(&workers), slot));
    }
    let mut end;
    loop {
        end = stage.tick(&mut ticks, &mut gauge).await;
        if end >= workers.until || around.stop.is_asked() {
            end = end.min(workers.until);
            break;
        }
        if workers.started.load(Ordering::Acquire) >= workers.most {
            // It ends with its last unit.
            end = start;
            break;
        }
    }
    stage.over.store(true, Ordering::SeqCst);
    stage.drain(settings, around, &mut ticks, &mut gauge).await;
    let started = workers.started.load(Ordering::Acquire).min(workers.most);
    let mut stretch = stage.finish(settings, gauge, started, 0, end);
    // Its units are never due, so none is late. Readers tell an open loop by this limit.
    stretch.generator.late_after_ms = 0.0;
    stage.abandon(&mut ticks).await;
    stretch
}

async fn worker<C: Clock, D: Driven>(stage: Arc<Stage<C, D>>, workers: Arc<Workers>, slot: u32) {
    let mut chance = Chance::new(workers.seed, 1_000 + u64::from(slot));
    loop {
        // Count it as outstanding first. A reader that sees no outstanding unit after the last start then also sees the
        // final count.
        stage.outstanding.fetch_add(1, Ordering::SeqCst);
        let now = stage.clock.now();
        let may_start = !stage.over.load(Ordering::SeqCst) && now < workers.until;
        if !may_start || !workers.take_place() {
            stage.outstanding.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        let ok = stage.unit(slot, now).await;
        let mut rest = match workers.think {
            Think::Fixed(ms) => seconds(ms / 1000.0),
            Think::Random(ms) => seconds(chance.exponential(ms / 1000.0)),
            Think::Uniform(ms) => seconds(chance.share() * 2.0 * ms / 1000.0),
        };
        if !ok {
            rest = rest.max(REST_AFTER_FAULT);
        }
        if rest > Duration::ZERO {
            // A random rest may be longer than any time.
            let until = stage.clock.now().saturating_add(rest);
            if until >= workers.until {
                return;
            }
            let rest = stage.clock.sleep_until(until);
            if stage.unless_abandoned(rest).await.is_none() {
                return;
            }
        }
    }
}

impl Workers {
    /// Takes the place of one more unit. Returns whether there was one.
    fn take_place(&self) -> bool {
        self.started
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |started| {
                (started < self.most).then(|| started + 1)
            })
            .is_ok()
    }
}
