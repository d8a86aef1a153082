//! Runs the shipped scenarios of the laboratory into one report, and prints their main figures as one line of JSON.

use std::process::{Output, Stdio};

use anyhow::{Context, Result, bail};
use perf::plan::SHIPPED;
use serde_json::{Map, Value, json};

use crate::cargo::cargo;
use crate::metadata;

/// Scenarios that run only by name: those of chains and of files take gigabytes, and as long as all others together. They also run in
/// `make demo-chain`, `make bench-chain` and `make bench-attachments`.
const BY_NAME: [&str; 2] = ["chain", "attachments"];
/// The folder of the report.
const OUT: &str = "target/lab";

/// Runs the chore for `names`, shipped scenarios or files; without names, for all shipped ones of the notarised ledger. `--json`
/// prints the main figures as one line of JSON, and also runs the laboratory's self-test. `--full` runs the scenarios at their published size.
pub fn run(arguments: &[String]) -> Result<()> {
    let (flags, names): (Vec<&str>, Vec<&str>) = arguments
        .iter()
        .map(String::as_str)
        .partition(|argument| argument.starts_with("--"));
    if let Some(flag) = flags
        .iter()
        .find(|flag| !["--json", "--full"].contains(flag))
    {
        bail!("unknown option {flag}; usage: cargo xtask lab [--json] [--full] [NAME|FILE...]");
    }
    let json = flags.contains(&"--json");
    let mut command = vec!["run", "--out", OUT];
    if flags.contains(&"--full") {
        command.push("--full");
    }
    if json {
        command.push("--json");
    }
    if names.is_empty() {
        let ledger = SHIPPED.iter().map(|shipped| shipped.name);
        command.extend(ledger.filter(|name| !BY_NAME.iter().any(|kind| name.starts_with(kind))));
    } else {
        command.extend(&names);
    }
    let ran = lab(&command, json)?;
    if !json {
        return good(&ran, "run");
    }
    let mut line = figures(&last_line(&ran).context("the last line of tally lab run")?);
    let tried = lab(&["selftest", "--json"], true)?;
    let selftest = last_line(&tried).context("the last line of tally lab selftest")?;
    line.insert(
        "aa_false_findings".into(),
        selftest["aa_false_findings"].clone(),
    );
    println!("{}", Value::Object(line));
    // The figures are printed even after a failure: they show which scenarios passed.
    good(&ran, "run").and_then(|()| good(&tried, "selftest"))
}

/// Runs `tally lab`, and captures its standard output on request.
fn lab(arguments: &[&str], read: bool) -> Result<Output> {
    let out = if read {
        Stdio::piped()
    } else {
        Stdio::inherit()
    };
    cargo()
        .args(["run", "--release", "--locked", "--quiet"])
        .args(["--package", "tally", "--", "lab"])
        .args(arguments)
        .current_dir(metadata::root())
        .stdout(out)
        .stderr(Stdio::inherit())
        .spawn()
        .and_then(std::process::Child::wait_with_output)
        .context("cargo run does not start")
}

fn good(output: &Output, name: &str) -> Result<()> {
    if !output.status.success() {
        bail!("tally lab {name} failed ({})", output.status);
    }
    Ok(())
}

fn last_line(output: &Output) -> Result<Value> {
    let text = std::str::from_utf8(&output.stdout).context("the output is not UTF-8")?;
    let line = text.lines().last().context("nothing was printed")?;
    serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))
}

/// Returns the main figure of each scenario, by a name that contains its unit: a number, a map by case, or nested maps for
/// several axes.
fn figures(ran: &Value) -> Map<String, Value> {
    let mut line = Map::new();
    let scenarios = ran["scenarios"].as_array().map_or(&[][..], Vec::as_slice);
    for scenario in scenarios {
        // A scenario without these fields belongs to no known figure.
        let name = scenario["name"].as_str().unwrap_or_default();
        let metric = scenario["main_metric"].as_str().unwrap_or_default();
        match name {
            "swap-latency" => {
                for (figure, variant) in [
                    ("swap_latency_ms", "parallel, bulk"),
                    ("swap_latency_sequential_ms", "sequential, bulk"),
                    ("swap_latency_one_by_one_ms", "sequential, one by one"),
                ] {
                    let found = by_case(scenario, metric, &|at| at["variant"] == variant);
                    line.insert(figure.into(), found);
                }
            }
            "swap-throughput" => {
                line.insert("swap_per_s".into(), by_case(scenario, metric, &|_| true));
            }
            "generator" => {
                line.insert(metric.into(), by_case(scenario, metric, &|_| true));
            }
            _ => {
                let unit = match metric {
                    "rate_per_s" => "per_s",
                    other => other,
                };
                let figure = format!("{}_{unit}", name.replace('-', "_"));
                line.insert(figure, by_case(scenario, metric, &|_| true));
            }
        }
    }
    let bad = |scenario: &&Value| scenario["good"] != true;
    let bad: Vec<&Value> = scenarios
        .iter()
        .filter(bad)
        .map(|scenario| &scenario["name"])
        .collect();
    line.insert("lab_failed".into(), json!(bad));
    line.insert("lab_seconds".into(), ran["seconds"].clone());
    line
}

/// Returns a metric of the points that `of` accepts: a number if no axis distinguishes them, else a map by the cases of the
/// distinguishing axes, joined with ` / `.
fn by_case(scenario: &Value, metric: &str, of: &dyn Fn(&Value) -> bool) -> Value {
    let points = scenario["points"].as_array().map_or(&[][..], Vec::as_slice);
    let mut map = Map::new();
    let chosen: Vec<&Value> = points.iter().filter(|point| of(&point["at"])).collect();
    // An axis on which all points have the same case distinguishes nothing.
    let differs = |axis: &str| {
        let mut cases = chosen.iter().map(|point| &point["at"][axis]);
        let first = cases.next();
        cases.any(|case| Some(case) != first)
    };
    for point in &chosen {
        let value = figure(&point["metrics"][metric]["value"]);
        let empty = Map::new();
        // A point without axes is the only one.
        let at = point["at"].as_object().unwrap_or(&empty);
        let cases: Vec<&str> = at
            .iter()
            .filter(|(axis, _)| differs(axis))
            .filter_map(|(_, case)| case.as_str())
            .collect();
        if cases.is_empty() {
            return value;
        }
        map.insert(cases.join(" / "), value);
    }
    Value::Object(map)
}

/// Rounds to four digits, which are enough for a readable line.
fn figure(value: &Value) -> Value {
    match value.as_f64() {
        Some(number) if number != 0.0 && number.is_finite() => {
            let digits = 3 - number.abs().log10().floor() as i32;
            let scale = 10f64.powi(digits);
            json!((number * scale).round() / scale)
        }
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at: Value, metric: &str, value: f64) -> Value {
        json!({ "at": at, "metrics": { metric: { "value": value, "low": null, "high": null } } })
    }

    #[test]
    fn every_scenario_has_its_main_figure() {
        let latency = |parties: &str, variant: &str, ms: f64| {
            point(
                json!({ "parties": parties, "variant": variant }),
                "mean_ms",
                ms,
            )
        };
        let ran = json!({ "seconds": 5.5, "scenarios": [
            { "name": "issue", "good": true, "main_metric": "rate_per_s",
              "points": [point(json!({}), "rate_per_s", 8123.456)] },
            { "name": "swap-latency", "good": true, "main_metric": "mean_ms", "points": [
                latency("4", "parallel, bulk", 40.0), latency("4", "sequential, bulk", 90.0),
                latency("4", "sequential, one by one", 200.0), latency("10", "parallel, bulk", 100.0),
                latency("10", "sequential, bulk", 300.0), latency("10", "sequential, one by one", 900.0)] },
            { "name": "swap-throughput", "good": true, "main_metric": "rate_per_s", "points": [
                point(json!({ "parties": "2" }), "rate_per_s", 900.0),
                point(json!({ "parties": "4" }), "rate_per_s", 500.0)] },
            { "name": "generator", "good": true, "main_metric": "generator_cpu_cores",
              "points": [point(json!({}), "generator_cpu_cores", 0.12344)] },
            { "name": "threads", "good": false, "main_metric": "rate_per_s", "points": [
                point(json!({ "threads": "1", "flows at once": "4" }), "rate_per_s", 1.0),
                point(json!({ "threads": "2", "flows at once": "4" }), "rate_per_s", 2.0),
                point(json!({ "threads": "2", "flows at once": "8" }), "rate_per_s", 3.0)] },
            { "name": "soak", "good": false, "main_metric": "rate_per_s", "points": [] },
        ] });
        let line = Value::Object(figures(&ran));
        for (name, wanted) in [
            ("issue_per_s", json!(8123.0)),
            ("swap_latency_ms", json!({ "4": 40.0, "10": 100.0 })),
            (
                "swap_latency_sequential_ms",
                json!({ "4": 90.0, "10": 300.0 }),
            ),
            (
                "swap_latency_one_by_one_ms",
                json!({ "4": 200.0, "10": 900.0 }),
            ),
            ("swap_per_s", json!({ "2": 900.0, "4": 500.0 })),
            ("generator_cpu_cores", json!(0.1234)),
            (
                "threads_per_s",
                json!({ "4 / 1": 1.0, "4 / 2": 2.0, "8 / 2": 3.0 }),
            ),
            ("soak_per_s", json!({})),
            ("lab_failed", json!(["threads", "soak"])),
            ("lab_seconds", json!(5.5)),
        ] {
            assert_eq!(line[name], wanted, "{name} of {line}");
        }
    }

    /// Checks that the cases named in the benchmark line exist in the shipped scenarios.
    #[test]
    fn the_variants_of_swap_latency_are_those_that_are_shipped() {
        let text = perf::plan::shipped("swap-latency")
            .expect("it is shipped")
            .text;
        for variant in [
            "parallel, bulk",
            "sequential, bulk",
            "sequential, one by one",
        ] {
            assert!(text.contains(&format!("name = \"{variant}\"")), "{variant}");
        }
    }
}
