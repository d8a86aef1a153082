//! The resource that limited the headline figure, in words.

use crate::plan::{Load, Plan};
use crate::report::figures::figure;
use crate::results::Distance;

/// The share of a limit from which it counts as near: hardly anything is left.
pub const NEAR: f64 = 0.85;

/// Up to this many outstanding units, the latency of single units sets the rate.
const FEW_OUTSTANDING: u32 = 4;

/// A limit that several cores or nodes can pass is no evidence if it was passed this many times: it did not limit, or it was
/// measured while the machine was busy.
const PASSED: f64 = 2.0;

/// Returns a sentence about the limits at the headline point, and about the load if none was near.
pub(super) fn words(limits: &[Distance], plan: Option<&Plan>) -> String {
    let limits: Vec<&Distance> = limits
        .iter()
        .filter(|limit| !limit.can_pass || limit.share() < PASSED)
        .collect();
    let nearest = |can_pass: bool| {
        let picked = limits.iter().copied();
        let picked = picked.filter(|limit| limit.can_pass == can_pass);
        picked.max_by(|one, two| one.share().total_cmp(&two.share()))
    };
    let near = |limit: &&Distance| limit.share() >= NEAR;
    if let Some(limit) = nearest(false).filter(near) {
        return format!("{}: hardly anything of it was left.", used(limit));
    }
    if let Some(limit) = nearest(true).filter(near) {
        return format!(
            "possibly {}, which several cores or nodes together can pass.",
            used(limit)
        );
    }
    let Some(nearest) = limits
        .iter()
        .copied()
        .max_by(|one, two| one.share().total_cmp(&two.share()))
    else {
        return "not known, because the machine's limits were not measured.".to_owned();
    };
    format!(
        "none of the measured limits was near. The nearest was {}.{}",
        used(nearest),
        by_load(plan)
    )
}

fn used(limit: &Distance) -> String {
    format!(
        "{}, {} of {} ({:.0} %)",
        limit.what,
        figure(limit.used),
        figure(limit.limit),
        limit.share() * 100.0
    )
}

/// Returns why a load left the machine idle, if its kind explains it.
fn by_load(plan: Option<&Plan>) -> String {
    match plan.map(|plan| &plan.load) {
        Some(Load::Open(_)) => {
            " The load came at a set rate, so the rate is no maximum.".to_owned()
        }
        Some(Load::Closed(closed)) if closed.outstanding <= FEW_OUTSTANDING => format!(
            " With {} outstanding, the latency of single units sets the rate.",
            closed.outstanding
        ),
        Some(Load::Closed(_) | Load::Knee(_)) | None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{NoChecks, Options, parse};

    fn limit(what: &str, used: f64, can_pass: bool) -> Distance {
        Distance {
            what: what.to_owned(),
            used,
            limit: 100.0,
            can_pass,
            ..Distance::default()
        }
    }

    fn plan(load: &str) -> Plan {
        let text = format!("[work]\nkind = 'pay'\n[load]\n{load}\n");
        parse("x", "x", text.as_bytes(), &Options::default(), &NoChecks)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn the_nearest_limit_is_named() {
        let cores = |used| limit("cores, nodes", used, false);
        let commits = |used| limit("durable commits a second", used, true);
        for (limits, load, expected) in [
            (
                vec![cores(97.0), commits(150.0)],
                "outstanding = 100",
                "cores, nodes, 97 of 100 (97 %): hardly anything of it was left.",
            ),
            (
                vec![cores(40.0), commits(90.0)],
                "outstanding = 100",
                "possibly durable commits a second, 90 of 100 (90 %), which several cores or nodes together can pass.",
            ),
            (
                vec![cores(40.0), commits(1_483.0)],
                "outstanding = 100",
                "none of the measured limits was near. The nearest was cores, nodes, 40 of 100 (40 %).",
            ),
            (
                vec![cores(40.0), commits(50.0)],
                "outstanding = 100",
                "none of the measured limits was near. The nearest was durable commits a second, 50 of 100 (50 %).",
            ),
            (
                vec![cores(40.0)],
                "outstanding = 1",
                "none of the measured limits was near. The nearest was cores, nodes, 40 of 100 (40 %). With 1 outstanding, the \
                 latency of single units sets the rate.",
            ),
            (
                vec![cores(40.0)],
                "rate = 30",
                "none of the measured limits was near. The nearest was cores, nodes, 40 of 100 (40 %). The load came at a set \
                 rate, so the rate is no maximum.",
            ),
            (
                vec![],
                "rate = 30",
                "not known, because the machine's limits were not measured.",
            ),
        ] {
            assert_eq!(words(&limits, Some(&plan(load))), expected);
        }
    }
}
