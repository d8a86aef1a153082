//! Whole runs of scenarios about a chain, against fake servers of the Ardor/Nxt family. Correct runs pass the audit, and
//! the audit finds every fault that the servers commit on purpose.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use perf::chain::nxt::fake::{Behaviour, Fake};
use perf::load::engine::Stop;
use perf::plan::{self, NoChecks};
use perf::results::Scenario;
use perf::run::{Event, Events, Options, run};
use perf::topology::Placement;
use perf::workload::Workloads;

/// Runs a short scenario on fake servers with this behaviour.
async fn ran(behaviour: Behaviour, nodes: usize, more: &str) -> Scenario {
    ran_with(behaviour, nodes, more, 1, Arc::new(|_| {})).await
}

async fn ran_with(
    behaviour: Behaviour,
    nodes: usize,
    more: &str,
    repeats: u32,
    events: Events,
) -> Scenario {
    let fake = Fake::start(nodes, behaviour).await.expect("ports");
    let urls: Vec<String> = fake.urls().iter().map(|url| format!("'{url}'")).collect();
    let text = format!(
        "[chain]\nblock_s = 1\nchildren = 2\n{more}\n[chain.target]\nkind = 'nxt'\nservers = [{}]\n\
         [load]\noutstanding = 6\nthink_ms = 10\nthink = 'random'\n[run]\nwarm_up_s = 0.2\nseconds = 1.5\nrepeats = {repeats}\n\
         [monitors]\nmachine = false",
        urls.join(", ")
    );
    let plan = plan::parse(
        "chain",
        "chain.toml",
        text.as_bytes(),
        &plan::Options::default(),
        &NoChecks,
    );
    let options = Options {
        binary: PathBuf::from("/nonexistent"),
        workloads: Workloads::shipped(),
        title: "fake chain".to_owned(),
        version: "0".to_owned(),
        full: false,
        keep: false,
        stop: Stop::default(),
        samples: None,
        agents: None,
        hosts: Placement::default(),
    };
    let mut report = run(&[plan.expect("in order")], &options, &events).await;
    report.scenarios.pop().expect("it ran")
}

fn behaviour() -> Behaviour {
    Behaviour {
        block_every: Some(Duration::from_millis(200)),
        ..Behaviour::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sound_chain_is_found_sound_and_measured() {
    for more in ["", "batch = 20"] {
        let scenario = ran(behaviour(), 2, more).await;
        assert!(
            scenario.is_good(),
            "{:?} {:?}",
            scenario.failure,
            scenario.findings
        );
        let point = &scenario.points[0];
        let stretch = &point.stretches[0];
        let chain = stretch.chain.as_ref().expect("a chain");
        assert!(
            chain.payments_per_s > 0.0 && chain.accepted >= stretch.done,
            "{chain:?}"
        );
        assert_eq!(chain.in_blocks, chain.accepted, "of warm-up and load");
        assert_eq!(chain.transactions, chain.accepted, "and of nobody else");
        assert_eq!((chain.nodes.len(), chain.fullest.len()), (2, 4));
        assert!(chain.to_block.count() > 0);
        assert!(
            chain.fullest.iter().all(|list| !list.blocks.is_empty()),
            "on every chain"
        );
        for metric in [
            "chain_tps",
            "to_block_p50_s",
            "block_s",
            "fork_depth_max",
            "rate_per_s",
            "p95_ms",
        ] {
            assert!(point.summary.metrics.contains_key(metric), "{metric}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_are_mixed_like_any_other_work() {
    let mix = "[[work]]\nkind = 'payment'\nlabel = 'on the parent'\nchains = 'parent'\n\
               [[work]]\nkind = 'payment'\nlabel = 'on children'\nchains = 'children'\nweight = 3";
    let scenario = ran(behaviour(), 2, mix).await;
    let (failure, findings) = (&scenario.failure, &scenario.findings);
    assert!(scenario.is_good(), "{failure:?} {findings:?}");
    let stretch = &scenario.points[0].stretches[0];
    let works: Vec<(&str, bool)> = stretch
        .works
        .iter()
        .map(|work| (work.label.as_str(), work.done > 0))
        .collect();
    assert_eq!(works, [("on the parent", true), ("on children", true)]);
    let chain = stretch.chain.as_ref().expect("a chain");
    assert_eq!(chain.in_blocks, chain.accepted, "of both kinds");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_stretch_has_a_chain_of_its_own_up_to_its_audit() {
    let told: Arc<Mutex<Vec<&str>>> = Arc::default();
    let seen = Arc::clone(&told);
    let events: Events = Arc::new(move |event| {
        let word = match event {
            Event::Began(step) => step.as_str(),
            Event::Load { .. } => "load",
            Event::Loaded { .. } => "loaded",
            Event::Audited(_) => "audited",
            _ => return,
        };
        seen.lock().expect("no panic").push(word);
    });
    let scenario = ran_with(behaviour(), 1, "", 2, events).await;
    let one = ["Network", "load", "loaded", "Settling", "Audit", "audited"];
    assert_eq!(*told.lock().expect("no panic"), [one, one].concat());
    let point = &scenario.points[0];
    assert_eq!((point.stretches.len(), point.audits.len()), (2, 2));
    assert!(
        point
            .stretches
            .iter()
            .all(|stretch| stretch.chain.is_some())
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_are_errors_and_no_reason_to_fail() {
    let scenario = ran(
        Behaviour {
            refuse_every: 5,
            malformed_every: 7,
            ..behaviour()
        },
        1,
        "",
    )
    .await;
    assert!(
        scenario.is_good(),
        "{:?} {:?}",
        scenario.failure,
        scenario.findings
    );
    let codes: Vec<&str> = scenario.points[0].stretches[0]
        .faults
        .iter()
        .map(|fault| fault.code.as_str())
        .collect();
    assert!(
        codes.contains(&"nxt.error_6") && codes.contains(&"lab.target_malformed"),
        "{codes:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_planted_fault_is_found() {
    type Plant = fn(&mut Behaviour);
    let faults: [(&str, Plant); 4] = [
        ("is lost", |behaviour| behaviour.lose_every = 9),
        ("more than one block", |behaviour| {
            behaviour.double_every = 9
        }),
        ("all test accounts together", |behaviour| {
            behaviour.minted = 1
        }),
        ("still waits", |behaviour| behaviour.block_every = None),
    ];
    for (wanted, plant) in faults {
        let mut planted = behaviour();
        plant(&mut planted);
        let scenario = ran(planted, 1, "drain_s = 1").await;
        let audits = &scenario.points[0].audits;
        assert!(!scenario.is_good() && audits.len() == 1, "{wanted}");
        assert!(
            audits[0].words.contains(wanted),
            "{wanted}: {}",
            audits[0].words
        );
    }
}
