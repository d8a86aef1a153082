//! `[load]`.

use crate::plan::limits::STEPS_MAX;
use crate::plan::model::{Closed, Knee, Load, Open, Shape, Step, Think};
use crate::plan::reader::{Reader, Section};

/// The kinds of load. A scenario has exactly one.
const WAYS: [&str; 5] = ["outstanding", "rate", "ramp", "steps", "knee"];
/// Default upper limit on outstanding units in an open loop.
const OUTSTANDING_MAX: u32 = 10_000;
/// Default percentile and precision of a search.
const PERCENTILE: f64 = 99.0;
const WITHIN: f64 = 0.05;

pub(super) fn read(reader: &mut Reader<'_>, top: Section<'_>) -> Load {
    let Some(section) = reader.sub(top, "load") else {
        return Load::Closed(one());
    };
    let ways: Vec<&str> = WAYS.into_iter().filter(|way| section.has(way)).collect();
    let way = match ways.as_slice() {
        [] => "outstanding",
        [way] => way,
        [first, others @ ..] => {
            let why = format!(
                "contradicts `{first}`: a load has one of {}",
                WAYS.join(", ")
            );
            reader.forbid(section, others, &why);
            first
        }
    };
    if way == "outstanding" {
        let why = "is for an open loop (rate, ramp, steps) or a search (knee)";
        reader.forbid(section, &["poisson", "outstanding_max"], why);
        return Load::Closed(closed(reader, section));
    }
    let why = "is for a closed loop, with `outstanding`";
    reader.forbid(section, &["think_ms", "think"], why);
    let outstanding_max = reader
        .small(section, "outstanding_max")
        .unwrap_or(OUTSTANDING_MAX);
    if way == "knee" {
        reader.forbid(
            section,
            &["poisson"],
            "is for an open loop, not for a search",
        );
        return Load::Knee(knee(reader, section, outstanding_max));
    }
    Load::Open(Open {
        shape: shape(reader, section, way),
        poisson: reader.flag(section, "poisson").unwrap_or(false),
        outstanding_max,
    })
}

fn one() -> Closed {
    Closed {
        outstanding: 1,
        think: Think::Fixed(0.0),
    }
}

fn closed(reader: &mut Reader<'_>, section: Section<'_>) -> Closed {
    let think_ms = reader.number(section, "think_ms").unwrap_or(0.0);
    let think = match reader.one_of(section, "think") {
        Some("random") => Think::Random(think_ms),
        Some("uniform") => Think::Uniform(think_ms),
        _ => Think::Fixed(think_ms),
    };
    Closed {
        outstanding: reader.small(section, "outstanding").unwrap_or(1),
        think,
    }
}

fn shape(reader: &mut Reader<'_>, section: Section<'_>, way: &str) -> Shape {
    match way {
        "ramp" => ramp(reader, section),
        "steps" => Shape::Steps(steps(reader, section)),
        _ => Shape::Constant(reader.number(section, "rate").unwrap_or(1.0)),
    }
}

fn ramp(reader: &mut Reader<'_>, section: Section<'_>) -> Shape {
    let (mut from, mut to) = (0.0, 1.0);
    if let Some(ramp) = reader.sub(section, "ramp") {
        for key in ["from", "to"] {
            reader.missing(ramp, key);
        }
        from = reader.number(ramp, "from").unwrap_or(from);
        to = reader.number(ramp, "to").unwrap_or(to);
        if from <= 0.0 && to <= 0.0 {
            reader.wrong(ramp.at, "a ramp from 0 to 0 does nothing");
        }
    }
    Shape::Ramp { from, to }
}

fn steps(reader: &mut Reader<'_>, section: Section<'_>) -> Vec<Step> {
    let mut steps = Vec::new();
    for node in reader.list(section, "steps", STEPS_MAX) {
        let Some(step) = reader.open(node, "load.steps") else {
            continue;
        };
        for key in ["per_s", "seconds"] {
            reader.missing(step, key);
        }
        steps.push(Step {
            per_s: reader.number(step, "per_s").unwrap_or(0.0),
            seconds: reader.number(step, "seconds").unwrap_or(1.0),
        });
    }
    if !steps.iter().any(|step| step.per_s > 0.0) {
        let message = "`load.steps` needs a step with a rate above 0";
        reader.wrong(section.at_of("steps"), message);
    }
    steps
}

fn knee(reader: &mut Reader<'_>, section: Section<'_>, outstanding_max: u32) -> Knee {
    let mut knee = Knee {
        from_per_s: 1.0,
        to_per_s: 1.0,
        percentile: PERCENTILE,
        latency_ms: 1.0,
        within: WITHIN,
        outstanding_max,
    };
    let Some(section) = reader.sub(section, "knee") else {
        return knee;
    };
    for key in ["from_per_s", "to_per_s", "latency_ms"] {
        reader.missing(section, key);
    }
    for (key, field) in [
        ("from_per_s", &mut knee.from_per_s),
        ("to_per_s", &mut knee.to_per_s),
        ("percentile", &mut knee.percentile),
        ("latency_ms", &mut knee.latency_ms),
        ("within", &mut knee.within),
    ] {
        if let Some(number) = reader.number(section, key) {
            *field = number;
        }
    }
    if section.has("from_per_s") && section.has("to_per_s") && knee.from_per_s >= knee.to_per_s {
        let message = format!(
            "`load.knee.to_per_s` is {}; it has to be above `from_per_s`, {}",
            knee.to_per_s, knee.from_per_s
        );
        reader.wrong(section.at_of("to_per_s"), message);
    }
    knee
}
