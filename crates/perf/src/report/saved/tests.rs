//! Saved synthetic runs: they keep every repeat, stay small, and are refused if their figures cannot be quoted.

mod reading;

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{SaveError, SaveOptions, read, save};
use crate::report::synthetic::quotable;
use crate::report::{json, parse};
use crate::results::{AuditResult, Point, Report, Scenario};
use crate::stats::summarise;

fn options(folder: &Path) -> SaveOptions {
    SaveOptions {
        folder: folder.join("runs"),
        ..SaveOptions::default()
    }
}

/// Returns a folder with this saved run.
fn folder(run: &Report) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    save(run, &options(folder.path())).expect("saved");
    folder
}

#[test]
fn a_saved_file_gives_the_intervals_of_the_full_report() {
    for name in ["issue", "swap-latency"] {
        let full = quotable(name);
        let folder = folder(&full);
        let path = folder.path().join(format!("runs/{name}.json"));
        let saved = read(&path).expect("readable");
        let (full, saved) = (&full.scenarios[0], &saved.scenarios[0]);
        assert_eq!(full.points.len(), saved.points.len());
        for (full, saved) in full.points.iter().zip(&saved.points) {
            assert_eq!(full.stretches.len(), saved.stretches.len());
            let counts = |scenario: &Point| {
                let repeats = scenario.stretches.iter();
                let counts = repeats.map(|one| (one.done, one.failed(), one.latencies.count()));
                counts.collect::<Vec<_>>()
            };
            assert_eq!(counts(full), counts(saved));
            let again = summarise(&saved.stretches, 0.0).metrics;
            assert!(again.len() >= full.summary.metrics.len(), "{name}");
            for (metric, expected) in &full.summary.metrics {
                let found = &again[metric];
                let ends = [Some(expected.value), expected.low, expected.high];
                let size = ends.into_iter().flatten().map(f64::abs).fold(0.0, f64::max);
                for (found, expected) in [
                    (Some(found.value), Some(expected.value)),
                    (found.low, expected.low),
                    (found.high, expected.high),
                ] {
                    let (found, expected) = (found.expect("five repeats"), expected.expect("too"));
                    let error = (found - expected).abs();
                    assert!(error <= 1e-6 * size, "{metric}: {found}, not {expected}");
                }
            }
        }
    }
}

#[test]
fn a_saved_file_is_small_and_saving_it_again_changes_nothing() {
    let swap = quotable("swap-latency");
    let folder = folder(&swap);
    let path = folder.path().join("runs/swap-latency.json");
    let text = fs::read_to_string(&path).expect("saved");
    // Twelve points of five repeats.
    assert!(text.len() < 200_000, "{} bytes", text.len());
    let repeats = text.lines().filter(|line| line.contains("\"started_ms\""));
    assert_eq!(repeats.count(), 60, "one line for each repeat");
    let again = parse(text.as_bytes()).expect("a report");
    save(&again, &options(folder.path())).expect("saved");
    assert_eq!(fs::read_to_string(&path).expect("saved"), text);
    let whole = json(&swap).expect("JSON");
    assert!(whole.len() > 10 * text.len(), "{} bytes", whole.len());
}

#[test]
fn the_script_of_the_guide_computes_the_same_intervals() {
    let folder = folder(&quotable("issue"));
    let path = folder.path().join("runs/issue.json");
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scripts/recompute-intervals"
    );
    let judged = |path: &Path| {
        let output = Command::new("python3")
            .args([script.as_ref(), path.as_os_str(), "rate_per_s".as_ref()])
            .output();
        output.expect("python3 is installed (make setup)")
    };
    let good = judged(&path);
    let words = String::from_utf8_lossy(&good.stdout).into_owned();
    assert!(good.status.success(), "{good:?}");
    assert!(
        words.starts_with("all: ") && words.ends_with("of 5 repeats\n"),
        "{words}"
    );
    let mut wrong = read(&path).expect("readable");
    let metrics = &mut wrong.scenarios[0].points[0].summary.metrics;
    let rate = metrics.get_mut("rate_per_s").expect("measured");
    rate.high = rate.high.map(|high| high * 1.01);
    fs::write(&path, json(&wrong).expect("JSON")).expect("written");
    assert!(!judged(&path).status.success());
    let error = read(&path).expect_err("another interval");
    assert_eq!(error.code(), "lab.saved_unreadable", "{error}");
}

#[test]
fn runs_that_cannot_be_quoted_are_refused() {
    let change = |change: &dyn Fn(&mut Report)| {
        let mut report = quotable("issue");
        change(&mut report);
        report
    };
    let scenario = |report: &mut Report, change: &dyn Fn(&mut Scenario)| {
        report.scenarios.iter_mut().for_each(change);
    };
    let chain = |setting: &str| format!("[chain]\n{setting}\n[run]\nseconds = 60\n");
    let network = |setting: &str| {
        format!("[network]\n{setting}\n[work]\nkind = 'command'\n[run]\nseconds = 60\n")
    };
    let failed = AuditResult {
        clean: false,
        ..AuditResult::default()
    };
    for (report, name, expected) in [
        (change(&|_| {}), None, None),
        (
            change(&|report| report.interrupted = true),
            None,
            Some("lab.save_unfit"),
        ),
        (
            change(&|report| report.scenarios.clear()),
            None,
            Some("lab.save_unfit"),
        ),
        (
            change(&|report| scenario(report, &|one| one.failure = Some("x.y: z".into()))),
            None,
            Some("lab.save_unfit"),
        ),
        (
            change(&|report| scenario(report, &|one| one.points[0].audits.clear())),
            None,
            Some("lab.save_unfit"),
        ),
        (
            change(&|report| scenario(report, &|one| one.points[0].audits = vec![failed.clone()])),
            None,
            Some("lab.save_unfit"),
        ),
        (
            change(&|report| scenario(report, &|one| one.points[0].stretches.clear())),
            None,
            Some("lab.save_unfit"),
        ),
        (
            change(&|report| scenario(report, &|one| one.points[0].stretches.truncate(4))),
            None,
            Some("lab.save_too_short"),
        ),
        (
            change(&|report| {
                scenario(report, &|one| {
                    one.source = network("target = { banks = ['nodes/bank-1'] }");
                });
            }),
            None,
            Some("lab.save_private"),
        ),
        (
            change(&|report| {
                scenario(report, &|one| {
                    one.source = network("target = { command = ['../ada/agent'] }");
                });
            }),
            None,
            Some("lab.save_private"),
        ),
        (
            change(&|report| scenario(report, &|one| one.about.push_str(" See ~/net/bank-1."))),
            None,
            Some("lab.save_private"),
        ),
        (
            change(&|report| {
                scenario(report, &|one| {
                    let values = &mut one.published[0].values;
                    values.insert("/home/ada/tally".to_owned(), 5.0);
                });
            }),
            None,
            Some("lab.save_private"),
        ),
        (
            change(&|report| scenario(report, &|one| one.source.push_str("# /home/ada/x"))),
            None,
            Some("lab.save_private"),
        ),
        (
            change(&|report| scenario(report, &|one| one.title.push_str(" on ada-laptop"))),
            None,
            Some("lab.save_private"),
        ),
        (
            change(&|report| scenario(report, &|one| one.about = "x".repeat(600_000))),
            None,
            Some("lab.save_too_large"),
        ),
        (
            change(&|report| {
                scenario(report, &|one| {
                    one.source = chain("accounts = ['swordfish']")
                })
            }),
            None,
            Some("lab.save_private"),
        ),
        (
            change(&|report| {
                scenario(report, &|one| {
                    one.source = chain(
                        "target = { kind = 'nxt', servers = ['http://ledger.example:26876'] }",
                    );
                });
            }),
            None,
            Some("lab.save_private"),
        ),
        (
            change(&|report| scenario(report, &|one| one.source = chain("accounts = 2"))),
            None,
            None,
        ),
        (
            change(&|report| report.scenarios.push(report.scenarios[0].clone())),
            None,
            Some("lab.save_names"),
        ),
        (change(&|_| {}), Some("../issue"), Some("lab.save_names")),
        (change(&|_| {}), Some("issue-16-cores"), None),
        (
            change(&|report| report.scenarios.push(report.scenarios[0].clone())),
            Some("issue"),
            Some("lab.save_names"),
        ),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let options = SaveOptions {
            name: name.map(str::to_owned),
            names: vec!["ada-laptop".to_owned()],
            ..options(folder.path())
        };
        let saved = save(&report, &options);
        assert_eq!(
            saved.as_ref().err().map(SaveError::code),
            expected,
            "{saved:?}"
        );
        assert_eq!(folder.path().join("runs").exists(), expected.is_none());
    }
}
