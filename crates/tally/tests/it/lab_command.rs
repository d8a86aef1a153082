//! `tally lab run` as people use it: its report, its exit codes, Ctrl-C, and that nothing is left behind.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use perf::report;
use perf::topology::ExternalNode;
use serde_json::Value;

use crate::stage;

const TINY: &str = r#"
title = "Tiny"
[network]
banks = 2
[work]
kind = "issue_and_pay"
[load]
outstanding = 4
[run]
warm_up_s = 0.1
seconds = 0.6
repeats = 1
[monitors]
machine = false
[[published]]
label = "Somebody"
source = "somewhere"
metric = "rate_per_s"
value = 617
"#;

/// A folder for a run: a scenario in it, and where its networks are kept.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(scenario: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("tiny.toml"), scenario).expect("written");
        std::fs::create_dir(folder.path().join("networks")).expect("made");
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(stage::binary());
        command
            .args(line.split(' '))
            .current_dir(self.folder.path())
            .env("TMPDIR", self.path("networks"))
            .env("NO_COLOR", "1");
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().expect("tally starts")
    }

    /// Neither folders nor processes of networks.
    fn nothing_is_left(&self) {
        let left = std::fs::read_dir(self.path("networks"))
            .expect("there")
            .count();
        assert_eq!(left, 0, "folders of networks");
        let folder = self.path("networks").display().to_string();
        for entry in std::fs::read_dir("/proc").expect("Linux").flatten() {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            assert!(!line.contains(&folder), "{line} still runs");
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_run_writes_its_report_prints_a_table_and_leaves_nothing() {
    let place = Place::new(TINY);
    let output = place.run("lab run tiny.toml tiny.toml --out out --json");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{err}");
    let line: Value = serde_json::from_str(out.trim()).expect("one line of JSON");
    assert_eq!(line["good"], true);
    assert_eq!(line["scenarios"].as_array().map(Vec::len), Some(2));
    let metrics = &line["scenarios"][0]["points"][0]["metrics"];
    assert!(
        metrics["rate_per_s"]["value"].as_f64() > Some(0.0),
        "{line}"
    );
    for words in [
        "published: Somebody, rate_per_s",
        "Audit clean",
        "report.html",
        "617",
    ] {
        assert!(err.contains(words), "{words}: {err}");
    }
    let report = report::read(&place.path("out")).expect("a report");
    assert!(
        report
            .scenarios
            .iter()
            .all(perf::results::Scenario::is_good)
    );
    assert!(place.path("out/report.html").exists());
    for (scenario, name) in report.scenarios.iter().zip(["tiny.jtl", "tiny-2.jtl"]) {
        let samples = std::fs::read_to_string(place.path("out").join(name)).expect("samples");
        let rows = samples.lines().count() as u64 - 1;
        assert_eq!(rows, scenario.points[0].stretches[0].done, "{name}");
    }
    place.nothing_is_left();
}

#[test]
fn what_cannot_run_says_where_and_why_and_touches_nothing() {
    let place = Place::new(&TINY.replace("outstanding = 4", "outstanding = 0"));
    let output = place.run("lab run tiny.toml");
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{err}");
    assert!(
        err.contains("lab.bad_scenario") && err.contains("tiny.toml:8"),
        "{err}"
    );
    let output = place.run("lab run tiny.toml --set load.outstanding=3 --dry-run --json");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let line: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(line[0]["name"], "tiny");
    let mut names: Vec<String> = std::fs::read_dir(place.folder.path())
        .expect("there")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["networks", "tiny.toml"]);
    place.nothing_is_left();
}

/// Waits until flows have been recorded by the first bank of a run's network.
fn until_under_load(place: &Place, run: &mut Child) {
    let end = Instant::now() + stage::DEADLINE;
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    while Instant::now() < end {
        assert!(matches!(run.try_wait(), Ok(None)), "it ended early");
        let bank = bank_folder(&place.path("networks"));
        let node = bank.and_then(|folder| ExternalNode::of_folder(&folder).ok());
        let client = node.and_then(|node| client::Client::new(node.endpoint).ok());
        let health = client.and_then(|client| runtime.block_on(client.health()).ok());
        if health.is_some_and(|health| health.ledger_seq > 20) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("no load within {:?}", stage::DEADLINE);
}

fn bank_folder(networks: &Path) -> Option<PathBuf> {
    let network = std::fs::read_dir(networks).ok()?.flatten().next()?.path();
    Some(network.join("nodes/bank-1"))
}

fn signal(run: &Child) {
    let pid = i32::try_from(run.id()).expect("a process id");
    let pid = rustix::process::Pid::from_raw(pid).expect("a process id");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
}

#[test]
fn ctrl_c_audits_reports_and_cleans_up_and_a_second_one_ends_at_once() {
    for twice in [false, true] {
        let place = Place::new(TINY);
        let mut run = place
            .command("lab run tiny.toml --out out --set run.seconds=500")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("tally starts");
        until_under_load(&place, &mut run);
        signal(&run);
        if twice {
            signal_until_gone(&mut run);
        }
        let output = run.wait_with_output().expect("it ends");
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{err}");
        place.nothing_is_left();
        if !twice {
            let report = report::read(&place.path("out")).expect("a report");
            assert!(report.interrupted);
            let point = &report.scenarios[0].points[0];
            assert!(
                point.stretches[0].done > 0 && point.audits[0].clean,
                "{err}"
            );
        }
    }
}

/// The first one may still be on its way when the second comes, and then both are one.
fn signal_until_gone(run: &mut Child) {
    let end = Instant::now() + stage::DEADLINE;
    while matches!(run.try_wait(), Ok(None)) {
        assert!(Instant::now() < end, "it goes on");
        signal(run);
        std::thread::sleep(Duration::from_millis(20));
    }
}
