//! Comparisons as people and scripts make them: of scenarios run side by side, of finished reports, of the cases of an axis.

use std::path::Path;

use serde_json::Value;

use crate::stage::command::{Ran, tally};

/// A target with known latencies and no network; a stretch takes a fifth of a second. The other side differs tenfold, so that a
/// short stall of the machine reverses no pair.
const FAKE: &str = "[network]\nbanks = 0\n[work]\nkind = 'fake'\nlatency_ms = 5\n[load]\noutstanding = 4\n\
    [run]\nwarm_up_s = 0\nseconds = 0.2\n[monitors]\nevery_ms = 0\nmachine = false\n";

/// Runs `tally lab compare` with the arguments in `line`. `%` stands for the folder.
fn compare(folder: &Path, line: &str) -> Ran {
    tally(folder, &format!("lab compare {line}"))
}

/// The verdicts of a metric, point by point.
fn verdicts<'a>(comparison: &'a Value, metric: &str) -> Vec<&'a str> {
    let metrics = comparison["metrics"].as_array().expect("metrics");
    let of = metrics
        .iter()
        .filter(|compared| compared["metric"] == metric);
    of.map(|compared| compared["verdict"].as_str().expect("words"))
        .collect()
}

#[test]
fn sides_are_run_in_pairs_and_their_reports_are_compared_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    std::fs::write(folder.join("fake.toml"), FAKE).expect("the folder is ours");

    let line = "%/fake.toml --set-b work.latency_ms=50 --pairs 10 --out %/out --json";
    let ran = compare(folder, line);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let found = ran.json();
    assert_eq!(found["test"]["count"], 10);
    assert_eq!(verdicts(&found, "mean_ms"), ["higher"], "{found}");
    assert_eq!(verdicts(&found, "rate_per_s"), ["lower"], "{found}");
    let about = found["sides"][1]["about"].as_str().expect("words");
    assert!(about.contains("work.latency_ms=50"), "{about}");
    for name in [
        "comparison.html",
        "comparison.json",
        "report.html",
        "A.toml",
        "B.toml",
    ] {
        assert!(folder.join("out").join(name).is_file(), "{name}");
    }

    let again = compare(folder, "%/out --axis side --json --fail-on-change");
    assert_eq!(again.code, 5, "{}", again.err);
    assert!(again.err.contains("lab.changed"), "{}", again.err);
    assert_eq!(verdicts(&again.json(), "mean_ms"), ["higher"]);

    let same = compare(folder, "%/out %/out/report.json --fail-on-change");
    assert_eq!(same.code, 0, "{}", same.err);
    for words in ["0 of ", "not shown", "runs of their own", "Welch"] {
        assert!(same.out.contains(words), "{words}: {}", same.out);
    }
}

#[test]
fn cases_of_an_axis_are_run_in_pairs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let sweep = "[[sweep]]\nlabel = 'latency'\nset = 'work.latency_ms'\nvalues = [5, 50]\n";
    std::fs::write(folder.join("fake.toml"), format!("{FAKE}{sweep}")).expect("the folder is ours");
    let ran = compare(folder, "%/fake.toml --axis latency --pairs 10 --out %/out");
    assert_eq!(ran.code, 0, "{}", ran.err);
    for words in ["higher: worse", "lower: worse", "10 pairs", "latency 50"] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    std::fs::write(folder.join("fake.toml"), FAKE).expect("the folder is ours");
    std::fs::write(folder.join("bad.json"), "{}").expect("the folder is ours");
    for (line, exit, code) in [
        ("%/fake.toml", 5, "lab.compare_sides"),
        ("%/fake.toml %/bad.json", 5, "lab.compare_mixed"),
        ("%/bad.json %/bad.json", 5, "lab.report_unreadable"),
        (
            "%/bad.json --set-b work.latency_ms=8",
            5,
            "lab.compare_mixed",
        ),
        ("%/fake.toml %/fake.toml --axis x", 5, "lab.compare_mixed"),
        ("%/fake.toml --binary-b %/no-such-file", 5, "tally.file"),
        ("%/fake.toml %/fake.toml --pairs 9", 2, "--pairs"),
    ] {
        let ran = compare(folder, line);
        assert_eq!(ran.code, exit, "{line}: {}", ran.err);
        assert!(ran.err.contains(code), "{line}: {}", ran.err);
        assert_eq!(ran.out, "", "{line}");
    }
}

#[test]
fn the_comparison_finds_what_was_planted_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ran = tally(folder.path(), "lab selftest --fake --json");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let found = ran.json();
    assert_eq!(found["aa_false_findings"], 0, "{found}");
    assert_eq!(found["planted"]["found"], true, "{found}");
    assert_eq!(found["network"], Value::Null);
}

#[test]
fn a_comparison_that_is_asked_for_agents_says_that_it_has_none() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for line in [
        "issue issue --agent 127.0.0.1:7000",
        "issue issue --agent 127.0.0.1:7000 --agent-token-file token",
    ] {
        let ran = compare(folder.path(), line);
        assert_eq!(ran.code, 2, "{line}: {}", ran.err);
        assert!(
            ran.err.contains("agents are for 'tally lab run'"),
            "{}",
            ran.err
        );
    }
}
