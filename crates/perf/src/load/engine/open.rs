//! The open loop: units start when they are due, like real arrivals, even if earlier ones have not ended.
//!
//! Due times are fixed before anything starts, and rounded up to whole ticks. Latency counts from them, so a stall of any
//! length shows in all units due during it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::clock::{Clock, TICK, whole_tick};
use super::generator::Gauge;
use super::schedule::Schedule;
use super::stage::Stage;
use super::{Driven, LoadEnvironment, Settings};
use crate::plan::Open;
use crate::results::Stretch;

/// Runs a warm-up and, without a pause, the measured load.
pub(super) async fn run<C: Clock, D: Driven>(
    clock: &C,
    driven: &Arc<D>,
    load: &Open,
    settings: &Settings,
    around: &LoadEnvironment,
) -> Stretch {
    let mut ticks = clock.ticks();
    let start = whole_tick(clock.now() + TICK);
    let begin = whole_tick(start + settings.warm_up);
    let stage = Stage::new(clock, driven, settings, around, begin);
    let (warm_up, measured) = (
        settings.warm_up.as_secs_f64(),
        settings.measured.as_secs_f64(),
    );
    let mut before = Schedule::warm_up(load, warm_up, settings.seed)
        .map(|at| whole_tick(start + at))
        .take_while(|at| *at < begin)
        .peekable();
    let schedule = Schedule::measured(load, measured, settings.seed);
    let length = schedule.length();
    let mut times = schedule.map(|at| whole_tick(begin + at)).peekable();
    let outstanding_max = u64::from(load.outstanding_max.max(1));
    // Without a count, the schedule alone ends it.
    let most = settings.count.unwrap_or(u64::MAX);
    let (mut turn, mut due) = (0u32, 0u64);
    let mut gauge = Gauge::begin(clock);
    let mut measuring = false;
    let end = loop {
        let now = stage.tick(&mut ticks, &mut gauge).await;
        if now >= begin && !measuring {
            measuring = true;
            gauge = Gauge::begin(clock);
        }
        if around.stop.is_asked() {
            break now;
        }
        let mut start = |at| {
            let free = stage.outstanding.load(Ordering::Relaxed) < outstanding_max;
            if free {
                stage.outstanding.fetch_add(1, Ordering::SeqCst);
                let (stage, slot) = (Arc::clone(&stage), turn);
                clock.spawn(async move {
                    stage.unit(slot, at).await;
                });
                turn = turn.wrapping_add(1);
            }
            free
        };
        while let Some(at) = before.next_if(|at| *at <= now) {
            start(at);
        }
        while due < most
            && let Some(at) = times.next_if(|at| *at <= now)
        {
            due += 1;
            if !start(at) {
                stage.recorder.note_dropped();
            }
        }
        match times.peek() {
            Some(next) if due >= most => break *next,
            // No further unit is due, but the stretch lasts until its end.
            None if now >= begin + length => break begin + length,
            _ => {}
        }
    };
    stage.over.store(true, Ordering::SeqCst);
    stage.drain(settings, around, &mut ticks, &mut gauge).await;
    let stretch = stage.finish(settings, gauge, due, stage.recorder.dropped(), end);
    stage.abandon(&mut ticks).await;
    stretch
}
