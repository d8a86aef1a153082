//! One scenario's section of the page.

use super::frame::{Facts, banner, prose, words};
use super::timeline::{self, Times};
use super::{
    chain, digest, each_unit, failures, growth, limits, point, published, resources, sweep, tables,
};
use crate::report::chart::escape;
use crate::report::digest::{Digest, Standing};
use crate::report::figures::{beyond, date, duration};
use crate::report::headline::{headline, is_repeated, main_metric, place};
use crate::report::units::Metric;
use crate::results::{AuditResult, Finding, Point, Report, Scenario};
use crate::run::AUDIT_FAILED;

/// Failed audits that are told at the top.
const AUDITS_MAX: usize = 3;
/// Findings shown of a scenario.
const FINDINGS_MAX: usize = 100;
/// Letters of a scenario's source that are shown; the JSON has all of it.
const SOURCE_MAX: usize = 65_536;

/// Returns the class of a card or badge of this status; empty for a good one.
pub fn class(standing: Standing) -> &'static str {
    match standing {
        Standing::AuditFailed | Standing::Unfinished => " bad",
        Standing::Unaudited | Standing::Findings(_) => " warn",
        Standing::Good => "",
    }
}

/// Returns the status as a badge.
pub fn badge(standing: Standing) -> String {
    let (class, text) = (class(standing), standing.words());
    format!("<span class=\"badge{class}\">{text}</span>")
}

/// Its title; its name if it has none.
pub fn title(scenario: &Scenario) -> &str {
    match scenario.title.trim() {
        "" => &scenario.name,
        title => title,
    }
}

/// Returns the whole section.
pub fn section(report: &Report, scenario: &Scenario, digest: &Digest, at: usize) -> String {
    let standing = digest.standing;
    let bad = if standing.is_bad() { " bad" } else { "" };
    let size = if scenario.full {
        "published size"
    } else {
        "small size"
    };
    let mut out = format!(
        "<section class=\"scenario{bad}\" id=\"s{at}\"><div class=\"title\"><h2>{}</h2>{}<span class=\"badge plain\">{size}</span></div>",
        words(title(scenario), 200),
        badge(standing)
    );
    out.push_str(&digest::opening(&digest.opening));
    if !scenario.about.trim().is_empty() {
        let about = prose(scenario.about.trim(), 2000);
        out.push_str(&format!("<p class=\"dim\">{about}</p>"));
    }
    out.push_str(&warnings(scenario));
    out.push_str(&tiles(scenario));
    out.push_str(&sweep::charts(scenario));
    out.push_str(&growth::section(scenario, digest));
    out.push_str(&each_unit::charts(scenario));
    out.push_str(&failures::section(scenario));
    out.push_str(&published::section(scenario));
    out.push_str(&digest::conditions(&digest.conditions, &format!("s{at}c")));
    out.push_str(&limits::section(report, digest));
    out.push_str(&digest::costs(&digest.costs, &digest.at));
    out.push_str(&chain::section(scenario));
    let times = Times::of(scenario, at);
    out.push_str(times.hidden());
    out.push_str(&timeline::section(scenario, &times));
    out.push_str(&resources::section(scenario, &times));
    out.push_str("<h3>Everything in figures</h3>");
    out.push_str(&tables::metrics(scenario));
    out.push_str(&tables::faults(scenario));
    out.push_str(&tables::audits(scenario));
    out.push_str(&point::details(scenario));
    out.push_str(&resources::own_metrics(scenario, &times));
    out.push_str(&circumstances(report, scenario));
    out + "</section>"
}

/// Returns failure, failed audits and findings.
fn warnings(scenario: &Scenario) -> String {
    let mut out = String::new();
    if let Some(failure) = &scenario.failure {
        let failure = prose(failure, 2000);
        out.push_str(&banner(
            true,
            &format!("<b>It did not run to its end.</b> {failure}"),
        ));
    }
    out.push_str(&failed_audits(scenario));
    // Failed audits stand in red already.
    let findings = scenario.findings.iter();
    let findings = findings.filter(|finding| finding.code != AUDIT_FAILED);
    let findings: Vec<&Finding> = findings.take(FINDINGS_MAX).collect();
    if !findings.is_empty() {
        let shown = findings.iter();
        let list: String = shown
            .map(|finding| {
                let (code, message) = (words(&finding.code, 80), prose(&finding.message, 1000));
                format!("<li><code>{code}</code> {message}</li>")
            })
            .collect();
        out.push_str(&banner(
            false,
            &format!("<b>To know before believing it</b><ul>{list}</ul>"),
        ));
    }
    out
}

/// Returns the first findings of each failed audit.
fn failed_audits(scenario: &Scenario) -> String {
    let points = scenario.points.iter();
    let bad: Vec<(&Point, &AuditResult)> = points
        .flat_map(|point| point.audits.iter().map(move |audit| (point, audit)))
        .filter(|(_, audit)| !audit.clean)
        .collect();
    if bad.is_empty() {
        return String::new();
    }
    let list: String = bad
        .iter()
        .take(AUDITS_MAX)
        .map(|(point, audit)| {
            let place = match place(point) {
                place if place.is_empty() => String::new(),
                place => format!("After {}: ", words(&place, 200)),
            };
            format!(
                "<li class=\"lines\">{place}{}</li>",
                words(&audit.words, 400)
            )
        })
        .collect();
    let more = match beyond(bad.len(), AUDITS_MAX) {
        0 => String::new(),
        count => format!("<li>{count} more audits failed; the table of audits has them.</li>"),
    };
    let inner = format!(
        "<b>The audit failed.</b> No figure of this scenario stands for anything.<ul>{list}{more}</ul>"
    );
    banner(true, &inner)
}

/// Returns the main figures of a scenario without a sweep.
fn tiles(scenario: &Scenario) -> String {
    let [point] = scenario.points.as_slice() else {
        return String::new();
    };
    let main = main_metric(scenario);
    let mut names = vec![main];
    for name in [
        "rate_per_s",
        "p50_ms",
        "p95_ms",
        "p99_ms",
        "to_block_p50_s",
        "to_block_p95_s",
        "block_s",
        "fork_depth_max",
        "chain_bytes_per_tx",
        "error_share",
        "states_per_s",
        "file_mb_per_s",
        "disk_bytes_per_unit",
    ] {
        if name != main && !is_repeated(scenario, name) {
            names.push(name);
        }
    }
    let tiles: String = names
        .into_iter()
        .filter_map(|name| {
            point
                .summary
                .metrics
                .get(name)
                // A tile of nothing, such as no errors, would say nothing.
                .filter(|estimate| estimate.value != 0.0 || name == main)
                .map(|estimate| (Metric::named(name), estimate))
        })
        .map(|(metric, estimate)| {
            let range = metric.range(estimate);
            let margin = metric.margin(estimate).filter(|_| range.is_none());
            let margin = margin.map_or(String::new(), |margin| {
                format!(" <small class=\"dim\">± {}</small>", escape(&margin))
            });
            let heading = words(&metric.heading(), 60);
            let value = range.unwrap_or_else(|| metric.figure(estimate.value));
            let value = escape(&value);
            format!("<div class=\"tile\"><span>{heading}</span><b>{value}</b>{margin}</div>")
        })
        .collect();
    match tiles.is_empty() {
        true => String::new(),
        false => format!("<div class=\"tiles\">{tiles}</div>"),
    }
}

/// Returns the data needed to run it again.
fn circumstances(report: &Report, scenario: &Scenario) -> String {
    let mut facts = Facts::new();
    facts.add("Scenario", &scenario.name);
    facts.add("Seed", &scenario.seed.to_string());
    facts.add("Begun", &date(scenario.started_unix_ms));
    facts.add(
        "Took with preparation and audit",
        &duration(scenario.seconds),
    );
    facts.add("Version", &report.version);
    let name = words(&scenario.name, 80);
    if let Some(headline) = headline(scenario) {
        facts.add("Repeats", &headline.point.stretches.len().to_string());
    }
    format!(
        "<details><summary>The exact scenario<span>seed {}</span></summary><div>{}<p class=\"small\">To run it again, save the text \
         below as <code>{name}.toml</code>, then: <code>tally lab run {name}.toml</code></p><pre>{}</pre></div></details>",
        scenario.seed,
        facts.end(),
        words(&scenario.source, SOURCE_MAX)
    )
}
