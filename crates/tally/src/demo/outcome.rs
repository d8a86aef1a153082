//! The demo's final output.

use std::fmt;
use std::io::IsTerminal;

use perf::report::{Table, number};
use perf::results::{AuditResult, Point, Report, Scenario, Stretch};

/// The kinds of work, in the order of the scenarios.
const WORKS: [&str; 3] = ["Issue", "Issue + Pay", "Issue + Repeated Pay"];
/// The begin of the names of published figures that the table shows.
const ENTERPRISE: &str = "Corda Enterprise";
const OPEN_SOURCE: &str = "Corda Open Source";

/// One kind of work.
struct Row {
    work: &'static str,
    stretch: Stretch,
    enterprise_per_s: Option<f64>,
    open_source_per_s: Option<f64>,
}

impl Row {
    /// Makes a row of a scenario with one point and one stretch, which is empty if the scenario failed before it.
    fn of(work: &'static str, scenario: &Scenario) -> Self {
        let point = scenario.points.first().cloned().unwrap_or_default();
        Self {
            work,
            enterprise_per_s: published(scenario, &point, ENTERPRISE),
            open_source_per_s: published(scenario, &point, OPEN_SOURCE),
            stretch: point.stretches.into_iter().next().unwrap_or_default(),
        }
    }

    fn ms(&self, share: f64) -> f64 {
        self.stretch.latencies.quantile_ms(share)
    }
}

/// Returns the published figure for a point: that of the first line whose name begins like this.
fn published(scenario: &Scenario, point: &Point, name: &str) -> Option<f64> {
    let mut lines = scenario.published.iter();
    let line = lines.find(|line| line.label.starts_with(name))?;
    line.value_at(&point.at)
}

/// The demo's results.
pub struct DemoOutcome {
    /// A row for each kind of work.
    rows: Vec<Row>,
    /// The audits, one for each network.
    audits: Vec<AuditResult>,
    /// Largest resident memory of a node, in megabytes (10^6).
    rss_mb_max: f64,
    /// Cores of this machine.
    cores: u32,
}

impl DemoOutcome {
    /// Takes the results from a report.
    pub fn of(report: &Report) -> Self {
        let points = || report.scenarios.iter().flat_map(|one| &one.points);
        let memory = points().filter_map(|point| point.summary.metrics.get("rss_mb_max"));
        let rows = WORKS.into_iter().zip(&report.scenarios);
        Self {
            rows: rows
                .map(|(work, scenario)| Row::of(work, scenario))
                .collect(),
            audits: points().flat_map(|point| point.audits.clone()).collect(),
            rss_mb_max: memory.map(|memory| memory.value).fold(0.0, f64::max),
            cores: report.machine.cores,
        }
    }

    /// Returns one line of JSON for programs.
    pub fn json(&self) -> serde_json::Value {
        let rows: Vec<serde_json::Value> = self
            .rows
            .iter()
            .map(|row| {
                serde_json::json!({
                    "work": row.work,
                    "per_s": row.stretch.per_s(),
                    "delivered": row.stretch.done,
                    "p50_ms": row.ms(0.5),
                    "p95_ms": row.ms(0.95),
                    "p99_ms": row.ms(0.99),
                    "errors": row.stretch.failed(),
                    "enterprise_per_s": row.enterprise_per_s,
                    "open_source_per_s": row.open_source_per_s,
                })
            })
            .collect();
        let faulty = self.audits.iter().filter(|audit| !audit.clean);
        let findings: Vec<&str> = faulty.map(|audit| audit.words.as_str()).collect();
        serde_json::json!({
            "rows": rows,
            "audit": { "clean": findings.is_empty(), "findings": findings },
            "rss_mb_max": self.rss_mb_max,
            "cores": self.cores,
        })
    }
}

impl DemoOutcome {
    fn audit(&self) -> String {
        let words = self.audits.iter().map(|audit| audit.words.as_str());
        words.collect::<Vec<&str>>().join("; ")
    }
}

impl fmt::Display for DemoOutcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colour = std::io::stdout().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let here = format!("here, {} cores, /s", self.cores);
        let mut table = Table::new(
            &[
                "work",
                &here,
                "p50 ms",
                "p95 ms",
                "p99 ms",
                "errors",
                "Corda Enterprise¹",
                "open source²",
            ],
            colour,
        );
        let reference = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
        for row in &self.rows {
            table.row([
                row.work.to_owned(),
                number(row.stretch.per_s()),
                number(row.ms(0.5)),
                number(row.ms(0.95)),
                number(row.ms(0.99)),
                row.stretch.failed().to_string(),
                reference(row.enterprise_per_s),
                reference(row.open_source_per_s),
            ]);
        }
        write!(out, "{table}")?;
        writeln!(
            out,
            "\nFlows delivered a second: recorded by every participant, synced to disk. Notary, both banks and the load share the cores.\n\
             ¹ published: 4.0, node on 24 cores with a database machine; Issue + Pay: 3.0 on 32 cores\n\
             ² Corda Open Source 4.10, measured on two cores as here\n\
             Audit: {}. Largest node: {} MB resident at its peak.",
            self.audit(),
            number(self.rss_mb_max)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf::results::{CaseResult, Published};

    #[test]
    fn a_row_has_the_first_published_figure_of_its_point() {
        let line = |label: &str, case: &str, value| Published {
            label: label.to_owned(),
            values: [(case.to_owned(), value)].into(),
            ..Published::default()
        };
        let mut scenario = Scenario {
            published: vec![
                line("Corda Enterprise 4.0", "1", 617.0),
                line("Corda Enterprise 3.3", "1", 301.0),
                line("Corda Open Source 4.10", "1", 14.8),
            ],
            ..Scenario::default()
        };
        for (states, expected) in [("1", (Some(617.0), Some(14.8))), ("40", (None, None))] {
            let at = CaseResult {
                name: states.to_owned(),
                ..CaseResult::default()
            };
            scenario.points = vec![Point {
                at: vec![at],
                ..Point::default()
            }];
            let row = Row::of("Issue", &scenario);
            let found = (row.enterprise_per_s, row.open_source_per_s);
            assert_eq!(found, expected, "{states}");
        }
    }
}
