//! Agents and a coordinator in one process, over loopback, with the fake target as work: shares, sums, refusals.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use perf::agent::{Agent, AgentAddress, AgentError, Task, Team, Token};
use perf::load::engine::{LoadEnvironment, Real, SampleSink, Settings};
use perf::plan::{Closed, Load, Open, Shape, Think, Work};
use perf::results::Stretch;
use perf::workload::{Site, Workloads};
use primitives::Coded;

const SECRET: &str = "a token of sufficient length";

async fn agent() -> (SocketAddr, String) {
    let token = Token::new(SECRET).expect("long enough");
    let agent = Agent::bind("127.0.0.1:0", token, Workloads::shipped(), None, |_| {}).await;
    let agent = agent.expect("loopback is there");
    let at = agent.address().expect("it listens");
    let fingerprint = agent.fingerprint().to_string();
    tokio::spawn(agent.serve());
    (at, fingerprint)
}

fn address(at: SocketAddr, more: &str) -> AgentAddress {
    format!("{at}{more}").parse().expect("an address")
}

fn fake(knobs: &str) -> Task {
    let knobs: BTreeMap<String, toml::Value> = toml::from_str(knobs).expect("TOML");
    Task {
        banks: Vec::new(),
        streams: 1,
        chain: None,
        work: vec![Work {
            kind: "fake".to_owned(),
            label: "fake".to_owned(),
            weight: 1,
            knobs,
        }],
        mix_seed: 1,
        workers_max: 64,
    }
}

fn settings(seconds: f64, count: Option<u64>) -> Settings {
    Settings {
        warm_up: Duration::ZERO,
        measured: Duration::from_secs_f64(seconds),
        count,
        seed: 3,
        labels: vec!["fake".to_owned()],
        unfinished_after: Duration::from_secs(20),
    }
}

async fn measure(
    team: &mut Team,
    task: &Task,
    load: &Load,
    settings: &Settings,
    around: &LoadEnvironment,
) -> Stretch {
    let clock = Real::since(Instant::now());
    let site = Arc::new(Site::new(Vec::new(), None, 1));
    let together = team.stretch(&clock, task, load, settings, around, &site);
    let together = together.await;
    assert_eq!(together.failure, None);
    together.stretch
}

#[tokio::test]
async fn agents_share_a_load_and_their_results_add_up() {
    let (one, fingerprint) = agent().await;
    let (other, _) = agent().await;
    let addresses = [
        address(one, &format!(",fingerprint={fingerprint}")),
        address(other, ",weight=3"),
    ];
    let token = Token::new(SECRET).expect("long enough");
    let mut team = Team::connect(&addresses, &token)
        .await
        .expect("both are there");
    assert!(team.members().any(|(_, seen)| seen == fingerprint));

    // A count is divided exactly, in a closed loop and in an open one; failures are known by code.
    let task = fake("latency_ms = 2\nerror_share = 0.25\nretry_share = 0.1");
    let closed = Load::Closed(Closed {
        outstanding: 8,
        think: Think::Fixed(0.0),
    });
    let open = Load::Open(Open {
        shape: Shape::Constant(2000.0),
        poisson: false,
        outstanding_max: 1000,
    });
    for load in [&closed, &open] {
        let (sink, mut rows) = SampleSink::channel();
        let around = LoadEnvironment {
            samples: Some(sink),
            ..LoadEnvironment::default()
        };
        let all = measure(
            &mut team,
            &task,
            load,
            &settings(60.0, Some(1_000)),
            &around,
        )
        .await;
        drop(around);
        assert_eq!((all.due, all.done + all.failed()), (1_000, 1_000));
        assert_eq!(all.latencies.count(), all.done);
        assert_eq!(all.faults.len(), 1);
        assert!((150..350).contains(&all.failed()), "{:?}", all.faults);
        assert!((50..200).contains(&all.retries), "{}", all.retries);
        assert_eq!((all.generator.agents, all.generator.agents_lost), (2, 0));
        assert!(all.latencies.quantile_ms(0.0) >= 1.99);
        let series: u64 = all.series.iter().map(|second| second.done).sum();
        assert_eq!(series, all.done);
        let mut units = 0;
        while let Ok(batch) = rows.try_recv() {
            units += batch.len();
        }
        assert_eq!(units, 1_000);
    }
    // The heavier agent gets the only worker; the other has no work.
    let single = Load::Closed(Closed {
        outstanding: 1,
        think: Think::Fixed(0.0),
    });
    let around = LoadEnvironment::default();
    let all = measure(&mut team, &task, &single, &settings(60.0, None), &{
        around.stop.ask();
        around
    })
    .await;
    assert_eq!(all.due, 0);
}

#[tokio::test]
async fn strangers_and_second_coordinators_are_refused_with_a_code() {
    let (at, _) = agent().await;
    let token = Token::new(SECRET).expect("long enough");
    let code = |refused: Result<Team, AgentError>| refused.err().map(|error| error.code());
    let here = [address(at, "")];
    let first = Team::connect(&here, &token).await.expect("it is free");
    assert_eq!(
        code(Team::connect(&here, &token).await),
        Some("lab.agent_busy")
    );
    let wrong = Token::new("another token, long enough").expect("long enough");
    assert_eq!(
        code(Team::connect(&here, &wrong).await),
        Some("lab.agent_denied")
    );
    let pinned = [address(at, &format!(",fingerprint={}", "ab".repeat(32)))];
    assert_eq!(
        code(Team::connect(&pinned, &token).await),
        Some("lab.agent_unreachable")
    );
    assert_eq!(
        Token::new(" short ").err().map(|error| error.code()),
        Some("lab.agent_token")
    );

    // The agent is free again when the first coordinator has gone.
    drop(first);
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        match Team::connect(&here, &token).await {
            Ok(_) => break,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        tokio::task::yield_now().await;
    }

    // A listener that is not an agent is detected.
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("loopback");
    let at = nobody.local_addr().expect("it listens");
    tokio::spawn(async move { while nobody.accept().await.is_ok() {} });
    assert_eq!(
        code(Team::connect(&[address(at, "")], &token).await),
        Some("lab.agent_unreachable")
    );
}

#[tokio::test]
async fn work_that_cannot_be_set_up_is_told_and_the_agent_stays() {
    let (at, _) = agent().await;
    let token = Token::new(SECRET).expect("long enough");
    let mut team = Team::connect(&[address(at, "")], &token)
        .await
        .expect("it is free");
    let clock = Real::since(Instant::now());
    let site = Arc::new(Site::new(Vec::new(), None, 1));
    let load = Load::Closed(Closed {
        outstanding: 1,
        think: Think::Fixed(0.0),
    });
    let around = LoadEnvironment::default();
    let bad = fake("nonsense = 1");
    let together = team
        .stretch(&clock, &bad, &load, &settings(1.0, Some(5)), &around, &site)
        .await;
    let failed = together.failure.expect("there is no such knob");
    assert_eq!(failed.fault.code, "lab.bad_job");
    let good = fake("latency_ms = 1");
    let all = measure(&mut team, &good, &load, &settings(20.0, Some(5)), &around).await;
    assert_eq!(all.done, 5);
}
