//! `tally bench node` in small: it fills a vault by flows, finds something with every query, and prints its line.

use std::process::Command;

use crate::stage;

#[test]
fn a_small_run_answers_every_query_and_prints_one_line_of_figures() {
    let output = Command::new(stage::binary())
        .args(["bench", "node", "--states", "2000", "--repeats", "3"])
        .args(["--windows", "1", "--window-seconds", "1"])
        .output()
        .expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(text.lines().count(), 1, "one line for programs: {text}");
    let line: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(line["vault_states"], 2_000, "{line}");
    let typical = line["vault_query_ms"].as_object().expect("a map");
    assert_eq!(typical.len(), 5);
    let more = line["vault_query_more_ms"].as_object().expect("a map");
    for (name, ms) in typical.iter().chain(more) {
        assert!(ms.as_f64().is_some_and(|ms| ms > 0.0), "{name}: {ms}");
        assert!(said.contains(name.as_str()), "a row for people: {name}");
    }
    for name in ["api_start_overhead_us", "api_start_overhead_stream_us"] {
        let cpu = &line[name];
        let part = |part: &str| cpu[part].as_f64().expect("a number");
        assert!(part("client") > 0.0 && part("server") > 0.0, "{line}");
        let sum = part("client") + part("server");
        assert!((part("total") - sum).abs() < 0.01 * sum, "{line}");
    }
}
