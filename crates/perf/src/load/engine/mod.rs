//! Load control: closed loop, open loop, and the search for the knee, over anything that can be driven.
//!
//! The engine knows nothing of nodes or flows, and never retries. The driven work reports how each unit ended and how
//! often it was tried. All measurements are in one [`Stretch`].
//!
//! ```text
//! clock ticks (1 ms) -> schedule or workers -> Driven::run -> recorder (a shard a thread) -> Stretch
//! ```
//!
//! Modules in reading order: `schedule` (when units are due), `closed`, `open`, `knee` (the loops), `stage` (the life of
//! a unit), `recorder` (results). `generator` detects whether the generator itself is the limit. `clock` and
//! `virtual_time` provide the time.

mod chance;
mod clock;
mod closed;
mod codes;
mod faults;
mod generator;
pub(crate) mod knee;
mod open;
mod recorder;
mod samples;
mod schedule;
mod slice;
mod stage;
mod virtual_time;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::{Fault, Live};
use crate::plan::{Knee, Load, Open, Shape};
use crate::results::{Stretch, Trial};

pub use chance::Chance;
pub use clock::{Clock, Pacer, Real, TICK, Ticks};
pub use codes::ERRORS;
pub use generator::{GENERATOR_LIMIT, findings};
pub use samples::{BATCH_ROWS, SampleRow, SampleSink};
pub use schedule::Schedule;
pub use slice::{Slice, SliceSink};
pub use virtual_time::{Virtual, VirtualTicks};

/// Default time that a load waits at its end for outstanding units.
pub const UNFINISHED_AFTER: Duration = Duration::from_secs(120);

/// Something that can be driven unit by unit.
pub trait Driven: Send + Sync + 'static {
    /// Runs one unit to its end. `slot` is the worker in a closed loop; in an open loop it grows by one with each start.
    /// `unit` is unique within a run. `due` is the time at which it was due, on the engine's clock.
    fn run(&self, slot: u32, unit: u64, due: Duration) -> impl Future<Output = Ended> + Send;
}

/// The outcome of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The kind of work, as an index into [`Settings::labels`].
    pub work: usize,
    /// Whether it was completed.
    pub outcome: Result<(), Fault>,
    /// Tries beyond the first.
    pub retries: u32,
}

/// The duration, and the settings that all loads share.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Duration of the warm-up: the same load, whose results are not counted.
    pub warm_up: Duration,
    /// No unit is due or started after this long. With `count`, the first limit reached applies.
    pub measured: Duration,
    /// Upper limit on units measured.
    pub count: Option<u64>,
    /// The seed of all random choices.
    pub seed: u64,
    /// The kinds of work. If there are several, latencies are also recorded by kind.
    pub labels: Vec<String>,
    /// How long to wait at the end for outstanding units. Those left then fail with `lab.unfinished`.
    pub unfinished_after: Duration,
}

/// The connections of a load to its environment.
#[derive(Clone, Default)]
pub struct LoadEnvironment {
    /// Counters for progress bars.
    pub live: Arc<Live>,
    /// Ends the load early.
    pub stop: Stop,
    /// Destination of a row for each measured unit.
    pub samples: Option<SampleSink>,
    /// Collects per-second results.
    pub slices: Option<SliceSink>,
    /// The next unit's number, which goes on from stretch to stretch.
    pub units: Arc<AtomicU64>,
}

/// Tells a load to start no more units. All clones share one request.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    asked: Arc<AtomicBool>,
}

impl Stop {
    /// Requests the stop.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Release);
    }

    /// Returns whether a stop was requested.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }
}

/// Puts a load on `driven`, lets all started units end, then waits for `caught_up`, whose time counts too. A search for
/// the knee makes several trials and returns the last one, at the knee. Each trial lasts as long as `settings` say,
/// warm-up included.
pub async fn stretch<C: Clock, D: Driven>(
    clock: &C,
    driven: &Arc<D>,
    load: &Load,
    settings: &Settings,
    around: &LoadEnvironment,
    caught_up: impl Future<Output = ()>,
) -> Stretch {
    let mut stretch = match load {
        Load::Closed(closed) => closed::run(clock, driven, closed, settings, around).await,
        Load::Open(open) => open::run(clock, driven, open, settings, around).await,
        Load::Knee(knee) => search(clock, driven, knee, settings, around).await,
    };
    let ended = clock.now();
    caught_up.await;
    stretch.seconds += (clock.now() - ended).as_secs_f64();
    stretch
}

async fn search<C: Clock, D: Driven>(
    clock: &C,
    driven: &Arc<D>,
    knee: &Knee,
    settings: &Settings,
    around: &LoadEnvironment,
) -> Stretch {
    let mut search = knee::Search::new(knee);
    let without_rows = LoadEnvironment {
        samples: None,
        slices: None,
        ..around.clone()
    };
    let mut last = Stretch::default();
    let mut trials = Vec::new();
    for trial in 0u64.. {
        let (per_s, around) = match search.next() {
            knee::Next::Try(per_s) => (per_s, &without_rows),
            knee::Next::Confirm(per_s) => (per_s, around),
            knee::Next::Below => break,
        };
        let open = Open {
            shape: Shape::Constant(per_s),
            poisson: true,
            outstanding_max: knee.outstanding_max,
        };
        let settings = Settings {
            seed: settings.seed.wrapping_add(trial),
            ..settings.clone()
        };
        last = open::run(clock, driven, &open, &settings, around).await;
        // A trial that was cut short has no result.
        if around.stop.is_asked() {
            break;
        }
        trials.push(Trial::of(per_s, &last));
        if search.tell(knee::meets(knee, &last)) {
            break;
        }
    }
    // An interrupted search has found nothing.
    if !around.stop.is_asked() {
        last.tried = search.tried().to_vec();
        last.trials = trials;
    }
    last
}
