//! How near the busiest point came to what the machine can do at all.

use super::headline::place;
use crate::report::chart::{Bar, bars};
use crate::report::html::figure::figure;
use crate::report::units::figure as number;
use crate::results::{Limits, Point, ProcessSample, Report, Scenario, Stretch};

/// The chart; nothing where no process was watched.
pub fn section(report: &Report, scenario: &Scenario) -> String {
    let busiest = scenario
        .points
        .iter()
        .flat_map(|point| point.stretches.iter().map(move |stretch| (point, stretch)))
        .filter(|(_, stretch)| !stretch.processes.is_empty())
        .max_by(|one, two| one.1.per_s().total_cmp(&two.1.per_s()));
    let Some((point, stretch)) = busiest else {
        return String::new();
    };
    let list = bars_of(report, stretch);
    if list.is_empty() {
        return String::new();
    }
    let svg = bars("How near the machine's limits were", &list);
    let about = format!(
        "in the stretch with the highest rate{}: {} units a second, with everything on this machine",
        at(point),
        number(stretch.per_s())
    );
    format!(
        "<h3>Distance to the machine's limits</h3><div class=\"charts\">{}{}</div>",
        figure("How much of the machine was used", &about, &svg, &[]),
        explained(report.machine.limits.as_ref())
    )
}

fn at(point: &Point) -> String {
    match place(point) {
        place if place.is_empty() => String::new(),
        place => format!(" ({place})"),
    }
}

fn bars_of(report: &Report, stretch: &Stretch) -> Vec<Bar> {
    let mut list = Vec::new();
    let growth = |value: fn(&ProcessSample) -> u64| -> Vec<(&str, f64)> {
        let processes = stretch.processes.iter();
        processes
            .filter_map(|process| {
                growth_per_s(&process.samples, value).map(|rate| (process.name.as_str(), rate))
            })
            .collect()
    };
    let cores: f64 = growth(|sample| sample.cpu_ms)
        .iter()
        .map(|(_, rate)| rate / 1000.0)
        .sum();
    if report.machine.cores > 0 && cores > 0.0 {
        let all = report.machine.cores;
        list.push(Bar {
            name: "Processor, all processes".to_owned(),
            share: cores / f64::from(all),
            words: format!("{} of {all} cores", number(cores)),
        });
    }
    let Some(limits) = &report.machine.limits else {
        return list;
    };
    let greatest = |rates: Vec<(&str, f64)>| -> Option<(String, f64)> {
        let rates = rates
            .into_iter()
            .map(|(name, rate)| (name.to_owned(), rate));
        rates.max_by(|one, two| one.1.total_cmp(&two.1))
    };
    let mut against = |what: &str, measured: Option<(String, f64)>, limit: f64, unit: &str| {
        if let Some((name, rate)) = measured.filter(|(_, rate)| *rate > 0.0 && limit > 0.0) {
            list.push(Bar {
                name: format!("{what}, {name}"),
                share: rate / limit,
                words: format!("{} of {} {unit}", number(rate), number(limit)),
            });
        }
    };
    against(
        "Commits",
        greatest(growth(|sample| sample.commits)),
        limits.commits_per_s,
        "a second",
    );
    let sent =
        greatest(growth(|sample| sample.sent_bytes)).map(|(name, rate)| (name, rate * 8.0 / 1e6));
    against("Sent", sent, limits.tls_mbit_per_s, "Mbit/s");
    let checks: Vec<(&str, f64)> = stretch
        .metrics
        .iter()
        .filter(|series| series.name == "tally_signature_batch_checks_sum")
        .filter_map(|series| {
            let (first, last) = (series.values.first()?, series.values.last()?);
            let seconds = last.0.checked_sub(first.0).filter(|ms| *ms > 0)? as f64 / 1000.0;
            Some((series.node.as_str(), (last.1 - first.1) / seconds))
        })
        .collect();
    against(
        "Signature checks",
        greatest(checks),
        limits.checks_per_s,
        "a second",
    );
    list
}

/// Growth of a counter a second over all looks at a process.
fn growth_per_s(samples: &[ProcessSample], value: fn(&ProcessSample) -> u64) -> Option<f64> {
    let (first, last) = (samples.first()?, samples.last()?);
    let ms = last.at_ms.checked_sub(first.at_ms).filter(|ms| *ms > 0)?;
    let grown = value(last).checked_sub(value(first))?;
    Some(grown as f64 * 1000.0 / ms as f64)
}

/// What the limits are.
fn explained(limits: Option<&Limits>) -> String {
    let Some(limits) = limits else {
        return "<p class=\"dim small\">The machine's limits were not measured in this run.</p>"
            .to_owned();
    };
    let rows: String = [
        ("Signatures made, one core", limits.signs_per_s, "a second"),
        (
            "Signatures checked in batches, one core",
            limits.checks_per_s,
            "a second",
        ),
        ("SHA-256, one core", limits.hash_mb_per_s, "MB/s"),
        (
            "Durable commits, one after the other",
            limits.commits_per_s,
            "a second",
        ),
        ("One durable commit, median", limits.commit_us, "µs"),
        (
            "One TLS connection, both ends here",
            limits.tls_mbit_per_s,
            "Mbit/s",
        ),
        ("Round trip of a small message", limits.loopback_us, "µs"),
    ]
    .into_iter()
    .filter(|(_, value, _)| *value > 0.0)
    .map(|(name, value, unit)| {
        let value = number(value);
        format!("<tr><td class=\"l\">{name}</td><td>{value}</td><td class=\"l\">{unit}</td></tr>")
    })
    .collect();
    format!(
        "<div><div class=\"scroll\"><table><thead><tr><th class=\"l\">This machine alone</th><th>at most</th><th></th></tr></thead><tbody>{rows}\
         </tbody></table></div><p class=\"dim small\">Measured before the run. Commits are shared by many units, so a bar there can \
         pass the limit of commits made one after the other.</p></div>"
    )
}
