//! Shows the share of the machine's limits that the point of the headline figure used.

use super::figure::figure;
use super::tables::table;
use crate::report::chart::{Bar, bars};
use crate::report::digest::{Digest, NEAR};
use crate::report::figures::figure as number;
use crate::results::{Distance, Limits, Report};

/// Returns the panel; nothing if the limits were not measured.
pub fn section(report: &Report, digest: &Digest) -> String {
    let bar = |limit: &Distance| Bar {
        share: limit.share(),
        words: format!("{} of {}", number(limit.used), number(limit.limit)),
        name: limit.what.clone(),
    };
    let list: Vec<Bar> = digest.limits.iter().map(bar).collect();
    if list.is_empty() {
        return String::new();
    }
    let svg = bars("How near the machine's limits were", &list);
    let at = match digest.at.as_str() {
        "" => "at the headline figure".to_owned(),
        at => format!("at the headline figure, {at}"),
    };
    let near = digest.limits.iter().filter(|limit| limit.share() >= NEAR);
    let near = match near.count() {
        0 => "none was near".to_owned(),
        1 => "1 was near its end".to_owned(),
        count => format!("{count} were near their end"),
    };
    let about = format!("{at}: {near}; everything shares this machine");
    format!(
        "<h3>Limits at the headline figure</h3><div class=\"charts\">{}{}</div>",
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
        "<div>{}<p class=\"dim small\">Measured before the run, each alone. A bar can pass its limit: the limits of \
         signatures are one core's, and commits of several nodes run side by side. If a bar passes its limit several times, the machine \
         was probably busy when the limit was measured.</p></div>",
        table(
            "<th class=\"l\">This machine alone</th><th>at most</th>",
            &rows
        )
    )
}
