//! `tally demo` with a short window: the load that users try first, with real processes.

use std::process::{Command, Stdio};

/// As many flows outstanding on one connection as the demo has by default.
const OUTSTANDING: &str = "800";

#[test]
fn a_short_demo_has_no_errors_and_a_clean_audit() {
    let demo = Command::new(env!("CARGO_BIN_EXE_tally"))
        .args(["demo", "--json", "--seconds", "1"])
        .args(["--outstanding", OUTSTANDING])
        .env_remove("KEEP")
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    let log = String::from_utf8_lossy(&demo.stderr);
    assert!(demo.status.success(), "{log}");
    let outcome: serde_json::Value = serde_json::from_slice(&demo.stdout).expect("JSON");
    let rows = outcome["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 3, "{outcome}");
    for row in rows {
        assert_eq!(row["errors"], 0, "{row}\n{log}");
        assert!(
            row["delivered"].as_u64().is_some_and(|count| count > 0),
            "{row}"
        );
    }
    assert_eq!(outcome["audit"]["clean"], true, "{outcome}");
}
