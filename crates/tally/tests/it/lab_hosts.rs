//! Networks whose nodes run on two hosts behind agents: sweeps, snapshots and audits as on one machine, and a host that vanishes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use perf::results::Scenario;
use perf::run::{self, Event, Events, Options, Step};
use perf::topology::Placement;

use crate::lab_run::{self, Seen};
use crate::stage::command::tally;
use crate::stage::hosts::Hosts;
use crate::stage::until;

/// Two settings of the nodes, each twice. Every stretch uses up what is prepared for it.
const SWEEP: &str = r#"
title = "On two hosts"
seed = 7
[network]
banks = 2
[work]
kind = "transfer"
depth = 3
[load]
outstanding = 4
[run]
warm_up_s = 0.1
seconds = 20
count = 20
repeats = 2
fresh = true
[[sweep]]
label = "linger"
set = "network.settings.store.linger_us"
values = [1, 4]
[monitors]
every_ms = 100
machine = false
"#;

const CHAIN: &str = r#"
title = "A chain on two hosts"
[chain]
nodes = 3
block_s = 1
batch = 20
history = 50
[load]
outstanding = 20
think_ms = 100
think = 'random'
[run]
warm_up_s = 1
seconds = 5
repeats = 1
[monitors]
machine = false
"#;

async fn run(text: &str, hosts: Placement, events: Events) -> Scenario {
    let options = Options {
        hosts,
        ..lab_run::options()
    };
    let plans = [lab_run::plan("hosts", text)];
    let mut report = run::run(&plans, &options, &events).await;
    report.scenarios.remove(0)
}

fn nothing_is_left(hosts: &Hosts) {
    for agent in &hosts.agents {
        until("the nodes end", || agent.children().is_empty());
    }
}

#[tokio::test]
async fn a_sweep_runs_on_two_hosts_as_on_one_machine() {
    let hosts = Hosts::begin();
    let seen = Seen::default();
    let placement = hosts.placement(&[("bank-2", "b")]);
    let scenario = run(SWEEP, placement, seen.events()).await;
    assert_eq!(scenario.failure, None, "{scenario:#?}");
    assert!(scenario.is_good(), "{:#?}", scenario.findings);
    let counts = [
        Step::Preparation,
        Step::Snapshot,
        Step::Restore,
        Step::Audit,
    ];
    assert_eq!(counts.map(|step| seen.steps(step)), [1, 1, 3, 4]);
    for stretch in scenario.points.iter().flat_map(|point| &point.stretches) {
        assert_eq!((stretch.done, stretch.failed()), (20, 0), "{stretch:?}");
        for name in ["notary", "bank-1", "bank-2"] {
            let mut processes = stretch.processes.iter();
            let process = processes.find(|process| process.name == name);
            let last = process.and_then(|process| process.samples.last());
            let last = last.unwrap_or_else(|| panic!("{name}: {stretch:?}"));
            assert!(last.missing.is_nothing(), "{name}: {last:?}");
            assert!(
                last.rss_bytes > 0 && last.disk_bytes > 0,
                "{name}: {last:?}"
            );
        }
    }
    nothing_is_left(&hosts);
}

#[tokio::test]
async fn a_chain_runs_on_two_hosts() {
    let hosts = Hosts::begin();
    let scenario = run(CHAIN, hosts.placement(&[]), Arc::new(|_| {})).await;
    assert_eq!(scenario.failure, None, "{scenario:#?}");
    assert!(scenario.is_good(), "{:#?}", scenario.findings);
    let stretch = &scenario.points[0].stretches[0];
    let chain = stretch.chain.as_ref().expect("a chain");
    assert!(stretch.done > 0);
    let sizes = chain.sizes.as_ref().expect("of a node of the run");
    let all = sizes.all();
    assert!(all.iter().all(|(_, bytes)| bytes.is_some()), "{all:?}");
    nothing_is_left(&hosts);
}

#[tokio::test]
async fn a_host_that_vanishes_ends_the_scenario() {
    let hosts = Arc::new(Hosts::begin());
    let placement = hosts.placement(&[("notary", "b")]);
    let seen = Arc::clone(&hosts);
    let events: Events = Arc::new(move |event| {
        if let Event::Load { .. } = event {
            seen.cut_off(1);
        }
    });
    let text = SWEEP
        .replace("kind = \"transfer\"\ndepth = 3", "kind = \"issue_and_pay\"")
        .replace("count = 20\n", "")
        .replace("seconds = 20", "seconds = 300");
    let begun = Instant::now();
    let scenario = run(&text, placement, events).await;
    let failure = scenario.failure.expect("a host is gone");
    assert!(
        failure.starts_with("lab.host_lost: host b is gone"),
        "{failure}"
    );
    assert!(begun.elapsed() < Duration::from_secs(120), "no long wait");
    assert!(!hosts.agents[0].address.is_empty());
    until("the nodes of the other host end", || {
        hosts.agents[0].children().is_empty()
    });
}

#[test]
fn the_command_line_takes_hosts() {
    let hosts = Hosts::begin();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = SWEEP
        .replace("kind = \"transfer\"\ndepth = 3", "kind = \"issue_and_pay\"")
        .replace("count = 20\n", "")
        .replace("seconds = 20", "seconds = 1")
        .replace("repeats = 2", "repeats = 1");
    std::fs::write(folder.path().join("two.toml"), &text).expect("a file");
    let options = hosts.options();
    let line = format!("lab run %/two.toml --out %/out --place notary=b --json {options}");
    let ran = tally(folder.path(), &line);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("on hosts a, b"), "{}", ran.err);
    nothing_is_left(&hosts);

    let linked = text.replace("banks = 2", "banks = 2\nlink = { delay_ms = 5 }");
    std::fs::write(folder.path().join("linked.toml"), linked).expect("a file");
    for (line, code, words) in [
        (
            format!("lab run %/linked.toml --out %/l {options}"),
            5,
            "network.link: it works on one machine only",
        ),
        (
            format!("lab run %/two.toml --out %/l --place notary=c {options}"),
            5,
            "notary: no host has the name c",
        ),
        (
            format!("lab run %/two.toml --out %/l --keep {options}"),
            2,
            "--keep",
        ),
        (
            "lab run %/two.toml --out %/l --host a=127.0.0.1:1".to_owned(),
            2,
            "--agent-token-file",
        ),
    ] {
        let ran = tally(folder.path(), &line);
        assert!(ran.err.contains(words), "{line}: {}", ran.err);
        assert_eq!(ran.code, code, "{line}: {}", ran.err);
    }
}
