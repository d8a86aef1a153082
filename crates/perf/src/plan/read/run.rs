//! `[run]`.

use crate::plan::limits::SECONDS_MAX;
use crate::plan::model::{Load, Restart, Run, Shape};
use crate::plan::reader::{Reader, Section};

/// Default measured seconds of a stretch.
const SECONDS: f64 = 5.0;
/// The same default if units are counted: long enough that the count ends the stretch.
const SECONDS_COUNTED: f64 = 3_600.0;
/// Default warm-up before a point.
const WARM_UP_S: f64 = 1.0;
/// Default stretches of each point.
const REPEATS: u32 = 5;

pub(super) fn read(reader: &mut Reader<'_>, top: Section<'_>, load: &Load, target: bool) -> Run {
    let steps_s = steps_s(load);
    if steps_s.is_some_and(|sum| sum > SECONDS_MAX) {
        let message = format!("the steps of `load` take more than {SECONDS_MAX} seconds together");
        reader.wrong(top.at_of("load"), message);
    }
    let mut run = Run {
        warm_up_s: WARM_UP_S,
        seconds: steps_s.unwrap_or(SECONDS),
        count: None,
        repeats: REPEATS,
        interleave: false,
        restart: Restart::Needed,
        fresh: false,
    };
    let Some(section) = reader.sub(top, "run") else {
        return run;
    };
    run.warm_up_s = reader.number(section, "warm_up_s").unwrap_or(WARM_UP_S);
    run.count = reader.whole(section, "count");
    if run.count.is_some() {
        run.seconds = SECONDS_COUNTED;
    }
    let seconds = reader.number(section, "seconds");
    // Steps define their own length.
    run.seconds = steps_s.or(seconds).unwrap_or(run.seconds);
    run.repeats = reader.small(section, "repeats").unwrap_or(REPEATS);
    run.interleave = reader.flag(section, "interleave").unwrap_or(false);
    run.restart = match reader.one_of(section, "restart") {
        Some("points") => Restart::Points,
        Some("repeats") => Restart::Repeats,
        _ => Restart::Needed,
    };
    run.fresh = reader.flag(section, "fresh").unwrap_or(false);
    if target {
        let why = "would change the target, which the laboratory does not own";
        if run.restart != Restart::Needed {
            reader.forbid(section, &["restart"], why);
        }
        if run.fresh {
            reader.forbid(section, &["fresh"], why);
        }
    }
    if run.fresh && run.interleave {
        let why = "would wipe the network between turns of `interleave`; take one of the two";
        reader.forbid(section, &["fresh"], why);
    }
    run
}

/// Returns the total length of a rate's steps.
fn steps_s(load: &Load) -> Option<f64> {
    match load {
        Load::Open(open) => match &open.shape {
            Shape::Steps(steps) => Some(steps.iter().map(|step| step.seconds).sum()),
            Shape::Constant(_) | Shape::Ramp { .. } => None,
        },
        Load::Closed(_) | Load::Knee(_) => None,
    }
}
