//! The demo's final output.

use std::fmt;
use std::io::IsTerminal;

use perf::audit::Verdict;
use perf::load::Window;
use perf::report::{Published, Table, number};
use perf::topology::{Network, Who};

/// One kind of work.
pub struct Row {
    published: Published,
    per_s: f64,
    delivered: usize,
    p50_ms: f64,
    p95_ms: f64,
    p99_ms: f64,
    errors: u64,
    first_error: Option<String>,
}

impl Row {
    /// Makes a row from a window of load.
    pub fn new<D>(published: Published, window: &Window<D>) -> Self {
        Self {
            published,
            per_s: window.per_s(),
            delivered: window.done.len(),
            p50_ms: window.latencies.p50_ms(),
            p95_ms: window.latencies.p95_ms(),
            p99_ms: window.latencies.p99_ms(),
            errors: window.failed(),
            first_error: window
                .faults
                .iter()
                .next()
                .map(|(code, (_, message))| format!("{code}: {message}")),
        }
    }

    /// Returns one line for the running demo.
    pub fn line(&self) -> String {
        let mut line = format!(
            "{:<22} {:>8} /s  {} delivered  p50 {} ms  p99 {} ms",
            self.published.work,
            number(self.per_s),
            number(self.delivered as f64),
            number(self.p50_ms),
            number(self.p99_ms),
        );
        if let Some(error) = &self.first_error {
            line.push_str(&format!("\n    {} failed, such as {error}", self.errors));
        }
        line
    }
}

/// The demo's results.
pub struct DemoOutcome {
    /// A row for each kind of work.
    pub rows: Vec<Row>,
    /// The audit's verdict.
    pub audit: Verdict,
    /// Peak memory of the largest process.
    pub rss_mb_max: f64,
    /// Cores of this machine.
    pub cores: usize,
}

impl DemoOutcome {
    /// Returns one line of JSON for programs.
    pub fn json(&self) -> serde_json::Value {
        let rows: Vec<serde_json::Value> = self
            .rows
            .iter()
            .map(|row| {
                serde_json::json!({
                    "work": row.published.work,
                    "per_s": row.per_s,
                    "delivered": row.delivered,
                    "p50_ms": row.p50_ms,
                    "p95_ms": row.p95_ms,
                    "p99_ms": row.p99_ms,
                    "errors": row.errors,
                    "enterprise_per_s": row.published.enterprise_per_s,
                    "open_source_per_s": row.published.open_source_per_s,
                })
            })
            .collect();
        serde_json::json!({
            "rows": rows,
            "audit": { "clean": self.audit.is_clean(), "findings": self.audit.findings },
            "rss_mb_max": self.rss_mb_max,
            "cores": self.cores,
        })
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
                row.published.work.to_owned(),
                number(row.per_s),
                number(row.p50_ms),
                number(row.p95_ms),
                number(row.p99_ms),
                row.errors.to_string(),
                reference(row.published.enterprise_per_s),
                reference(row.published.open_source_per_s),
            ]);
        }
        write!(out, "{table}")?;
        writeln!(
            out,
            "\nFlows delivered a second: recorded by every participant, synced to disk. Notary, both banks and the load share the cores.\n\
             ¹ published: 4.0, node on 24 cores with a database machine; Issue + Pay: 3.0 on 32 cores\n\
             ² Corda Open Source 4.10, measured on two cores as here\n\
             Audit: {}. Largest process: {} MB resident at its peak.",
            self.audit,
            number(self.rss_mb_max)
        )
    }
}

/// Returns suggestions for a network that stays up.
pub fn what_next(network: &Network) -> String {
    let mut text = format!("\nThe network stays up in {}\n", network.root().display());
    let bank = Who::Bank(0);
    let pids: Vec<String> = network
        .readings()
        .iter()
        .filter_map(|(who, _)| network.pid(*who))
        .map(|pid| pid.to_string())
        .collect();
    text.push_str(&format!(
        "\n  {}\n\nStop it:\n  kill {}\n  rm -r {}\n",
        network.curl(bank, "/v1/balances"),
        pids.join(" "),
        network.root().display()
    ));
    text
}
