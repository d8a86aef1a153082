//! `bench node`: queries of a vault with a million states over a node's API, and the cost of a start over the API.

use serde_json::{Map, Value, json};

use super::BenchArgs;
use super::parts::{Part, at, latency_ms, machine, metric, per_s, rss_mb_max, run as run_all};
use crate::failure::Failure;

/// The number of typical queries, which are the first ones of the scenario.
const TYPICAL: usize = 5;

/// Returns the scenarios.
pub(super) fn parts(arguments: &BenchArgs) -> [Part; 2] {
    let queries = Part::of("vault-queries").with([
        format!("work.states={}", arguments.states),
        format!("run.count={}", arguments.repeats),
        "run.seconds=600".to_owned(),
        "run.repeats=1".to_owned(),
    ]);
    [queries, Part::of("starts").in_windows(arguments)]
}

/// Runs the benchmark. Returns its line.
pub(super) fn run(arguments: &BenchArgs) -> Result<Value, Failure> {
    let (report, [queries, starts]) = run_all("node", parts(arguments))?;
    let mut medians = [Map::new(), Map::new()];
    let mut p99 = Map::new();
    for (number, point) in queries.points.iter().enumerate() {
        let name = &point.at[0].name;
        let point = at(&queries, &[name.as_str()])?;
        let kind = usize::from(number >= TYPICAL);
        medians[kind].insert(name.clone(), json!(latency_ms(point, 0.5)));
        if number < TYPICAL {
            p99.insert(name.clone(), json!(latency_ms(point, 0.99)));
        }
    }
    let [typical, more] = medians;
    // Microseconds of processor time for one flow, of this process and of the node's.
    let cpu = |work: &str, starts_by: &str| -> Result<Value, Failure> {
        let point = at(&starts, &[work, starts_by])?;
        let client = metric(point, "generator_cpu_cores")? * 1e6 / metric(point, "rate_per_s")?;
        let server = metric(point, "cpu_us_per_unit")?;
        Ok(json!({
            "client": client,
            "server": server,
            "total": client + server,
            "per_s": per_s(point),
        }))
    };
    Ok(json!({
        "vault_states": arguments.states,
        "vault_query_ms": typical,
        "vault_query_p99_ms": p99,
        "vault_query_more_ms": more,
        "api_start_overhead_us": cpu("empty", "requests")?,
        "api_start_overhead_stream_us": cpu("empty", "stream")?,
        "issue_cpu_us": cpu("issue", "requests")?,
        "issue_cpu_stream_us": cpu("issue", "stream")?,
        "rss_mb_max": rss_mb_max([&queries]),
        "machine": machine(&report.machine),
    }))
}
