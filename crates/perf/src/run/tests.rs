//! A run without a network: the fake target from plan to report.

use std::sync::{Arc, Mutex};

use super::{Event, Events, Options, run, samples_labels};
use crate::load::engine::Stop;
use crate::plan::{self, NoChecks};
use crate::results::CaseResult;
use crate::topology::Placement;
use crate::workload::Workloads;

const FAKE: &str = r#"
title = "Fake"
[network]
banks = 0
[work]
kind = "fake"
[load]
outstanding = 4
[run]
warm_up_s = 0.1
seconds = 0.3
repeats = 2
interleave = true
[[sweep]]
label = "outstanding"
set = "load.outstanding"
values = [1, 4]
[monitors]
machine = false
every_ms = 50
"#;

#[tokio::test]
async fn the_fake_target_runs_without_a_network_and_every_unit_is_a_sample() {
    let plan = plan::parse(
        "fake",
        "fake",
        FAKE.as_bytes(),
        &plan::Options::default(),
        &NoChecks,
    )
    .expect("in order");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = Options {
        binary: "there-is-none".into(),
        workloads: Workloads::shipped(),
        title: "a test".into(),
        version: "0".into(),
        full: false,
        keep: false,
        stop: Stop::default(),
        samples: Some(folder.path().to_owned()),
        agents: None,
        hosts: Placement::default(),
    };
    let labels: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&labels);
    let events: Events = Arc::new(move |event| {
        if let Event::Loaded { label, .. } = event {
            seen.lock().expect("no panic").push(label);
        }
    });
    let report = run(&[plan], &options, &events).await;
    let scenario = &report.scenarios[0];
    assert!(scenario.is_good(), "{scenario:#?}");
    // Rounds are in order. Points within a round are in random order.
    let mut labels = labels.lock().expect("no panic").clone();
    labels[..2].sort();
    labels[2..].sort();
    assert_eq!(
        labels,
        [
            "outstanding 1, repeat 1",
            "outstanding 4, repeat 1",
            "outstanding 1, repeat 2",
            "outstanding 4, repeat 2"
        ]
    );
    let stretches = scenario.points.iter().flat_map(|point| &point.stretches);
    let done: u64 = stretches.map(|stretch| stretch.done).sum();
    let samples = std::fs::read_to_string(folder.path().join("fake.jtl")).expect("samples");
    assert_eq!(samples.lines().count() as u64, done + 1);
    for point in ["fake, outstanding 1", "fake, outstanding 4"] {
        assert!(samples.contains(point), "{point}");
    }
    let [one, four] = &scenario.points[..] else {
        panic!("two points");
    };
    let rate = |point: &crate::results::Point| point.summary.metrics["rate_per_s"].value;
    assert!(rate(four) > rate(one), "four at a time do more than one");
    assert!(four.audits[0].clean && four.audits[0].transactions == 0);
}

#[test]
fn samples_are_called_by_work_and_point() {
    let case = |axis: &str, name: &str, number| CaseResult {
        axis: axis.to_owned(),
        name: name.to_owned(),
        number,
    };
    let works = ["pay".to_owned(), "issue".to_owned()];
    assert_eq!(samples_labels(&works, &[]), works);
    let at = [
        case("states", "5", Some(5.0)),
        case("variant", "slow", None),
    ];
    assert_eq!(
        samples_labels(&works, &at),
        ["pay, states 5, slow", "issue, states 5, slow"]
    );
}
