//! `bench attachments`: rates of transactions that refer to files, by size and by location of the bytes, and many large files at
//! once.

use std::collections::BTreeMap;

use perf::results::{Scenario, Stretch, WorkResult};
use serde_json::{Value, json};

use super::BenchArgs;
use super::parts::{Part, at, metric, only, per_s, run as run_all};
use crate::failure::Failure;

/// Seconds within which the large files and the payments are due.
const LARGE_SECONDS: u32 = 10;
/// Payments due meanwhile: twenty a second.
const PAYMENTS: u32 = 20 * LARGE_SECONDS;
/// Megabytes of a large file.
const LARGE_MB: f64 = 50.0;
/// Units of a stretch with files that are already at the receiver.
const PRESENT: u32 = 4_000;

/// Returns the scenarios.
pub(super) fn parts(arguments: &BenchArgs) -> [Part; 4] {
    let repeats = format!("run.repeats={}", arguments.windows.min(3));
    let sizes = |temperature: &str| {
        let only = format!("sweep.temperature.only=['{temperature}']");
        Part::of("attachments-sizes").with([&repeats, &only])
    };
    let files = arguments.large_files;
    let per_s_due = f64::from(files + PAYMENTS) / f64::from(LARGE_SECONDS);
    let large = Part::of("attachments-large").with([
        format!("work.files.weight={files}"),
        format!("work.payments.weight={PAYMENTS}"),
        format!("load.rate={per_s_due}"),
        format!("run.seconds={LARGE_SECONDS}"),
    ]);
    let present = format!("run.count={PRESENT}");
    [
        // Files that all units share are not copied for each stretch.
        sizes("present").with([present.as_str(), "run.warm_up_s=1", "run.fresh=false"]),
        sizes("warm"),
        sizes("cold").with(["sweep.size.only=['1 MB']"]),
        large,
    ]
}

/// Runs the benchmark. Returns its line.
pub(super) fn run(arguments: &BenchArgs) -> Result<Value, Failure> {
    let (report, [present, warm, cold, large]) = run_all("attachments", parts(arguments))?;
    let mut rates = BTreeMap::new();
    for (scenario, temperature) in [(&present, "present"), (&warm, "warm"), (&cold, "cold")] {
        for point in &scenario.points {
            let size = point.at[0].name.as_str();
            let name = format!("{temperature}_{}", size.replace(' ', "").to_lowercase());
            rates.insert(name, per_s(at(scenario, &[size, temperature])?));
        }
        no_failures(scenario)?;
    }
    let limits = report.machine.limits.and_then(|limits| limits.files);
    let limits = limits.unwrap_or_default();
    // Megabytes a second of warm files of 10 MB.
    let moved = rates.get("warm_10mb").copied().unwrap_or_default() * 10.0;
    let point = only(&large)?;
    let sent = &point.stretches[0];
    let (files, payments) = (work(sent, "files"), work(sent, "payments"));
    if files.failed > 0 {
        return Err(failed(&large.name, files.failed));
    }
    Ok(json!({
        "attachment_tx_per_s": rates,
        "attachment_limit_ratio_warm_10mb": moved / limits.least_mb_per_s(),
        "attachment_pipeline_ratio_warm_10mb": moved / limits.together_mb_per_s,
        "attachment_50mb_rss_mb_max": metric(point, "rss_mb_max")?,
        "attachment_50mb": {
            "files": files.done,
            "seconds": sent.seconds,
            "mb_per_s": files.done as f64 * LARGE_MB / sent.seconds,
            "payments": payments.done,
            "payments_failed": payments.failed,
            "payment_p50_ms": payments.latencies.quantile_ms(0.5),
            "payment_p99_ms": payments.latencies.quantile_ms(0.99),
        },
        "limits": limits,
    }))
}

/// Returns the results of one kind of work of a mix.
fn work(stretch: &Stretch, label: &str) -> WorkResult {
    let found = stretch.works.iter().find(|work| work.label == label);
    found.cloned().unwrap_or_default()
}

/// Fails if any unit failed: the rate would be that of other work.
fn no_failures(scenario: &Scenario) -> Result<(), Failure> {
    let stretches = scenario.points.iter().flat_map(|point| &point.stretches);
    match stretches.map(Stretch::failed).sum() {
        0 => Ok(()),
        count => Err(failed(&scenario.name, count)),
    }
}

fn failed(scenario: &str, count: u64) -> Failure {
    let message = format!("{scenario}: {count} units with files failed");
    let hint = "Run the scenario alone: its report counts failures by code.";
    Failure::local("tally.failed", message, hint)
}
