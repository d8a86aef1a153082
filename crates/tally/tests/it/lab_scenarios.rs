//! `tally lab list`, `show` and `check`: scenarios on the command line, without a network.

use std::process::{Command, Output};

fn lab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tally"))
        .arg("lab")
        .args(arguments)
        .env("NO_COLOR", "1")
        .output()
        .expect("tally starts")
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[test]
fn shipped_scenarios_are_listed_and_what_is_shown_of_one_runs_again() {
    let listed = stdout(&lab(&["list"]));
    assert!(listed.contains("states-per-transaction"), "{listed}");
    let listed: serde_json::Value =
        serde_json::from_str(&stdout(&lab(&["list", "--json"]))).expect("JSON");
    assert!(
        listed[0]["seconds_expected"].as_f64() > Some(1.0),
        "{listed}"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mine.toml");
    let shown = stdout(&lab(&[
        "show",
        "states-per-transaction",
        "--set",
        "run.repeats=9",
    ]));
    assert!(shown.contains("#   states = 160"), "{shown}");
    std::fs::write(&file, &shown).expect("written");
    let path = file.display().to_string();
    let checked = stdout(&lab(&["check", &path, "issue", "--json"]));
    let checked: serde_json::Value = serde_json::from_str(&checked).expect("JSON");
    assert_eq!(checked[0]["name"], "states-per-transaction");
    assert_eq!(checked[0]["points"][4][0], "160");
    assert_eq!(checked[1]["points"].as_array().map(Vec::len), Some(1));
    assert_eq!(stdout(&lab(&["show", &path])), shown);
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_a_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("bad.toml");
    let text = "[work]\nkind = 'pay'\nstats = 3\n[network.settings]\nstore.linger_us = 99999\n[run]\nsecnds = 3\n";
    std::fs::write(&file, text).expect("written");
    let path = file.display().to_string();
    let output = lab(&["check", &path]);
    assert_eq!(output.status.code(), Some(5));
    assert!(output.stdout.is_empty());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    for wanted in [
        "error: lab.",
        &format!("{path}:3:9: work `pay`: stats: no such knob"),
        &format!("{path}:5:19: store.linger_us: 99999 is too large; it is at most 20000"),
        &format!(
            "{path}:7:1: unknown key `secnds`: `run` has no such key; did you mean `seconds`?"
        ),
        "  7 | secnds = 3\n    | ^^^^^^",
        "hint: ",
    ] {
        assert!(said.contains(wanted), "{wanted}\nin\n{said}");
    }
    let output = lab(&["show", "isue", "--json"]);
    let error: serde_json::Value = serde_json::from_slice(&output.stderr).expect("JSON");
    assert_eq!(error["error"]["code"], "lab.unknown_scenario");
    let output = lab(&["show", "issue", "--set", "run.seconds=soon"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("--set run.seconds=soon: `run.seconds` is \"soon\""),
        "{said}"
    );
}
