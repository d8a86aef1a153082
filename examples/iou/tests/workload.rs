//! The laboratory drives IOUs as a scenario says: real processes of this program, audited, reported.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

#[test]
fn the_scenario_runs_and_its_audit_is_clean() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("report");
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("iou.toml");
    let ran = Command::new(env!("CARGO_BIN_EXE_iou"))
        .args(["lab", "run"])
        .arg(&scenario)
        .args(["--set", "run.warm_up_s=0.0", "--set", "run.seconds=0.5"])
        .args(["--set", "run.repeats=2", "--set", "monitors.machine=false"])
        .arg("--out")
        .arg(&out)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    let report = std::fs::read_to_string(out.join("report.json")).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let points = report["scenarios"][0]["points"].as_array();
    let points = points.expect("points");
    assert_eq!(points.len(), 3);
    for point in points {
        let stretches = point["stretches"].as_array().expect("stretches");
        for stretch in stretches {
            assert!(stretch["done"].as_u64() > Some(0), "{stretch}");
            assert_eq!(stretch["faults"].as_array().map(Vec::len), Some(0));
        }
    }
    let audits: Vec<&Value> = points
        .iter()
        .filter_map(|point| point["audits"].as_array())
        .flatten()
        .collect();
    assert!(!audits.is_empty());
    assert!(audits.iter().all(|audit| audit["clean"] == true));
}

#[test]
fn a_wrong_knob_is_named() {
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("iou.toml");
    let ran = Command::new(env!("CARGO_BIN_EXE_iou"))
        .args(["lab", "check"])
        .arg(&scenario)
        .args(["--set", "work.quantity=0"])
        .output()
        .expect("it runs");
    assert!(!ran.status.success());
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(
        said.contains("0: a whole number from 1 to 1000000 is allowed"),
        "{said}"
    );
}
