//! `[run]`.

use crate::plan::limits::{EACH_UNIT_MAX, SECONDS_MAX};
use crate::plan::model::{Fault, FaultKind, Load, Restart, Run, Shape};
use crate::plan::reader::{Reader, Section};

/// Default measured seconds of a stretch.
const SECONDS: f64 = 5.0;
/// The same default if units are counted: long enough that the count ends the stretch.
const SECONDS_COUNTED: f64 = 3_600.0;
/// Default warm-up before a point.
const WARM_UP_S: f64 = 1.0;
/// Default moment of a fault.
const FAULT_AT_S: f64 = 1.0;
/// Default seconds for which a frozen process stays stopped.
const FROZEN_S: f64 = 2.0;
/// Default stretches of each point.
const REPEATS: u32 = 5;

/// Reads the section. `nodes` are the nodes that a fault may concern, and `target` says whether they are somebody else's.
pub(super) fn read(
    reader: &mut Reader<'_>,
    top: Section<'_>,
    load: &Load,
    (nodes, target): (&[String], bool),
) -> Run {
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
        each_unit: false,
        fault: None,
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
    run.each_unit = reader.flag(section, "each_unit").unwrap_or(false);
    check_each_unit(reader, section, load, &run);
    run.fault = fault(reader, section, nodes);
    if let Some(fault) = &run.fault
        && fault.at_s >= run.seconds
    {
        let message = format!(
            "the fault comes after {} s, and the stretch ends after {} s; make `run.fault.at_s` smaller or `run.seconds` larger",
            fault.at_s, run.seconds
        );
        reader.wrong(section.at_of("fault"), message);
    }
    if target {
        let why = "would change the target, which the laboratory does not own";
        if run.restart != Restart::Needed {
            reader.forbid(section, &["restart"], why);
        }
        if run.fresh {
            reader.forbid(section, &["fresh"], why);
        }
        reader.forbid(section, &["fault"], why);
    }
    if run.fresh && run.interleave {
        let why = "would wipe the network between turns of `interleave`; take one of the two";
        reader.forbid(section, &["fresh"], why);
    }
    run
}

/// Refuses to keep each unit of a stretch whose units are not counted, or are too many for a report.
fn check_each_unit(reader: &mut Reader<'_>, section: Section<'_>, load: &Load, run: &Run) {
    if !run.each_unit {
        return;
    }
    let at = section.at_of("each_unit");
    if matches!(load, Load::Knee(_)) {
        let why = "applies to one load, and a search makes several";
        reader.forbid(section, &["each_unit"], why);
    } else if run.count.is_none_or(|count| count > EACH_UNIT_MAX) {
        let message = format!(
            "a report keeps each unit of at most {EACH_UNIT_MAX}; set `run.count` to no more"
        );
        reader.wrong(at, message);
    }
}

/// Reads a fault of one of the nodes.
fn fault(reader: &mut Reader<'_>, section: Section<'_>, nodes: &[String]) -> Option<Fault> {
    let section = reader.sub(section, "fault")?;
    reader.missing(section, "node");
    let node = reader.words(section, "node")?;
    if !nodes.contains(&node) {
        let names: Vec<&str> = nodes.iter().map(String::as_str).collect();
        reader.not_one_of(section.at_of("node"), "node", &node, &names);
    }
    let for_s = reader.number(section, "for_s");
    let kind = match reader.one_of(section, "kind") {
        Some("freeze") => FaultKind::Freeze(for_s.unwrap_or(FROZEN_S)),
        _ => {
            let why = "applies only with `run.fault.kind = \"freeze\"`";
            reader.forbid(section, &["for_s"], why);
            FaultKind::Kill
        }
    };
    Some(Fault {
        node,
        kind,
        at_s: reader.number(section, "at_s").unwrap_or(FAULT_AT_S),
    })
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
