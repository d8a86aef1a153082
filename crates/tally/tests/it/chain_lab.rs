//! The laboratory on a chain of real nodes: brought up, loaded on all its chains, audited, reported.

use std::process::Command;

use serde_json::Value;

use crate::stage;

/// Runs a scenario; gives the line of JSON.
fn lab(scenario: &str, folder: &std::path::Path) -> Value {
    let file = folder.join("chain.toml");
    std::fs::write(&file, scenario).expect("written");
    let output = Command::new(stage::binary())
        .args(["lab", "run", "--json", "--out"])
        .arg(folder.join("out"))
        .arg(&file)
        .output()
        .expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    serde_json::from_str(text.lines().last().expect("a line")).expect("JSON")
}

#[test]
fn payments_on_all_chains_of_two_nodes_are_in_blocks_and_every_balance_adds_up() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let line = lab(
        "[chain]\nnodes = 2\nblock_s = 1\nbatch = 20\n[load]\noutstanding = 40\nthink_ms = 100\nthink = 'random'\n\
         [run]\nwarm_up_s = 1\nseconds = 8\nrepeats = 1\n[monitors]\nmachine = false",
        folder.path(),
    );
    let scenario = &line["scenarios"][0];
    assert_eq!(scenario["good"], true, "{line}");
    let metrics = &scenario["points"][0]["metrics"];
    for metric in ["chain_tps", "to_block_p50_s", "block_s", "rss_mb_max"] {
        assert!(
            metrics[metric]["value"]
                .as_f64()
                .is_some_and(|value| value > 0.0),
            "{metric}: {metrics}"
        );
    }
    let report: Value = serde_json::from_slice(
        &std::fs::read(folder.path().join("out/report.json")).expect("a report"),
    )
    .expect("JSON");
    let chain = &report["scenarios"][0]["points"][0]["stretches"][0]["chain"];
    assert_eq!(chain["accepted"], chain["in_blocks"]);
    assert_eq!(
        chain["nodes"][0]["state_hash"],
        chain["nodes"][1]["state_hash"]
    );
    assert!(chain["nodes"][0]["state_hash"].is_string());
    // Growth for each payment is not asked: a compaction in eight seconds may leave less than there was.
    let looks = chain["disk"].as_array().expect("looks at the files");
    assert!(
        looks.len() >= 2 && looks.iter().all(|look| look["bytes"].as_u64() > Some(0)),
        "{looks:?}"
    );
    for list in chain["fullest"].as_array().expect("lists") {
        assert!(
            !list["blocks"].as_array().expect("blocks").is_empty(),
            "payments on {}",
            list["of"]
        );
    }
}

#[test]
fn the_database_of_a_node_is_sized_before_and_after_a_restart() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let line = lab(
        "[chain]\nnodes = 1\nblock_s = 1\nchildren = 1\nhistory = 3000\n[load]\noutstanding = 20\nthink_ms = 100\n\
         [run]\nwarm_up_s = 0\nseconds = 4\nrepeats = 1\n[monitors]\nmachine = false",
        folder.path(),
    );
    assert_eq!(line["scenarios"][0]["good"], true, "{line}");
    let report: Value = serde_json::from_slice(
        &std::fs::read(folder.path().join("out/report.json")).expect("a report"),
    )
    .expect("JSON");
    let chain = &report["scenarios"][0]["points"][0]["stretches"][0]["chain"];
    let sizes = &chain["sizes"];
    assert_eq!(sizes["missing"], Value::Null, "{sizes}");
    let bytes = |name: &str| sizes[name].as_u64().filter(|bytes| *bytes > 0);
    let exported = bytes("exported_bytes").expect("a snapshot");
    for name in ["running_bytes", "stopped_bytes", "restarted_bytes"] {
        // A snapshot has neither the node's log nor rows that a compaction would drop.
        let size = bytes(name).unwrap_or_default();
        assert!(exported <= size, "{name}: {sizes}");
    }
    // The payments of the history are in the database as well.
    let measured = chain["transactions"].as_u64().expect("a number");
    assert_eq!(sizes["transactions"].as_u64(), Some(3_000 + measured));
}
