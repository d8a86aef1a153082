//! `bench attachments`: rates of transactions that refer to files, by size and by location of the bytes, and many large files at
//! once.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use perf::load::engine::Stop;
use perf::machine;
use perf::plan::{self, Plan};
use perf::report::number;
use perf::results::{FileLimits, Report};
use perf::run::{Event, Events, Options};
use perf::scenario::{LargeFiles, LargeFilesSent, send_large_files};
use perf::topology::{Network, NetworkOptions};
use serde::Serialize;

use super::BenchArgs;
use super::report::line;
use crate::demo::progress::Step;

/// Size of a large file in bytes. The published run failed at this size.
const LARGE_BYTES: u64 = 50_000_000;
/// Payments per second during the transfer of large files.
const PAYMENTS_PER_S: u32 = 20;
/// Outstanding units, as in the published run.
const OUTSTANDING: u32 = 100;

/// The measured points: name in the line, bytes of each file, location of the bytes, and units of each stretch.
const POINTS: [(&str, u64, &str, u32); 5] = [
    ("present_1mb", 1_000_000, "present", 4_000),
    ("present_10mb", 10_000_000, "present", 4_000),
    ("warm_1mb", 1_000_000, "warm", 300),
    ("warm_10mb", 10_000_000, "warm", 200),
    ("cold_1mb", 1_000_000, "cold", 300),
];
/// The point whose bytes per second are compared with the machine's limits.
const BESIDE_LIMIT: &str = "warm_10mb";

/// The fields of the line.
#[derive(Debug, Serialize)]
struct AttachmentReport {
    /// Transactions per second delivered to a receiver who then has the file, with 100 outstanding: present, warm or cold, by
    /// size.
    attachment_tx_per_s: BTreeMap<&'static str, f64>,
    /// Bytes per second of warm files of 10 MB, as a share of the lowest rate among disk, TLS and hash, each alone.
    attachment_limit_ratio_warm_10mb: f64,
    /// The same, as a share of the rate of a bare pipeline of all three.
    attachment_pipeline_ratio_warm_10mb: f64,
    /// Peak resident memory of any process while large files were sent at once, in megabytes (10^6).
    attachment_50mb_rss_mb_max: f64,
    /// The number of large files, and the duration of their transfer.
    attachment_50mb: Large,
    /// The machine's file limits in megabytes per second: the mean of measurements before and after the rates.
    limits: FileLimits,
}

/// Large files sent at once, with concurrent small payments.
#[derive(Debug, Serialize)]
struct Large {
    files: u32,
    seconds: f64,
    mb_per_s: f64,
    payments: usize,
    payments_failed: usize,
    payment_p50_ms: f64,
    payment_p99_ms: f64,
}

/// Runs the benchmark and prints the line.
pub async fn run(arguments: &BenchArgs) -> Result<()> {
    let binary = std::env::current_exe().context("cannot find the executable of this program")?;
    let before = file_limits().await?;
    let plans: Result<Vec<Plan>> = POINTS
        .iter()
        .map(|point| scenario(point, arguments))
        .collect();
    let options = Options {
        binary: binary.clone(),
        workloads: crate::workloads(),
        title: "Attachments".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        full: false,
        keep: false,
        stop: Stop::default(),
        samples: None,
        agents: None,
    };
    let report = perf::run::run(&plans?, &options, &told()).await;
    let mut rates = BTreeMap::new();
    for (name, ..) in POINTS {
        rates.insert(name, rate(&report, name)?);
    }
    let (_, bytes, ..) = POINTS
        .into_iter()
        .find(|(name, ..)| *name == BESIDE_LIMIT)
        .context("it is among them")?;
    let limits = before.mean(&file_limits().await?);
    let moved = rates[BESIDE_LIMIT] * bytes as f64 / 1e6;
    let step = Step::begin(&format!("{} files of 50 MB", arguments.large_files));
    let sent = large(binary, arguments.large_files).await?;
    let large_mb = f64::from(arguments.large_files) * LARGE_BYTES as f64 / 1e6;
    step.done(&format!(
        "{} MB/s, {} MB resident at most; payments beside them: p99 {} ms",
        number(large_mb / sent.seconds),
        number(sent.rss_mb_max),
        number(sent.payment_p99_ms)
    ));
    let report = AttachmentReport {
        attachment_tx_per_s: rates,
        attachment_limit_ratio_warm_10mb: moved / limits.least_mb_per_s(),
        attachment_pipeline_ratio_warm_10mb: moved / limits.together_mb_per_s,
        attachment_50mb_rss_mb_max: sent.rss_mb_max,
        attachment_50mb: Large {
            files: arguments.large_files,
            seconds: sent.seconds,
            mb_per_s: large_mb / sent.seconds,
            payments: sent.payments,
            payments_failed: sent.payments_failed,
            payment_p50_ms: sent.payment_p50_ms,
            payment_p99_ms: sent.payment_p99_ms,
        },
        limits,
    };
    println!("{}", line(&report)?);
    Ok(())
}

/// Measures the machine's file limits.
async fn file_limits() -> Result<FileLimits> {
    let step = Step::begin("Machine");
    let measuring = tokio::task::spawn_blocking(|| machine::file_limits(&std::env::temp_dir()));
    let limits = measuring.await??;
    step.done(&format!(
        "files: {} MB/s to the disk, {} through TLS, {} hashed, {} all together",
        number(limits.disk_mb_per_s),
        number(limits.tls_mb_per_s),
        number(limits.hash_mb_per_s),
        number(limits.together_mb_per_s)
    ));
    Ok(limits)
}

/// Returns one point as its own scenario, so that the disk holds the files of one point at a time.
fn scenario(point: &(&str, u64, &str, u32), arguments: &BenchArgs) -> Result<Plan> {
    let (name, bytes, temperature, units) = point;
    // Files prepared for one stretch are copied for the next. Files that all units share are not copied.
    let fresh = *temperature != "present";
    let text = format!(
        "name = '{}'\n[work]\nkind = 'transfer-attachment'\nsize = {bytes}\ntemperature = '{temperature}'\n\
         [load]\noutstanding = {OUTSTANDING}\n[run]\ncount = {units}\nwarm_up_s = {}\nrepeats = {}\nfresh = {fresh}\n\
         [monitors]\nmachine = false\n",
        name.replace('_', "-"),
        if fresh { 0 } else { 1 },
        arguments.windows.min(3),
    );
    let options = plan::Options::default();
    plan::parse(name, name, text.as_bytes(), &options, &plan::NoChecks).map_err(anyhow::Error::new)
}

/// Returns the transactions per second of one point. Any failure in the point is a failure.
fn rate(report: &Report, name: &str) -> Result<f64> {
    let wanted = name.replace('_', "-");
    let scenario = report.scenarios.iter().find(|one| one.name == wanted);
    let scenario = scenario.with_context(|| format!("{name} did not run"))?;
    let point = scenario.points.first().context("a point")?;
    let failed: u64 = point.stretches.iter().map(|stretch| stretch.failed()).sum();
    if !scenario.is_good() || failed > 0 {
        let audits = point.audits.iter().filter(|audit| !audit.clean);
        let words: Vec<&str> = audits.map(|audit| audit.words.as_str()).collect();
        bail!(
            "{name}: {}; {failed} units failed; {}",
            scenario.failure.as_deref().unwrap_or("ran to its end"),
            words.join("\n")
        );
    }
    let rate = point.summary.metrics.get("rate_per_s");
    Ok(rate.map_or(0.0, |rate| rate.value))
}

async fn large(binary: std::path::PathBuf, files: u32) -> Result<LargeFilesSent> {
    let options = NetworkOptions::numbered(binary, 2);
    let network = tokio::task::spawn_blocking(move || Network::bring_up(&options)).await??;
    let asked = LargeFiles {
        files,
        size: LARGE_BYTES,
        payments_per_s: PAYMENTS_PER_S,
    };
    let sent = send_large_files(&network, asked, 1).await?;
    if !sent.verdict.is_clean() {
        bail!("the audit found violations: {}", sent.verdict);
    }
    Ok(sent)
}

/// Prints events line by line.
fn told() -> Events {
    Arc::new(|event| match event {
        Event::Ended { well, words } if !words.is_empty() => {
            let mark = if well {
                crate::demo::progress::tick()
            } else {
                crate::demo::progress::cross()
            };
            eprintln!("  {mark} {words}");
        }
        Event::Loaded { label, stretch } => eprintln!(
            "  {label}: {} delivered in {:.1} s, {}/s",
            number(stretch.done as f64),
            stretch.seconds,
            number(stretch.per_s())
        ),
        _ => {}
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_a_scenario_in_order() {
        let workloads = crate::workloads();
        for point in &POINTS {
            let (name, bytes, temperature, units) = point;
            let text = format!("{name}: {bytes} bytes, {temperature}, {units} units");
            let made = workloads.make(
                "transfer-attachment",
                &[
                    ("size".to_owned(), toml::Value::Integer(*bytes as i64)),
                    ("temperature".to_owned(), (*temperature).into()),
                ]
                .into(),
            );
            assert!(made.is_ok(), "{text}");
        }
        assert!(POINTS.iter().any(|(name, ..)| *name == BESIDE_LIMIT));
    }
}
