//! Load from agents: processes of their own, over loopback, against a network of real nodes; one of them killed on the way.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use perf::agent::{AgentAddress, Agents, Team};
use perf::load::Live;
use perf::load::engine::Stop;
use perf::plan::{self, NoChecks, Plan};
use perf::results::Scenario;
use perf::run::{self, Event, Events, Options};
use perf::topology::Placement;
use perf::workload::Workloads;

use crate::stage;
use crate::stage::agent::{AgentProcess, token, token_file};
use crate::stage::command::tally;

fn scenario(load: &str, seconds: f64, repeats: u32) -> Plan {
    parse(&format!(
        "title = 'From agents'\n[network]\nbanks = 2\n[work]\nkind = 'issue_and_pay'\n[load]\n{load}\n[run]\nwarm_up_s = 0.2\nseconds = {seconds}\nrepeats = {repeats}\n[monitors]\nevery_ms = 200\nmachine = false\n"
    ))
}

fn parse(text: &str) -> Plan {
    let options = plan::Options::default();
    plan::parse("agents", "agents", text.as_bytes(), &options, &NoChecks)
        .unwrap_or_else(|error| panic!("{error}"))
}

async fn run(plan: Plan, addresses: Vec<AgentAddress>, events: Events) -> Scenario {
    let team = Team::connect(&addresses, &token()).await;
    let options = Options {
        binary: stage::binary(),
        workloads: Workloads::shipped(),
        title: "a test".into(),
        version: "0".into(),
        full: false,
        keep: false,
        stop: Stop::default(),
        samples: None,
        agents: Some(Agents::new(team.unwrap_or_else(|error| panic!("{error}")))),
        hosts: Placement::default(),
    };
    let mut report = run::run(&[plan], &options, &events).await;
    report.scenarios.remove(0)
}

#[tokio::test]
async fn several_agents_drive_a_network_and_the_audit_is_as_strict_as_ever() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = token_file(folder.path());
    let agents: Vec<AgentProcess> = (0..3).map(|_| AgentProcess::start(&file)).collect();
    let all: Vec<AgentAddress> = agents.iter().map(AgentProcess::at).collect();
    let mut faulty = scenario("outstanding = 1", 1.0, 1);
    faulty.run.fault = Some(plan::Fault {
        node: "bank-2".into(),
        kind: plan::FaultKind::Kill,
        at_s: 0.5,
    });
    let refused = run(faulty, all.clone(), Arc::new(|_| {})).await.failure;
    assert!(
        refused.is_some_and(|text| text.contains("leave --agent out")),
        "a fault strikes where the load is generated"
    );
    for load in ["outstanding = 9", "rate = 150"] {
        let result = run(scenario(load, 1.0, 2), all.clone(), Arc::new(|_| {})).await;
        assert_eq!(result.failure, None, "{result:#?}");
        let point = &result.points[0];
        assert_eq!(point.stretches.len(), 2);
        let mut done = 0;
        for stretch in &point.stretches {
            assert!(
                stretch.done > 0 && stretch.faults.is_empty(),
                "{stretch:#?}"
            );
            assert_eq!(stretch.latencies.count(), stretch.done);
            assert_eq!(
                (stretch.generator.agents, stretch.generator.agents_lost),
                (3, 0)
            );
            assert!(!stretch.processes.is_empty());
            done += stretch.done;
        }
        // Every flow made two transactions, the warm-ups' as well, and each is among those audited.
        let audit = &point.audits[0];
        assert!(audit.clean, "{}", audit.words);
        assert!(
            audit.transactions >= 2 * done,
            "{} of {done}",
            audit.transactions
        );
    }
}

#[tokio::test]
async fn several_agents_pay_on_a_chain_and_every_payment_is_in_a_block() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = token_file(folder.path());
    let agents: Vec<AgentProcess> = (0..2).map(|_| AgentProcess::start(&file)).collect();
    let all: Vec<AgentAddress> = agents.iter().map(AgentProcess::at).collect();
    // Few payments may wait, so the agents have to see how many do.
    let plan = parse(
        "title = 'A chain'\n[chain]\nnodes = 2\nblock_s = 1\nbatch = 20\nwaiting_max = 60\n[load]\noutstanding = 40\n\
         [run]\nwarm_up_s = 1\nseconds = 6\nrepeats = 1\n[monitors]\nmachine = false\n",
    );
    let begun = Instant::now();
    let result = run(plan, all, Arc::new(|_| {})).await;
    assert_eq!(result.failure, None, "{result:#?}");
    let point = &result.points[0];
    let stretch = &point.stretches[0];
    assert!(
        stretch.done > 0 && stretch.faults.is_empty(),
        "{stretch:#?}"
    );
    assert_eq!(stretch.generator.agents, 2);
    assert!(point.audits[0].clean, "{}", point.audits[0].words);
    let chain = stretch.chain.as_ref().expect("a chain's result");
    // The payments of the warm-up are among them. More than may wait came in, so a block has made room.
    assert!(
        chain.accepted >= stretch.done && chain.accepted > 60,
        "{chain:#?}"
    );
    assert_eq!(chain.accepted, chain.in_blocks);
    // Payments are due before their blocks, on the time axis of this run.
    let to_block = point.summary.metrics["to_block_p50_s"].value;
    let whole = begun.elapsed().as_secs_f64();
    assert!(to_block > 0.0 && to_block < whole, "{to_block} of {whole}");
}

#[tokio::test]
async fn an_agent_that_is_killed_is_reported_and_survived() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = token_file(folder.path());
    let survivors = [AgentProcess::start(&file), AgentProcess::start(&file)];
    let victim = Arc::new(Mutex::new(AgentProcess::start(&file)));
    let at = victim.lock().expect("no panic").at();
    let seen = Arc::clone(&victim);
    // Killed when some of the first stretch is done.
    let events: Events = Arc::new(move |event| {
        if let Event::Load { live, .. } = event {
            let victim = Arc::clone(&seen);
            std::thread::spawn(move || kill_under_load(&live, &victim));
        }
    });
    let plan = scenario("outstanding = 9", 4.0, 2);
    let addresses = [survivors[0].at(), survivors[1].at(), at];
    let result = run(plan, addresses.to_vec(), events).await;
    assert_eq!(result.failure, None, "{result:#?}");
    let [first, second] = result.points[0].stretches.as_slice() else {
        panic!("both repeats were measured: {result:#?}");
    };
    assert_eq!(
        (first.generator.agents, first.generator.agents_lost),
        (3, 1)
    );
    assert!(first.done > 0);
    assert!(
        first
            .faults
            .iter()
            .all(|fault| fault.code == "lab.agent_lost"),
        "{:?}",
        first.faults
    );
    // The others share the whole load from then on.
    assert_eq!(
        (second.generator.agents, second.generator.agents_lost),
        (2, 0)
    );
    assert!(second.done > 0 && second.faults.is_empty());
    assert!(
        result.points[0].audits[0].clean,
        "{}",
        result.points[0].audits[0].words
    );
    let lost = |finding: &&perf::results::Finding| finding.code == "lab.agent_lost";
    assert!(
        result.findings.iter().any(|finding| lost(&finding)),
        "{:?}",
        result.findings
    );
}

fn kill_under_load(live: &Live, victim: &Mutex<AgentProcess>) {
    let deadline = Instant::now() + stage::DEADLINE;
    while live.read().completed == 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut victim = victim.lock().expect("no panic");
    victim.kill();
}

#[test]
fn the_command_line_takes_agents() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = token_file(folder.path());
    let file = file.to_str().expect("text");
    let agents = [
        AgentProcess::start(Path::new(file)),
        AgentProcess::start(Path::new(file)),
    ];
    let text = "title = 'Fake'\n[network]\nbanks = 0\n[work]\nkind = 'fake'\nlatency_ms = 3\n[load]\noutstanding = 4\n[run]\nwarm_up_s = 0\nseconds = 1\nrepeats = 1\n[monitors]\nmachine = false\n";
    std::fs::write(folder.path().join("fake.toml"), text).expect("a file");
    let (one, other) = (&agents[0], &agents[1]);
    let line = format!(
        "lab run %/fake.toml --out %/out --agent {},fingerprint={} --agent {} --agent-token-file {file} --json",
        one.address, one.fingerprint, other.address
    );
    let ran = tally(folder.path(), &line);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let report = std::fs::read_to_string(folder.path().join("out/report.json")).expect("a report");
    let report: perf::results::Report = serde_json::from_str(&report).expect("JSON");
    let stretch = &report.scenarios[0].points[0].stretches[0];
    assert_eq!(stretch.generator.agents, 2);
    assert!(stretch.done > 100 && stretch.latencies.quantile_ms(0.0) >= 2.99);

    std::fs::write(folder.path().join("wrong"), "another secret of some length").expect("a file");
    let wrong = line.replace(file, "%/wrong");
    let ran = tally(folder.path(), &wrong);
    assert_eq!(ran.code, 5);
    assert!(ran.err.contains("lab.agent_denied"), "{}", ran.err);
    let ran = tally(folder.path(), "lab run issue --agent 127.0.0.1:1");
    assert_eq!(ran.code, 2, "a token file is needed: {}", ran.err);
}
