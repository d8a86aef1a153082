//! Scenarios run to their end on real networks: the measurements, the audit's result, and the files and processes left behind.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use perf::load::engine::Stop;
use perf::plan::{self, NoChecks, Plan};
use perf::results::{Report, Scenario};
use perf::run::{self, Event, Events, Options, Step};
use perf::topology::Placement;
use perf::workload::Workloads;

use crate::stage;

/// Returns a scenario's plan.
pub fn plan(name: &str, text: &str) -> Plan {
    plan::parse(
        name,
        name,
        text.as_bytes(),
        &plan::Options::default(),
        &NoChecks,
    )
    .unwrap_or_else(|error| panic!("{error}"))
}

/// Options of a run without samples, agents or a wish to keep the network.
pub fn options() -> Options {
    Options {
        binary: stage::binary(),
        workloads: Workloads::shipped(),
        title: "a test".into(),
        version: "0".into(),
        full: false,
        keep: false,
        stop: Stop::default(),
        samples: None,
        agents: None,
        hosts: Placement::default(),
    }
}

/// The events of a run, in order.
#[derive(Clone, Default)]
pub struct Seen(Arc<Mutex<Vec<Event>>>);

impl Seen {
    pub fn events(&self) -> Events {
        let seen = Arc::clone(&self.0);
        Arc::new(move |event| seen.lock().expect("no panic").push(event))
    }

    pub fn steps(&self, wanted: Step) -> usize {
        let seen = self.0.lock().expect("no panic");
        let steps = seen
            .iter()
            .filter(|event| matches!(event, Event::Began(step) if *step == wanted));
        steps.count()
    }
}

async fn run(text: &str) -> (Scenario, Seen) {
    let seen = Seen::default();
    let plans = [plan("tiny", text)];
    let mut report = run::run(&plans, &options(), &seen.events()).await;
    assert!(!report.interrupted);
    (report.scenarios.remove(0), seen)
}

const ISSUE_AND_PAY: &str = r#"
title = "Tiny"
seed = 7
[network]
banks = 2
[work]
kind = "issue_and_pay"
[load]
outstanding = 4
[run]
warm_up_s = 0.1
seconds = 0.5
repeats = 2
interleave = true
[[sweep]]
label = "outstanding"
set = "load.outstanding"
values = [1, 4]
[monitors]
every_ms = 100
machine = false
"#;

#[tokio::test]
async fn a_sweep_is_measured_watched_and_audited_once_for_its_network() {
    let (scenario, seen) = run(ISSUE_AND_PAY).await;
    assert_eq!(scenario.failure, None, "{scenario:#?}");
    assert!(scenario.is_good());
    assert_eq!(scenario.points.len(), 2);
    for point in &scenario.points {
        assert_eq!(point.stretches.len(), 2);
        let rate = &point.summary.metrics["rate_per_s"];
        assert!(rate.value > 0.0 && rate.low.is_some(), "{rate:?}");
        assert!(point.summary.metrics["cpu_us_per_unit"].value > 0.0);
        for stretch in &point.stretches {
            assert!(stretch.done > 0 && stretch.faults.is_empty(), "{stretch:?}");
            let mut names: Vec<&str> = stretch.processes.iter().map(|p| p.name.as_str()).collect();
            names.sort_unstable();
            assert_eq!(names, ["bank-1", "bank-2", "generator", "notary"]);
            assert!(!stretch.metrics.is_empty());
        }
    }
    // Files grow by whole pieces, so the rows of a short stretch may fit into space already allocated.
    let stretches = scenario.points.iter().flat_map(|point| &point.stretches);
    assert!(
        stretches
            .filter_map(|stretch| stretch.disk_bytes)
            .sum::<u64>()
            > 0
    );
    let audits: Vec<usize> = scenario
        .points
        .iter()
        .map(|point| point.audits.len())
        .collect();
    assert_eq!(audits, [0, 1], "one network, one life, one audit");
    assert!(scenario.points[1].audits[0].transactions > 0);
    assert_eq!(seen.steps(Step::Network), 1);
    assert_eq!(scenario.axes, ["outstanding"]);
    let again = plan("again", &scenario.source);
    assert_eq!(again.sweep.len(), 1, "its source runs again");
}

/// Two settings of the nodes, in turns.
fn by_setting(work: &str) -> String {
    ISSUE_AND_PAY
        .replace("kind = \"issue_and_pay\"", work)
        .replace("load.outstanding", "network.settings.store.linger_us")
}

#[tokio::test]
async fn what_a_stretch_uses_up_is_copied_and_put_back_for_each() {
    let text = by_setting("kind = \"transfer\"\ndepth = 3")
        .replace("seconds = 0.5", "seconds = 20\ncount = 20")
        .replace("interleave = true", "fresh = true");
    let (scenario, seen) = run(&text).await;
    assert_eq!(scenario.failure, None, "{scenario:#?}");
    assert!(scenario.is_good(), "{:#?}", scenario.findings);
    assert_eq!(seen.steps(Step::Preparation), 1, "the same for both points");
    assert_eq!(
        (seen.steps(Step::Snapshot), seen.steps(Step::Restore)),
        (1, 3)
    );
    assert_eq!(seen.steps(Step::Audit), 4, "one for every life");
    for point in &scenario.points {
        for stretch in &point.stretches {
            assert_eq!((stretch.done, stretch.failed()), (20, 0), "{stretch:?}");
        }
    }
}

#[tokio::test]
async fn a_few_units_are_prepared_ahead_for_all_stretches_of_a_life() {
    let text = by_setting("kind = \"transfer\"\ndepth = 3")
        .replace("seconds = 0.5", "seconds = 20\ncount = 20");
    let (scenario, seen) = run(&text).await;
    assert_eq!(scenario.failure, None, "{scenario:#?}");
    assert!(scenario.is_good(), "{:#?}", scenario.findings);
    let counts = [
        Step::Preparation,
        Step::Snapshot,
        Step::Restore,
        Step::Audit,
    ];
    assert_eq!(counts.map(|step| seen.steps(step)), [1, 0, 0, 1]);
    for stretch in scenario.points.iter().flat_map(|point| &point.stretches) {
        assert_eq!((stretch.done, stretch.failed()), (20, 0), "{stretch:?}");
    }
}

#[tokio::test]
async fn what_lasts_is_prepared_once_and_shared_through_restarts() {
    let (scenario, seen) = run(&by_setting("kind = \"pay\"\ncoins = 50")).await;
    assert_eq!(scenario.failure, None, "{scenario:#?}");
    assert!(scenario.is_good(), "{:#?}", scenario.findings);
    let counts = [
        Step::Preparation,
        Step::Snapshot,
        Step::Restore,
        Step::Audit,
    ];
    assert_eq!(counts.map(|step| seen.steps(step)), [1, 0, 0, 1]);
    let stretches = scenario.points.iter().flat_map(|point| &point.stretches);
    assert!(stretches.into_iter().all(|stretch| stretch.done > 0));
}

#[tokio::test]
async fn a_scenario_that_fails_leaves_the_others_alone() {
    let bad = ISSUE_AND_PAY
        .replace("values = [1, 4]", "values = [1, 2]")
        .replace(
            "banks = 2",
            "banks = 2\nnodes.bank-2.settings.limits.live_flows = 0",
        );
    let good = ISSUE_AND_PAY.replace("repeats = 2", "repeats = 1");
    let seen = Seen::default();
    let plans = [plan("bad", &bad), plan("good", &good)];
    let report: Report = run::run(&plans, &options(), &seen.events()).await;
    let failure = report.scenarios[0]
        .failure
        .as_deref()
        .expect("it cannot run");
    assert!(
        failure.starts_with("lab.node_not_ready: ") && failure.contains("config.out_of_range"),
        "{failure}"
    );
    assert!(report.scenarios[1].is_good());
}

#[tokio::test]
async fn a_node_killed_by_a_fault_runs_again_and_a_fault_that_comes_too_late_is_an_error() {
    for (more, at_s, failure, restarts) in [
        ("seconds = 1", 0.3, None, 1),
        // The stretch ends after five issues, long before the fault.
        (
            "seconds = 60\ncount = 5",
            30.0,
            Some("ended before the fault of bank-2"),
            0,
        ),
    ] {
        let (scenario, seen) = run(&format!(
            "title = 'A fault'\n[network]\nbanks = 2\n[work]\nkind = 'issue'\n[load]\noutstanding = 4\n[run]\nwarm_up_s = 0\nrepeats = 1\n\
             {more}\nfault.node = 'bank-2'\nfault.at_s = {at_s}\n[monitors]\nmachine = false\n"
        ))
        .await;
        let found = scenario.failure.as_deref();
        assert!(
            found.is_some() == failure.is_some()
                && found
                    .unwrap_or_default()
                    .contains(failure.unwrap_or_default()),
            "{more}: {found:?}"
        );
        assert_eq!(seen.steps(Step::Restart), restarts, "{more}");
    }
}

#[tokio::test]
async fn asked_to_stop_it_audits_what_ran_and_leaves_nothing() {
    let text = ISSUE_AND_PAY.replace("seconds = 0.5", "seconds = 600");
    let seen = Seen::default();
    let options = options();
    let stop = options.stop.clone();
    let tell = seen.events();
    let events: Events = Arc::new(move |event| {
        if matches!(event, Event::Load { .. }) {
            let stop = stop.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(700));
                stop.ask();
            });
        }
        tell(event);
    });
    let begun = Instant::now();
    let report = run::run(&[plan("long", &text)], &options, &events).await;
    assert!(begun.elapsed() < stage::DEADLINE);
    assert!(report.interrupted);
    let scenario = &report.scenarios[0];
    assert!(scenario.points[0].stretches[0].done > 0);
    assert!(scenario.points[0].audits[0].clean, "{scenario:#?}");
    assert!(scenario.points[1].stretches.is_empty());
    assert!(
        scenario
            .findings
            .iter()
            .any(|finding| finding.code == "lab.repeats_missing"),
        "{:?}",
        scenario.findings
    );
}

/// A scenario against a network that runs already.
fn against(network: &perf::topology::Network) -> String {
    let folder = |who| format!("{:?}", network.folder(who).display().to_string());
    let target = format!(
        "target.banks = [{}, {}]\ntarget.notary = {}",
        folder(stage::A),
        folder(stage::B),
        folder(perf::topology::Who::Notary)
    );
    ISSUE_AND_PAY
        .replace("banks = 2", &target)
        .replace("issue_and_pay\"", "issue_and_pay\"\ncurrency = \"GBP\"")
        .replace("repeats = 2", "repeats = 1")
}

#[tokio::test]
async fn somebody_else_s_network_is_measured_where_it_stands_and_its_past_is_no_finding() {
    let network = stage::network(&["A", "B"]);
    let client = stage::client(&network, stage::A);
    let start = crate::stage::cash::issue("GBP", 77).expect("arguments");
    stage::completes(&client, start, api::Wait::Delivered).await;
    let pid = network.pid(stage::A);
    let (scenario, seen) = run(&against(&network)).await;
    assert_eq!(scenario.failure, None, "{scenario:#?}");
    assert!(scenario.is_good(), "{:#?}", scenario.findings);
    assert_eq!(seen.steps(Step::Network) + seen.steps(Step::Restart), 0);
    assert_eq!(network.pid(stage::A), pid, "it was not restarted");
    assert!(stage::holds(&client, "GBP").await.expect("an answer") >= 77);
}

#[tokio::test]
async fn somebody_else_s_banks_have_their_mandates_back_when_the_swaps_are_over() {
    let network = stage::network(&["A", "B"]);
    let text = against(&network)
        .replace("issue_and_pay\"\ncurrency = \"GBP\"", "swap\"")
        .replace("repeats = 1", "repeats = 2");
    let (scenario, seen) = run(&text).await;
    assert_eq!(scenario.failure, None, "{scenario:#?}");
    assert!(scenario.is_good(), "{:#?}", scenario.findings);
    assert_eq!(seen.steps(Step::TakingBack), 1);
    let bank = stage::client(&network, stage::B);
    let left = bank.states(None, 5_000).await.expect("readable").states;
    assert!(!left.is_empty(), "its side of the swaps is there");
    let mandates = left
        .iter()
        .filter(|state| state.contract == "tally.mandate");
    assert_eq!(mandates.count(), 0, "{left:?}");
}

#[tokio::test]
async fn a_run_whose_audit_finds_something_is_no_good_whatever_its_rate() {
    let network = stage::network(&["A", "B"]);
    let client = stage::client(&network, stage::A);
    let text = against(&network);
    let seen = Seen::default();
    let tell = seen.events();
    let runtime = tokio::runtime::Handle::current();
    let events: Events = Arc::new(move |event| {
        if matches!(event, Event::Load { .. }) {
            // Issues the same token outside the run, whose audit accounts for it.
            let client = client.clone();
            runtime.spawn(async move {
                let start = crate::stage::cash::issue("GBP", 77).expect("arguments");
                stage::completes(&client, start, api::Wait::Delivered).await;
            });
        }
        tell(event);
    });
    let report = run::run(&[plan("tiny", &text)], &options(), &events).await;
    let scenario = &report.scenarios[0];
    assert!(!scenario.is_good(), "{scenario:#?}");
    assert_eq!(scenario.failure, None, "it ran to its end");
    assert!(
        scenario
            .points
            .iter()
            .all(|point| point.stretches[0].done > 0)
    );
    let codes: Vec<&str> = scenario.findings.iter().map(|f| f.code.as_str()).collect();
    assert!(codes.contains(&run::AUDIT_FAILED), "{codes:?}");
}
