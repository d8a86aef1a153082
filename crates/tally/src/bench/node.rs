//! `bench node`: queries of a vault with a million states over a node's API, and the cost of a start over the API.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use api::StartFlow;
use client::Client;
use perf::load::{Live, Load, Starts, Ways, window};
use perf::machine::Machine;
use perf::measure::{Latencies, ProcessReading};
use perf::report::{Table, number};
use perf::scenario::{ASKED, Stocked, fill, network_options, questions};
use perf::topology::{Network, Who};
use serde::Serialize;
use serde_json::json;

use super::BenchArgs;
use super::report::line;
use crate::demo::progress::{LoadBar, Step, colour};

/// Outstanding starts, and connections of the single requests.
const OUTSTANDING: usize = 64;
/// The error of a flow that does nothing: it is started, polled once, and ended.
const NOTHING: &str = "cash.zero_amount";

/// The fields of the benchmark's line of JSON.
#[derive(Debug, Serialize)]
struct NodeReport {
    /// States in the vault.
    vault_states: u64,
    /// Consumed states among them.
    vault_consumed: u64,
    /// States recorded per second while flows filled the vault, with the notary and three issuing banks on the same machine.
    vault_fill_states_per_s: f64,
    /// Median milliseconds of five typical queries over HTTP and TLS, with a page of 100.
    vault_query_ms: BTreeMap<&'static str, f64>,
    /// The 99th percentile of the same queries.
    vault_query_p99_ms: BTreeMap<&'static str, f64>,
    /// Median milliseconds of queries that no single index answers.
    vault_query_more_ms: BTreeMap<&'static str, f64>,
    /// Processor time of the start of a flow that does nothing, by a single request.
    api_start_overhead_us: Cpu,
    /// The same over the stream form.
    api_start_overhead_stream_us: Cpu,
    /// Processor time of a whole issue by a single request. It includes a signed and recorded transaction.
    issue_cpu_us: Cpu,
    /// The same over the stream form.
    issue_cpu_stream_us: Cpu,
    /// Peak resident memory of the queried node, in megabytes (10^6).
    rss_mb_max: f64,
    /// The machine's own limits in the same run.
    machine: Machine,
}

/// Microseconds of processor time for one flow.
#[derive(Clone, Copy, Debug, Serialize)]
struct Cpu {
    /// This process.
    client: f64,
    /// The node's process.
    server: f64,
    /// Both.
    total: f64,
    /// Flows per second during the measurement.
    per_s: f64,
}

/// Runs the benchmark and prints the line.
pub async fn run(arguments: &BenchArgs) -> Result<()> {
    let binary = std::env::current_exe().context("cannot find the executable of this program")?;
    let step = Step::begin("Network");
    let options = network_options(binary);
    let network = tokio::task::spawn_blocking(move || Network::bring_up(&options)).await??;
    step.done(&network.root().display().to_string());
    let step = Step::begin("Machine");
    let mut machine = Machine::probe(network.root())?;
    step.done(&format!(
        "{} cores, {} durable commits/s, load average {}",
        machine.cores,
        number(machine.durable_commits_per_s),
        number(machine.load_before)
    ));

    let step = Step::begin(&format!("{} states", number(f64::from(arguments.states))));
    let begun = Instant::now();
    let stocked = fill(&network, u64::from(arguments.states), Arc::default()).await?;
    let per_s = stocked.states as f64 / begun.elapsed().as_secs_f64();
    step.done(&format!(
        "{} states, {} of them consumed, all recorded by flows, {} /s",
        number(stocked.states as f64),
        number(stocked.consumed as f64),
        number(per_s)
    ));
    let mut report = NodeReport {
        vault_states: stocked.states,
        vault_consumed: stocked.consumed,
        vault_fill_states_per_s: per_s,
        vault_query_ms: BTreeMap::new(),
        vault_query_p99_ms: BTreeMap::new(),
        vault_query_more_ms: BTreeMap::new(),
        api_start_overhead_us: Cpu::NONE,
        api_start_overhead_stream_us: Cpu::NONE,
        issue_cpu_us: Cpu::NONE,
        issue_cpu_stream_us: Cpu::NONE,
        rss_mb_max: 0.0,
        machine: machine.clone(),
    };
    let client = network.client(ASKED)?;
    ask(&client, &network, stocked, arguments.repeats, &mut report).await?;
    starts(&client, &network, arguments, &mut report).await?;
    let readings = network.readings().into_iter();
    let asked = readings.filter(|(who, _)| *who == ASKED);
    report.rss_mb_max = asked
        .map(|(_, reading)| reading.rss_peak_bytes as f64 / 1e6)
        .sum();
    machine.finish();
    report.machine = machine;
    println!("{}", line(&report)?);
    Ok(())
}

async fn ask(
    client: &Client,
    network: &Network,
    stocked: Stocked,
    repeats: u32,
    report: &mut NodeReport,
) -> Result<()> {
    let names: Vec<String> = (0..network.banks())
        .map(|bank| network.name(Who::Bank(bank)).to_owned())
        .collect();
    let mut table = Table::new(&["query", "rows", "p50 ms", "p99 ms"], colour());
    for question in questions(client, &names).await? {
        let asked = question.ask(client, repeats).await?;
        if asked.rows == 0 {
            bail!(
                "{} found nothing among {} states",
                question.name,
                stocked.states
            );
        }
        let latencies: &Latencies = &asked.latencies;
        table.row([
            question.name.to_owned(),
            asked.rows.to_string(),
            number(latencies.p50_ms()),
            number(latencies.p99_ms()),
        ]);
        if question.typical {
            report
                .vault_query_ms
                .insert(question.name, latencies.p50_ms());
            report
                .vault_query_p99_ms
                .insert(question.name, latencies.p99_ms());
        } else {
            report
                .vault_query_more_ms
                .insert(question.name, latencies.p50_ms());
        }
    }
    eprint!("{table}");
    Ok(())
}

async fn starts(
    client: &Client,
    network: &Network,
    arguments: &BenchArgs,
    report: &mut NodeReport,
) -> Result<()> {
    let endpoint = network.endpoint(ASKED)?;
    let pid = network.pid(ASKED).context("the node runs")?;
    let mut table = Table::new(
        &["CPU a flow, us", "client", "node", "both", "flows/s"],
        colour(),
    );
    let mut measured = async |name: &str, stream: bool, quantity: u64| -> Result<Cpu> {
        let ways = if stream {
            Ways::Streams(vec![client.stream()])
        } else {
            Ways::requests(&endpoint, OUTSTANDING).await?
        };
        let args = json!({ "currency": "NOK", "quantity": quantity });
        let cpu = cpu(
            ways,
            StartFlow::new("cash.issue", &args)?,
            quantity,
            arguments,
            pid,
        )
        .await?;
        table.row([
            name.to_owned(),
            number(cpu.client),
            number(cpu.server),
            number(cpu.total),
            number(cpu.per_s),
        ]);
        Ok(cpu)
    };
    report.api_start_overhead_us = measured("nothing, a request each", false, 0).await?;
    report.api_start_overhead_stream_us = measured("nothing, stream form", true, 0).await?;
    report.issue_cpu_us = measured("issue, a request each", false, 100).await?;
    report.issue_cpu_stream_us = measured("issue, stream form", true, 100).await?;
    eprint!("{table}");
    Ok(())
}

/// Measures all windows as one after a warm-up: the processor time of both processes, divided by the flows that ended as
/// expected.
async fn cpu(
    ways: Ways,
    start: StartFlow,
    quantity: u64,
    arguments: &BenchArgs,
    pid: u32,
) -> Result<Cpu> {
    let mut work = Starts::new(ways, move |number| {
        let way = usize::try_from(number).expect("a number of a start fits a word");
        (way, start.clone())
    });
    if quantity == 0 {
        work = work.ending_with(NOTHING);
    }
    let work = Arc::new(work);
    let load = |duration| Load {
        outstanding: OUTSTANDING,
        duration,
        most: u64::MAX,
    };
    let window_s = Duration::from_secs(u64::from(arguments.window_seconds));
    let duration = window_s * arguments.windows;
    let live = Arc::new(Live::default());
    let bar = LoadBar::begin("Starts", window_s + duration, Arc::clone(&live));
    window(
        Arc::clone(&work),
        Arc::clone(&live),
        load(window_s),
        0,
        async {},
    )
    .await;
    let own = std::process::id();
    let before = (ProcessReading::of(own)?.cpu, ProcessReading::of(pid)?.cpu);
    let window = window(work, live, load(duration), 0, async {}).await;
    let after = (ProcessReading::of(own)?.cpu, ProcessReading::of(pid)?.cpu);
    bar.end().await;
    if window.done.is_empty() || window.failed() > 0 {
        bail!("not all flows ended as they should: {:?}", window.faults);
    }
    let flows = window.done.len() as f64;
    let each = |used: Duration| used.as_secs_f64() * 1e6 / flows;
    let client = each(after.0 - before.0);
    let server = each(after.1 - before.1);
    Ok(Cpu {
        client,
        server,
        total: client + server,
        per_s: window.per_s(),
    })
}

impl Cpu {
    const NONE: Self = Self {
        client: 0.0,
        server: 0.0,
        total: 0.0,
        per_s: 0.0,
    };
}
