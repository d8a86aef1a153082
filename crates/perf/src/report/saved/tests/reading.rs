//! Reading saved run files: each figure is computed again, and each change is refused.

use std::fs;
use std::path::Path;

use super::folder;
use crate::report::json;
use crate::report::saved::read;
use crate::report::synthetic::{Dice, Shape, quotable, stretch};
use crate::results::{Estimate, Point, Report};
use crate::stats::summarise;

/// Returns a run of one repeat of an hour.
fn soak() -> Report {
    let mut report = quotable("issue");
    let shape = Shape {
        rate: 300.0,
        p50_ms: 5.0,
        seconds: 3_600,
        banks: 1,
        failing: 0.0,
    };
    let point = &mut report.scenarios[0].points[0];
    point.stretches = vec![stretch(&mut Dice::new(5), shape, 0)];
    point.summary = summarise(&point.stretches, 2.0);
    report
}

#[test]
fn a_single_long_repeat_keeps_the_intervals_of_its_drifts() {
    let full = soak();
    let folder = folder(&full);
    let saved = read(&folder.path().join("runs/issue.json")).expect("readable");
    let [full, saved] =
        [&full, &saved].map(|report| &report.scenarios[0].points[0].summary.metrics);
    assert_eq!(
        full.keys().collect::<Vec<_>>(),
        saved.keys().collect::<Vec<_>>()
    );
    for name in [
        "rate_drift_percent_per_h",
        "p50_drift_percent_per_h",
        "rss_drift_mb_per_h",
        "disk_mb_per_h",
    ] {
        let (full, saved) = (&full[name], &saved[name]);
        let width = full.high.expect("a line") - full.low.expect("a line");
        for (full, saved) in [
            (Some(full.value), Some(saved.value)),
            (full.low, saved.low),
            (full.high, saved.high),
        ] {
            let (full, saved) = (full.expect("a line"), saved.expect("a line"));
            assert!(
                (full - saved).abs() < 0.01 * width,
                "{name}: {saved}, not {full}"
            );
        }
    }
}

/// A change that a test makes in a saved run.
type Change = fn(&mut Point);

#[test]
fn every_figure_of_a_saved_file_is_computed_again() {
    fn rate(point: &mut Point) -> &mut Estimate {
        let metrics = &mut point.summary.metrics;
        metrics.get_mut("rate_per_s").expect("measured")
    }
    let changes: [(&str, Change, Option<&str>); 14] = [
        ("nothing", |_| {}, None),
        (
            "a value",
            |point| rate(point).value *= 1.01,
            Some("rate_per_s with its interval"),
        ),
        (
            "the lower end",
            |point| rate(point).low = Some(1.0),
            Some("rate_per_s with its interval"),
        ),
        (
            "an interval left out",
            |point| (rate(point).low, rate(point).high) = (None, None),
            Some("rate_per_s with its interval"),
        ),
        (
            "a figure of the summary left out",
            |point| {
                point.summary.metrics.remove("p99_ms");
            },
            Some("p99_ms with its interval"),
        ),
        (
            "a figure that no repeat has",
            |point| {
                let metrics = &mut point.summary.metrics;
                metrics.insert("knee_per_s".to_owned(), Estimate::default());
            },
            Some("knee_per_s with its interval"),
        ),
        (
            "the ceiling",
            |point| {
                let metrics = &mut point.summary.metrics;
                metrics.get_mut("ceiling_per_s").expect("measured").value += 9.0;
            },
            Some("ceiling_per_s with its interval"),
        ),
        (
            "a repeat left out",
            |point| point.stretches.truncate(4),
            Some("with its interval"),
        ),
        (
            "all repeats but one left out",
            |point| point.stretches.truncate(1),
            Some("with its interval"),
        ),
        (
            "all repeats left out",
            |point| point.stretches.clear(),
            Some("a point without a repeat"),
        ),
        (
            "the figures of a repeat left out",
            |point| point.stretches[2].figures.clear(),
            Some("rate_per_s of a repeat is absent"),
        ),
        (
            "a rate that the counts do not give",
            |point| {
                point.stretches[2].done += 900;
            },
            Some("rate_per_s of a repeat"),
        ),
        (
            "failures that the rate of errors does not show",
            |point| point.stretches[2].faults.clear(),
            Some("error_share of a repeat"),
        ),
        (
            "a latency of a repeat",
            |point| {
                point.stretches[2].figures.insert("mean_ms".to_owned(), 1.0);
            },
            Some("mean_ms with its interval"),
        ),
    ];
    let folder = folder(&quotable("issue"));
    let path = folder.path().join("runs/issue.json");
    let saved = read(&path).expect("readable");
    for (name, change, expected) in changes {
        let mut changed = saved.clone();
        change(&mut changed.scenarios[0].points[0]);
        refused_with(&path, &changed, name, expected);
    }
}

#[test]
fn the_interval_of_a_drift_is_computed_again() {
    let folder = folder(&soak());
    let path = folder.path().join("runs/issue.json");
    let saved = read(&path).expect("readable");
    let changes: [(&str, Change); 3] = [
        ("an end", |point| {
            let drift = point.summary.metrics.get_mut("rss_drift_mb_per_h");
            let drift = drift.expect("measured");
            drift.high = drift.high.map(|high| high * 1.5);
        }),
        ("a block", |point| {
            let blocks = &mut point.stretches[0].drift_blocks;
            blocks.get_mut("rss_drift_mb_per_h").expect("kept")[3].1 *= 2.0;
        }),
        ("all blocks left out", |point| {
            point.stretches[0].drift_blocks.clear();
        }),
    ];
    for (name, change) in changes {
        let mut changed = saved.clone();
        change(&mut changed.scenarios[0].points[0]);
        refused_with(&path, &changed, name, Some("with its interval"));
    }
}

/// Writes a changed file, and checks that reading it fails with these words, or not at all.
fn refused_with(path: &Path, changed: &Report, name: &str, expected: Option<&str>) {
    fs::write(path, json(changed).expect("JSON")).expect("written");
    let found = read(path).err().map(|error| {
        assert_eq!(error.code(), "lab.saved_unreadable", "{name}");
        error.to_string()
    });
    match (&found, expected) {
        (Some(found), Some(expected)) => assert!(found.contains(expected), "{name}: {found}"),
        (found, expected) => assert_eq!(found.as_deref(), expected, "{name}"),
    }
}

#[test]
fn a_file_that_is_no_saved_run_is_refused() {
    let folder = folder(&quotable("issue"));
    let path = folder.path().join("runs/issue.json");
    let saved = read(&path).expect("readable");
    type Change = (&'static str, fn(&mut Report), &'static str);
    let changes: [Change; 4] = [
        (
            "two scenarios",
            |report| report.scenarios.push(report.scenarios[0].clone()),
            "2 scenarios, expected one",
        ),
        (
            "an early end",
            |report| report.interrupted = true,
            "did not end",
        ),
        (
            "no audit",
            |report| report.scenarios[0].points[0].audits.clear(),
            "no clean audit",
        ),
        (
            "a failed audit",
            |report| report.scenarios[0].points[0].audits[0].clean = false,
            "no clean audit",
        ),
    ];
    for (name, change, expected) in changes {
        let mut changed = saved.clone();
        change(&mut changed);
        refused_with(&path, &changed, name, Some(expected));
    }
    fs::write(&path, " ".repeat(600_000)).expect("written");
    let error = read(&path).expect_err("too large");
    assert_eq!(error.code(), "lab.save_too_large", "{error}");
}
