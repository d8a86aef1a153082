//! Pages of synthetic runs, and of folders that are not as expected.

use std::fs;
use std::path::Path;

use super::command;
use super::published_pages;
use crate::report::json;
use crate::report::saved::{SaveOptions, read, save};
use crate::report::synthetic::{Dice, Shape, point, quotable};
use crate::results::Report;
use crate::stats::summarise;

/// A page with two runs. Only one of them is saved.
const CATALOGUE: &str = "[[page]]\nname = 'rates'\ntitle = 'Rates'\nquestion = 'How many a second?'\npicture = true\n\
not_reproduced = [{ part = '24 | cores', reason = 'There are two.' }]\n\
[[page.run]]\nfile = 'issue'\nscenario = 'issue'\n[[page.run]]\nfile = 'swap-latency'\nscenario = 'swap-latency'\n";

fn options(folder: &Path) -> SaveOptions {
    SaveOptions {
        folder: folder.join("runs"),
        ..SaveOptions::default()
    }
}

/// Returns a folder with the catalogue and these saved runs.
fn folder(runs: &[&Report]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("pages.toml"), CATALOGUE).expect("written");
    for run in runs {
        save(run, &options(folder.path())).expect("saved");
    }
    folder
}

#[test]
fn pages_show_saved_runs_and_say_which_are_missing() {
    let mut issue = quotable("issue");
    let plan = command::plan(&super::catalogue::Run {
        scenario: "issue".to_owned(),
        ..Default::default()
    });
    issue.scenarios[0].source = plan.expect("shipped").to_toml();
    issue.scenarios[0].findings.clear();
    let pages = published_pages(folder(&[&issue]).path()).expect("pages");
    let names: Vec<&str> = pages.files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["README.md", "issue-rate-per-s.svg", "rates.md", "rates.svg"]
    );
    assert_eq!(pages.picture.as_deref(), Some("rates.svg"));
    let page = &pages.files["rates.md"];
    let rate = &issue.scenarios[0].points[0].summary.metrics["rate_per_s"];
    let (low, high) = (rate.low.expect("five"), rate.high.expect("five"));
    for part in [
        "# Rates\n<!-- Generated",
        "How many a second?",
        "![Rate, a second, ours and published](issue-rate-per-s.svg)",
        &format!("| {:.0} | {low:.0} to {high:.0} | 5 | ", rate.value),
        " | 2,580 | 146 |",
        "1. Corda Enterprise 4.0: ",
        "| hardware | one machine: AMD EPYC 9B14, 2 cores, 16 GB memory, virtual, disk ext4 on vda, not rotating | Hardware of Corda Enterprise 4.0 |",
        "| version | tally 0.4.0 |",
        "| date | 2026-11-21 17:25 UTC |",
        "| audit | clean: 1 audit, a sample of 24,310 transactions checked, ",
        "[issue.json](runs/issue.json)",
        "To repeat it:\n\n```sh\ntally lab run issue --out run-issue\ntally lab save run-issue\nmake results\n```",
        "## Swap latency by parties, in four variants\n\n**Not measured yet.**",
        "- **24 \\| cores:** There are two.",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(!page.contains("Too short"), "{page}");
    assert!(
        !page.contains("Drift"),
        "a minute has no drift by the hour: {page}"
    );
    let index = &pages.files["README.md"];
    for part in [
        "| [Rates](rates.md) | Issue | Rate: ",
        "|  | Swap latency by parties, in four variants |  | not measured yet |",
        "![Main figures, ours and published](rates.svg)",
    ] {
        assert!(index.contains(part), "{part} in {index}");
    }
    for name in ["rates.svg", "issue-rate-per-s.svg"] {
        let svg = &pages.files[name];
        for part in [
            "Corda Enterprise 4.0",
            "Tallystick, 2 cores",
            "AMD EPYC 9B14",
        ] {
            assert!(svg.contains(part), "{name}: {part}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("var("), "{name}");
    }
}

#[test]
fn one_long_repeat_can_be_quoted_and_is_drawn_over_time() {
    let mut soak = quotable("issue");
    let shape = Shape {
        rate: 300.0,
        p50_ms: 6.0,
        seconds: 3_600,
        banks: 2,
        failing: 0.0,
    };
    let mut long = point(&mut Dice::new(5), &[], shape, 1, &mut 0);
    long.summary = summarise(&long.stretches, 0.0);
    soak.scenarios[0].points = vec![long];
    let folder = folder(&[&soak]);
    let path = folder.path().join("runs/issue.json");
    let size = fs::metadata(&path).expect("saved").len();
    assert!(size < 60_000, "{size} bytes");
    let saved = read(&path).expect("readable");
    let [full, saved] = [&soak, &saved].map(|report| {
        let metrics = &report.scenarios[0].points[0].summary.metrics;
        metrics["rss_drift_mb_per_h"].clone()
    });
    // The interval of the line through the whole series is kept.
    let (full, saved) = (full.low.expect("a line"), saved.low.expect("a line"));
    assert!((full - saved).abs() < 1e-6 * full.abs(), "{full} {saved}");
    let pages = published_pages(folder.path()).expect("pages");
    let page = &pages.files["rates.md"];
    assert!(!page.contains("Too short"), "{page}");
    assert!(page.contains("Drift of the rate"), "{page}");
    for (name, part) in [
        ("issue-rate-over-time.svg", "Rate, units a second"),
        ("issue-latency-over-time.svg", ">median<"),
        ("issue-memory-over-time.svg", ">bank-2<"),
    ] {
        assert!(page.contains(&format!("]({name})")), "{name} in {page}");
        assert!(pages.files[name].contains(part), "{part} in {name}");
    }
}

#[test]
fn short_and_changed_runs_are_marked() {
    let mut issue = quotable("issue");
    issue.scenarios[0].points[0].stretches.truncate(2);
    let folder = folder(&[]);
    let options = SaveOptions {
        short: true,
        ..options(folder.path())
    };
    save(&issue, &options).expect("saved");
    let pages = published_pages(folder.path()).expect("pages");
    assert_eq!(pages.picture, None, "the first page shows no such figure");
    for (name, part) in [
        (
            "rates.md",
            "> **Too short to quote:** repeats: 2, expected 5",
        ),
        ("rates.md", "The scenario has changed since this run."),
        ("README.md", "**too short to quote**, 2026-11-21"),
    ] {
        assert!(pages.files[name].contains(part), "{part} in {name}");
    }
}

#[test]
fn published_cases_without_a_point_of_ours_are_in_the_table() {
    let mut swap = quotable("swap-latency");
    swap.scenarios[0]
        .points
        .retain(|point| point.at[0].name != "10");
    let pages = published_pages(folder(&[&swap]).path()).expect("pages");
    let page = &pages.files["rates.md"];
    let row = "| 10 | any | not measured |  |  |  | 38,000 | 14,400 | 2,950 |";
    assert!(page.contains(row), "{page}");
}

#[test]
fn a_folder_that_is_not_as_described_is_refused() {
    let issue = quotable("issue");
    for (change, expected) in [
        ("none", None),
        ("no catalogue", Some("lab.results_catalogue")),
        ("unknown scenario", Some("lab.results_catalogue")),
        ("unknown setting", Some("lab.results_catalogue")),
        ("surplus run", Some("lab.results_catalogue")),
        ("no run file", Some("lab.saved_unreadable")),
        ("a full report", Some("lab.saved_unreadable")),
        ("too large", Some("lab.save_too_large")),
    ] {
        let folder = folder(&[&issue]);
        let catalogue = folder.path().join("pages.toml");
        let file = folder.path().join("runs/issue.json");
        let write = |path: &Path, text: String| fs::write(path, text).expect("written");
        match change {
            "no catalogue" => fs::remove_file(&catalogue).expect("removed"),
            "unknown scenario" => write(
                &catalogue,
                CATALOGUE.replace("scenario = 'issue'", "scenario = 'x'"),
            ),
            "unknown setting" => write(
                &catalogue,
                CATALOGUE.replace(
                    "scenario = 'issue'",
                    "scenario = 'issue'\nset = ['run.x=1']",
                ),
            ),
            "surplus run" => write(&folder.path().join("runs/other.json"), "{}".to_owned()),
            "no run file" => write(&file, "{}".to_owned()),
            "a full report" => {
                let mut small = issue.clone();
                for stretch in &mut small.scenarios[0].points[0].stretches {
                    (stretch.series, stretch.processes, stretch.metrics) = Default::default();
                }
                write(&file, json(&small).expect("JSON"));
            }
            "too large" => write(&file, " ".repeat(600_000)),
            _ => {}
        }
        let error = published_pages(folder.path()).err();
        let code = error.as_ref().map(super::PagesError::code);
        assert_eq!(code, expected, "{change}: {error:?}");
    }
}

#[test]
fn the_catalogue_of_the_repository_makes_pages() {
    let results = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results");
    let pages = published_pages(Path::new(results)).expect("a catalogue");
    let names = pages.files.keys().filter(|name| name.ends_with(".md"));
    assert!(names.count() > 10, "{:?}", pages.files.keys());
    // Writes them, and those of synthetic runs, to a folder if the environment names one.
    if let Some(out) = std::env::var_os("TALLY_RESULT_PAGES") {
        let synthetic =
            published_pages(folder(&[&quotable("issue"), &quotable("swap-latency")]).path());
        for (name, pages) in [
            ("repository", pages),
            ("synthetic", synthetic.expect("pages")),
        ] {
            let out = Path::new(&out).join(name);
            fs::create_dir_all(&out).expect("the folder can be made");
            for (name, text) in pages.files {
                fs::write(out.join(name), text).expect("the folder can be written");
            }
        }
    }
}
