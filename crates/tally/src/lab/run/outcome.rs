//! The final output of a run: a table for each scenario, or a line of JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use perf::report::{
    ConditionRow, Conditions, Cost, Costs, Digest, Metric, Table, bytes, digest, number,
    too_few_samples,
};
use perf::results::{Distance, Estimate, Point, Report, Scenario, Support};
use serde::Serialize;

/// Maximum number of lines shown of one multi-line message.
const LINES_MAX: usize = 4;
/// Maximum number of findings shown for one scenario. The report has all.
const FINDINGS_MAX: usize = 8;

/// Returns the results as text, scenario by scenario. `bold` highlights headings with terminal escapes.
pub fn tables(report: &Report, bold: bool) -> String {
    let mut text = String::new();
    for scenario in &report.scenarios {
        let digest = digest(report, scenario);
        text.push_str(&format!("\n{}: {}\n", scenario.name, scenario.title));
        for (name, words) in digest.opening.parts() {
            text.push_str(&format!("{name}: {words}\n"));
        }
        if !scenario.points.is_empty() {
            text.push_str(&table(scenario, bold));
        }
        text.push_str(&conditions(&digest.conditions, bold));
        text.push_str(&costs(&digest.costs, bold));
        if let Some(limits) = limits(&digest) {
            text.push_str(&format!("{limits}\n"));
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
/// The cell of a figure that was not measured.
const NO_FIGURE: &str = "-";
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
    // A column without a figure at any point says nothing.
    let has_figure = |name: &str| {
        let mut points = scenario.points.iter();
        points.any(|point| figure(point, name) != NO_FIGURE)
    };
    metrics.retain(|(name, _)| *name == "rate_per_s" || has_figure(name));
    let failed = |point: &Point| -> u64 {
        let stretches = point.stretches.iter();
        // A report from a file may state any numbers. No run makes a sum above the largest of them.
        stretches
            .map(perf::results::Stretch::failed)
            .fold(0, u64::saturating_add)
    };
    let any_failed = scenario.points.iter().any(|point| failed(point) > 0);
    let lines = || scenario.published.iter().zip(MARKS);
    let mut headings: Vec<&str> = vec!["point"];
    headings.extend(metrics.iter().map(|(_, heading)| heading.as_str()));
    headings.insert(2, "±");
    headings.extend(any_failed.then_some("failed"));
    headings.extend(lines().map(|(_, mark)| mark));
    let mut table = Table::new(&headings, bold);
    for point in &scenario.points {
        let rate = point.summary.metrics.get("rate_per_s");
        let mut row = vec![place(point)];
        row.extend(metrics.iter().map(|(name, _)| figure(point, name)));
        let has_figure =
            |estimate: &&Estimate| Metric::named("rate_per_s").range(estimate).is_none();
        let margin = rate.filter(has_figure).and_then(margin);
        row.insert(2, margin.unwrap_or_default());
        row.extend(any_failed.then(|| failed(point).to_string()));
        for (line, _) in lines() {
            let value = line.value_at(&point.at);
            row.push(value.map_or(NO_FIGURE.to_owned(), number));
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

/// Returns a point's figure, its interval if the repeats support no single figure, or why there is none.
fn figure(point: &Point, name: &str) -> String {
    match (point.summary.metrics.get(name), point.support(name)) {
        (Some(estimate), _) => {
            let range = Metric::named(name).range(estimate);
            range.unwrap_or_else(|| number(estimate.value))
        }
        (None, Support::TooFew(samples)) => too_few_samples(samples),
        (None, Support::Enough) => NO_FIGURE.to_owned(),
    }
}

/// Returns our conditions next to the published ones, line by line: the texts are too long for columns.
fn conditions(conditions: &Conditions, bold: bool) -> String {
    let Conditions { theirs, rows } = conditions;
    if theirs.is_empty() {
        // The opening paragraph has ours.
        return String::new();
    }
    let mut table = Table::new(&["conditions", "here"], bold);
    let mut text = String::new();
    for ConditionRow { title, ours, .. } in rows.iter().filter(|row| !row.ours.is_empty()) {
        table.row([(*title).to_owned(), ours.clone()]);
    }
    text.push_str(&table.left().to_string());
    for (at, label) in theirs.iter().enumerate() {
        let mut table = Table::new(&["conditions", label], bold);
        for row in rows {
            let words = row.theirs.get(at).cloned().flatten();
            let words = words.unwrap_or_else(|| "not published".to_owned());
            table.row([row.title.to_owned(), words]);
        }
        text.push_str(&table.left().to_string());
    }
    text
}

/// Returns the cost of a unit, node by node; nothing if nothing was counted.
fn costs(costs: &Costs, bold: bool) -> String {
    let Some(total) = &costs.total else {
        return String::new();
    };
    let headings = [
        "cost of a unit",
        "core ms",
        "sent",
        "to clients",
        "written",
        "stored",
    ];
    let mut table = Table::new(&headings, bold);
    let mut row = |name: &str, cost: &Cost| {
        let core_ms = cost
            .core_s_per_unit
            .map(|seconds| number(seconds * 1_000.0));
        let counted = [
            cost.sent_bytes_per_unit,
            cost.to_clients_bytes_per_unit,
            cost.written_bytes_per_unit,
            cost.stored_bytes_per_unit,
        ];
        let mut cells = vec![Some(name.to_owned()), core_ms];
        cells.extend(counted.map(|count| count.map(bytes)));
        let cells = cells.into_iter();
        table.row(cells.map(|cell| cell.unwrap_or_else(|| NO_FIGURE.to_owned())));
    };
    for node in &costs.nodes {
        row(&node.node, &node.cost);
    }
    row("all nodes", total);
    table.to_string()
}

/// Returns how close the headline's point came to the machine's limits; `None` if the limits were not measured.
fn limits(digest: &Digest) -> Option<String> {
    let of = |one: &Distance| {
        let (used, limit) = (number(one.used), number(one.limit));
        format!(
            "{} {used} of {limit} ({:.0} %)",
            one.what,
            one.share() * 100.0
        )
    };
    let of: Vec<String> = digest.limits.iter().map(of).collect();
    let at = match digest.at.as_str() {
        "" => String::new(),
        at => format!(" at {at}"),
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
    /// Opening paragraph, conditions, limits and costs.
    digest: Digest,
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
            digest: digest(report, scenario),
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
                conditions: [("hardware".to_owned(), "24 cores".to_owned())].into(),
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
            "Question: What is the highest rate that meets the latency target?",
            "Answer: 90/s (± 2.0) at parties = 4. Rate was 100/s. Other 1.0 published 33/s, on other hardware and under other conditions (3.03× more here).",
            "Confidence: fair: ",
            "Hardware    24 cores",
            "Of this machine's limits at parties = 4: durable commits a second 50 of 200 (25 %)",
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
        for absent in ["failed", "p99 ms"] {
            assert!(
                !text.contains(absent),
                "a column of nothing: {absent}: {text}"
            );
        }
        let mut bad = report();
        bad.scenarios[0].points[0].audits[0].clean = false;
        assert!(tables(&bad, false).contains("Audit FAILED"));
    }

    #[test]
    fn the_line_of_json_has_every_point() {
        let report = report();
        let value = serde_json::to_value(json(&report, Path::new("x"))).expect("JSON");
        assert_eq!(value["good"], true);
        assert_eq!(value["scenarios"][0]["digest"]["standing"], "good");
        let point = &value["scenarios"][0]["points"][0];
        assert_eq!(point["at"]["parties"], "4");
        assert_eq!(point["metrics"]["rate_per_s"]["high"], 102.0);
        assert_eq!(point["distances"][0]["limit"], 200.0);
    }
}
