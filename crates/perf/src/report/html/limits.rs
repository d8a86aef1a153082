//! Shows the share of the machine's limits that the busiest point used.

use super::figure::figure;
use crate::machine::{busiest, distance};
use crate::report::chart::{Bar, bars};
use crate::report::figures::figure as number;
use crate::report::headline::place;
use crate::report::units::Metric;
use crate::results::{Limits, Point, Report, Scenario};

/// Returns the chart; nothing if nothing was counted.
pub fn section(report: &Report, scenario: &Scenario) -> String {
    let rate = |point: &Point| {
        let rate = point.summary.metrics.get("rate_per_s");
        rate.map_or(0.0, |estimate| estimate.value)
    };
    let Some(point) = busiest(&scenario.points) else {
        return String::new();
    };
    let list: Vec<Bar> = distance(point, &report.machine)
        .into_iter()
        .filter(|distance| distance.share().is_finite())
        .map(|distance| Bar {
            share: distance.share(),
            words: format!("{} of {}", number(distance.used), number(distance.limit)),
            name: distance.what,
        })
        .collect();
    if list.is_empty() {
        return String::new();
    }
    let svg = bars("How near the machine's limits were", &list);
    let at = match place(point) {
        place if place.is_empty() => String::new(),
        place => format!(", {place}"),
    };
    let rate = Metric::named("rate_per_s").with_unit(rate(point));
    let about = format!("at {rate}{at}; everything shares this machine");
    format!(
        "<h3>Distance to the machine's limits</h3><div class=\"charts\">{}{}</div>",
        figure("How much of the machine was used", &about, &svg, &[]),
        explained(report.machine.limits.as_ref())
    )
}

/// Returns the table of the limits.
fn explained(limits: Option<&Limits>) -> String {
    let Some(limits) = limits else {
        return String::new();
    };
    let files = limits.files.unwrap_or_default();
    let rows: String = [
        ("Signatures made, one core", limits.signs_per_s, "/s"),
        (
            "Signatures checked in batches, one core",
            limits.checks_per_s,
            "/s",
        ),
        ("SHA-256, one core", limits.hash_mb_per_s, " MB/s"),
        (
            "Durable commits of 4 KiB in a row",
            limits.commits_per_s,
            "/s",
        ),
        ("One durable commit, median", limits.commit_us, " µs"),
        (
            "One TLS connection, both ends here",
            limits.tls_mbit_per_s,
            " Mbit/s",
        ),
        ("Round trip of a small message", limits.loopback_us, " µs"),
        ("Files written and synced", files.disk_mb_per_s, " MB/s"),
        (
            "Files through TLS, hashed, written and synced",
            files.together_mb_per_s,
            " MB/s",
        ),
    ]
    .into_iter()
    .filter(|(_, value, _)| *value > 0.0)
    .map(|(name, value, unit)| {
        let value = number(value);
        format!("<tr><td class=\"w\">{name}</td><td>{value}{unit}</td></tr>")
    })
    .collect();
    format!(
        "<div><div class=\"scroll\"><table><thead><tr><th class=\"l\">This machine alone</th><th>at most</th></tr></thead><tbody>{rows}\
         </tbody></table></div><p class=\"dim small\">Measured before the run, each alone. A bar can pass its limit: the limits of \
         signatures are one core's, and commits of several nodes run side by side.</p></div>"
    )
}
