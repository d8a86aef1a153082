//! Participants that do not accept a delivery: for lack of the application, or permanently.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use perf::topology::Network;
use serde_json::json;

use super::stage::command::{Ran, tally};
use super::stage::{self, A, B};

/// `tally` itself on a node's folder, without the application.
struct Plain(Child);

impl Plain {
    fn start(folder: &Path) -> Self {
        Self::start_logging(folder, &folder.join("plain.log"))
    }

    fn start_logging(folder: &Path, log: &Path) -> Self {
        let log = File::options().create(true).append(true).open(log);
        let mut child = Command::new(stage::binary())
            .args(["node", "run"])
            .arg(folder)
            .stdout(Stdio::piped())
            .stderr(log.expect("a file"))
            .spawn()
            .expect("tally runs");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let plain = Self(child);
        let ready = lines.find_map(|line| line.ok().filter(|line| line.contains(r#""ready":"#)));
        assert!(ready.is_some(), "a node of tally itself comes up");
        plain
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A starts a flow that delivers a deed to B.
fn deliver(network: &Network, flow: &str, more: &str) -> Ran {
    let a = network.folder(A);
    let args = json!(network.name(B)).to_string();
    std::fs::write(a.join("deed.json"), args).expect("written");
    let start = format!("flow start --node % --flow {flow} --args @%/deed.json");
    tally(a, &format!("{start} {more}"))
}

pub fn what_a_participant_lacks_the_application_for_is_delivered_later() {
    let mut network = super::network(stage::options(&["A", "B"]));
    let a = network.folder(A).to_owned();
    network.stop(B).expect("it ends in good order");
    let plain = Plain::start(network.folder(B));
    let given = deliver(&network, "trial.give_deed", "--json");
    assert_eq!(given.code, 0, "{} {}", given.out, given.err);
    let flow = given.json()["flow_id"].as_str().expect("an id").to_owned();
    let wait = format!("flow get --node % {flow} --wait delivered --timeout");
    let ran = tally(&a, &format!("{wait} 2"));
    assert!(
        ran.code == 4 && ran.err.contains("error: tally.not_yet:"),
        "{} {} {}",
        ran.code,
        ran.out,
        ran.err
    );
    drop(plain);
    network
        .start(B)
        .expect("it comes back with the application");
    let ran = tally(&a, &format!("{wait} 60"));
    assert!(
        ran.code == 0 && ran.out.contains("delivered"),
        "{} {} {}",
        ran.code,
        ran.out,
        ran.err
    );
}

pub fn states_of_a_contract_that_is_lacking_are_named_at_each_start() {
    let mut network = super::network(stage::options(&["A", "B"]));
    let given = deliver(&network, "trial.give_deed", "--wait delivered");
    assert_eq!(given.code, 0, "{} {}", given.out, given.err);
    network.stop(B).expect("it ends in good order");
    let folder = network.folder(B).to_owned();
    let log = folder.join("plain.log");
    let warned = |times: usize| {
        let text = std::fs::read_to_string(&log).expect("a log");
        let lines = text
            .lines()
            .filter(|line| line.contains("contract.unknown"));
        let named = lines.filter(|line| line.contains("trial.deed") && line.contains("1 "));
        assert_eq!(named.count(), times, "{text}");
    };
    for times in 1..=2 {
        drop(Plain::start_logging(&folder, &log));
        warned(times);
    }
    network
        .start(B)
        .expect("it comes back with the application");
    network.stop(B).expect("it ends in good order");
    let log = std::fs::read_to_string(network.log(B)).expect("a log");
    assert!(!log.contains("contract.unknown"), "{log}");
}

pub fn a_delivery_that_its_receiver_cannot_record_is_shown_with_the_reason() {
    let network = super::network(stage::options(&["A", "B"]));
    let ran = deliver(&network, "trial.show_deed", "--json");
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    let started = Instant::now();
    loop {
        let ran = tally(network.folder(A), "node deliveries --node % --json");
        assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
        let view = ran.json();
        let entries = view["entries"].as_array().expect("deliveries");
        assert!(entries.len() <= 1, "{view}");
        if let [delivery] = entries.as_slice()
            && delivery["status"] == "waiting"
        {
            assert_eq!(delivery["peer"].as_str(), Some(network.name(B)));
            assert_eq!(delivery["reason"]["code"], "node.not_a_participant");
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{view}");
    }
    for (line, shows) in [
        (
            "node peers --node %",
            "cannot record deliveries at present (1)",
        ),
        ("node deliveries --node %", "(node.not_a_participant)"),
    ] {
        let ran = tally(network.folder(A), line);
        assert!(ran.code == 0 && ran.out.contains(shows), "{}", ran.out);
    }
    // It is no refusal: the receiver may get the keys back with a backup.
    let flow = ran.json()["flow_id"].as_str().expect("an id").to_owned();
    let wait = format!("flow get --node % {flow} --wait delivered --timeout 1");
    let ran = tally(network.folder(A), &wait);
    assert!(
        ran.code == 4 && ran.err.contains("error: tally.not_yet:"),
        "{} {} {}",
        ran.code,
        ran.out,
        ran.err
    );
}
