//! The final output of a run: a table for each scenario, or a line of JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use perf::report::{Table, number};
use perf::results::{Distance, Estimate, Point, Report, Scenario};
use serde::Serialize;

/// Maximum number of lines shown of one multi-line message.
const LINES_MAX: usize = 4;
/// Maximum number of findings shown for one scenario. The report has all.
const FINDINGS_MAX: usize = 8;

/// Returns the results as text, scenario by scenario. `bold` highlights headings with terminal escapes.
pub fn tables(report: &Report, bold: bool) -> String {
    let mut text = String::new();
    for scenario in &report.scenarios {
        text.push_str(&format!("\n{}: {}\n", scenario.name, scenario.title));
        if !scenario.points.is_empty() {
            text.push_str(&table(scenario, bold));
        }
        if let Some(distance) = distance(scenario) {
            text.push_str(&format!("{distance}\n"));
        }
        text.push_str(&format!("{}\n", audit(scenario)));
        if let Some(failure) = &scenario.failure {
            text.push_str(&format!("Went no further: {failure}\n"));
        }
        for finding in scenario.findings.iter().take(FINDINGS_MAX) {
            text.push_str(&format!("{}: {}\n", finding.code, short(&finding.message)));
        }
    }
    text.push('\n');
    text
}

/// Columns of every table: a metric's name and its heading.
const COLUMNS: [(&str, &str); 4] = [
    ("rate_per_s", "/s"),
    ("p50_ms", "p50 ms"),
    ("p95_ms", "p95 ms"),
    ("p99_ms", "p99 ms"),
];
/// Marks of published lines, whose sources are listed below the table.
const MARKS: [&str; 9] = ["¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"];

/// Returns the table, and below it the sources of the published figures.
fn table(scenario: &Scenario, bold: bool) -> String {
    // The main metric and the metrics with published figures have columns too.
    let mut metrics = COLUMNS
        .map(|(name, heading)| (name, heading.to_owned()))
        .to_vec();
    let published = scenario.published.iter().map(|line| line.metric.as_str());
    for name in std::iter::once(scenario.main_metric.as_str()).chain(published) {
        if !name.is_empty() && metrics.iter().all(|(known, _)| *known != name) {
            metrics.push((name, name.replace("_ms", " ms")));
        }
    }
    let lines = || scenario.published.iter().zip(MARKS);
    let mut headings: Vec<&str> = vec!["point"];
    headings.extend(metrics.iter().map(|(_, heading)| heading.as_str()));
    headings.insert(2, "±");
    headings.push("failed");
    headings.extend(lines().map(|(_, mark)| mark));
    let mut table = Table::new(&headings, bold);
    for point in &scenario.points {
        let metric = |name: &str| point.summary.metrics.get(name);
        let figure = |name: &str| metric(name).map_or("-".to_owned(), |it| number(it.value));
        let failed: u64 = point
            .stretches
            .iter()
            .map(perf::results::Stretch::failed)
            .sum();
        let mut row = vec![place(point)];
        row.extend(metrics.iter().map(|(name, _)| figure(name)));
        row.insert(2, metric("rate_per_s").and_then(margin).unwrap_or_default());
        row.push(failed.to_string());
        for (line, _) in lines() {
            let value = line.value_at(&point.at);
            row.push(value.map_or("-".to_owned(), number));
        }
        table.row(row);
    }
    let mut text = table.to_string();
    for (line, mark) in lines() {
        text.push_str(&format!(
            "{mark} published: {}, {}\n",
            line.label, line.metric
        ));
    }
    text
}

/// Returns how close the busiest point came to the machine's limits. Empty if the limits were not measured.
fn distance(scenario: &Scenario) -> Option<String> {
    let point = perf::machine::busiest(&scenario.points)?;
    let of = |one: &Distance| {
        let (used, limit) = (number(one.used), number(one.limit));
        format!(
            "{} {used} of {limit} ({:.0} %)",
            one.what,
            one.share() * 100.0
        )
    };
    let of: Vec<String> = point.distances.iter().map(of).collect();
    let at = match point.at.is_empty() {
        true => String::new(),
        false => format!(" at {}", place(point)),
    };
    (!of.is_empty()).then(|| format!("Of this machine's limits{at}: {}", of.join("; ")))
}

/// Returns half the width of an interval.
fn margin(estimate: &Estimate) -> Option<String> {
    let (low, high) = (estimate.low?, estimate.high?);
    Some(number((high - low) / 2.0))
}

fn place(point: &Point) -> String {
    if point.at.is_empty() {
        return "all".to_owned();
    }
    let cases: Vec<&str> = point.at.iter().map(|case| case.name.as_str()).collect();
    cases.join(", ")
}

/// Returns the first few lines. The report has all.
pub fn short(words: &str) -> String {
    let mut lines = words.lines();
    let first: Vec<&str> = lines.by_ref().take(LINES_MAX).collect();
    let left = lines.count();
    let mut text = first.join("\n");
    if left > 0 {
        text.push_str(&format!("\n  ({left} more lines in the report)"));
    }
    text
}

fn audit(scenario: &Scenario) -> String {
    let audits: Vec<_> = scenario
        .points
        .iter()
        .flat_map(|point| &point.audits)
        .collect();
    if let Some(bad) = audits.iter().find(|audit| !audit.clean) {
        return format!("Audit FAILED: {}", short(&bad.words));
    }
    let checked: u64 = audits.iter().map(|audit| audit.transactions).sum();
    match audits.len() {
        0 => "Audit: nothing was measured".to_owned(),
        1 => format!("Audit clean: {}", audits[0].words),
        count => format!("{count} audits clean, {checked} acknowledged transactions"),
    }
}

/// The result for programs, in one line.
#[derive(Debug, Serialize)]
pub struct Outcome<'a> {
    /// The folder of the report.
    out: String,
    seconds: f64,
    interrupted: bool,
    /// Whether all scenarios ran to their end without faults.
    good: bool,
    scenarios: Vec<ScenarioOutcome<'a>>,
}

#[derive(Debug, Serialize)]
struct ScenarioOutcome<'a> {
    name: &'a str,
    full: bool,
    good: bool,
    failure: Option<&'a str>,
    main_metric: &'a str,
    /// Whether every audit was clean; `None` if there was none.
    audit_clean: Option<bool>,
    findings: BTreeSet<&'a str>,
    points: Vec<PointOutcome<'a>>,
}

#[derive(Debug, Serialize)]
struct PointOutcome<'a> {
    /// Case by axis.
    at: BTreeMap<&'a str, &'a str>,
    metrics: &'a BTreeMap<String, Estimate>,
    /// How close it came to the machine's limits.
    distances: &'a [Distance],
}

/// Returns the [`Outcome`] of a report.
pub fn json<'a>(report: &'a Report, out: &Path) -> Outcome<'a> {
    let scenarios = report.scenarios.iter().map(|scenario| {
        let audits = || scenario.points.iter().flat_map(|point| &point.audits);
        ScenarioOutcome {
            name: &scenario.name,
            full: scenario.full,
            good: scenario.is_good(),
            failure: scenario.failure.as_deref(),
            main_metric: &scenario.main_metric,
            audit_clean: audits().next().map(|_| audits().all(|audit| audit.clean)),
            findings: scenario
                .findings
                .iter()
                .map(|finding| finding.code.as_str())
                .collect(),
            points: scenario.points.iter().map(point).collect(),
        }
    });
    let scenarios: Vec<ScenarioOutcome<'a>> = scenarios.collect();
    Outcome {
        out: out.display().to_string(),
        seconds: report.seconds,
        interrupted: report.interrupted,
        good: scenarios.iter().all(|scenario| scenario.good),
        scenarios,
    }
}

fn point(point: &Point) -> PointOutcome<'_> {
    let at = point.at.iter();
    PointOutcome {
        at: at
            .map(|case| (case.axis.as_str(), case.name.as_str()))
            .collect(),
        metrics: &point.summary.metrics,
        distances: &point.distances,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf::results::{AuditResult, CaseResult, Published, Summary};

    fn report() -> Report {
        let estimate = |value| Estimate {
            value,
            low: Some(value - 2.0),
            high: Some(value + 2.0),
        };
        let metrics = [("rate_per_s", 100.0), ("knee_per_s", 90.0)];
        let metrics = metrics.map(|(name, value)| (name.to_owned(), estimate(value)));
        let point = Point {
            at: vec![CaseResult {
                axis: "parties".into(),
                name: "4".into(),
                number: Some(4.0),
            }],
            summary: Summary {
                metrics: metrics.into(),
            },
            audits: vec![AuditResult {
                clean: true,
                words: "all agree".into(),
                transactions: 7,
            }],
            distances: vec![Distance {
                what: "durable commits a second".into(),
                used: 50.0,
                limit: 200.0,
                note: "one after the other".into(),
                can_pass: true,
            }],
            ..Point::default()
        };
        let scenario = Scenario {
            name: "swap".into(),
            title: "Swaps".into(),
            main_metric: "knee_per_s".into(),
            points: vec![point],
            published: vec![Published {
                label: "Other 1.0".into(),
                metric: "rate_per_s".into(),
                values: [("4".to_owned(), 33.0)].into(),
                ..Published::default()
            }],
            ..Scenario::default()
        };
        Report {
            scenarios: vec![scenario],
            ..Report::default()
        }
    }

    #[test]
    fn a_table_shows_rate_margin_main_metric_published_and_audit() {
        let text = tables(&report(), false);
        for words in [
            "swap: Swaps",
            "knee_per_s",
            "¹ published: Other 1.0, rate_per_s",
            "Audit clean: all agree",
            "Of this machine's limits at 4: durable commits a second 50 of 200 (25 %)",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        let row = text
            .lines()
            .find(|line| line.starts_with("4 "))
            .expect("a row");
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(cells[..3], ["4", "100", "2"], "{row}");
        assert_eq!(cells[cells.len() - 1], "33", "{row}");
        let mut bad = report();
        bad.scenarios[0].points[0].audits[0].clean = false;
        assert!(tables(&bad, false).contains("Audit FAILED"));
    }

    #[test]
    fn the_line_of_json_has_every_point() {
        let report = report();
        let value = serde_json::to_value(json(&report, Path::new("x"))).expect("JSON");
        assert_eq!(value["good"], true);
        let point = &value["scenarios"][0]["points"][0];
        assert_eq!(point["at"]["parties"], "4");
        assert_eq!(point["metrics"]["rate_per_s"]["high"], 102.0);
        assert_eq!(point["distances"][0]["limit"], 200.0);
    }
}
