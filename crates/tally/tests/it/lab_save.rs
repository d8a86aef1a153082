//! Runs that are saved for the published results.

use crate::stage::command::tally;

/// Known latencies and no network: a stretch takes a fifth of a second.
const FAKE: &str = "title = 'Known latencies'\n[network]\nbanks = 0\n[work]\nkind = 'fake'\nlatency_ms = 5\n[load]\noutstanding = 4\n\
    [run]\nwarm_up_s = 0\nseconds = 0.2\nrepeats = 3\n[monitors]\nevery_ms = 0\nmachine = false\n";

#[test]
fn a_short_run_is_saved_on_request_and_reports_as_before() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    std::fs::write(folder.join("fake.toml"), FAKE).expect("the folder is ours");
    let ran = tally(folder, "lab run %/fake.toml --out %/out");
    assert_eq!(ran.code, 0, "{}", ran.err);

    for (line, code) in [
        ("%/out --into %/runs", "lab.save_too_short"),
        ("%/out --into %/runs --short --name A", "lab.save_names"),
        ("%/none --into %/runs", "lab.report_unreadable"),
        ("%/out --into %/fake.toml --short", "lab.report_unwritten"),
    ] {
        let ran = tally(folder, &format!("lab save {line}"));
        assert_eq!((ran.code, ran.out.as_str()), (5, ""), "{line}: {}", ran.err);
        for words in [code, "hint: "] {
            assert!(ran.err.contains(words), "{line}: {words}: {}", ran.err);
        }
        assert!(!folder.join("runs").exists(), "{line}");
    }

    let saved = tally(folder, "lab save %/out --into %/runs --short --json").json();
    let file = saved[0]["file"].as_str().expect("a path");
    assert!(file.ends_with("runs/fake.json"), "{file}");
    let text = std::fs::read_to_string(file).expect("saved");
    assert_eq!(saved[0]["bytes"], text.len());
    let repeats = text.lines().filter(|line| line.contains("\"figures\":{"));
    assert_eq!(repeats.count(), 3);

    // The table of the saved run has the same figures as that of its report.
    let tables = ["%/out", "%/runs/fake.json"].map(|report| {
        let ran = tally(folder, &format!("lab report {report} --html --out %/page"));
        assert_eq!(ran.code, 0, "{}", ran.err);
        let rows = ran.out.lines().filter(|line| line.contains("/s"));
        rows.map(str::to_owned).collect::<Vec<_>>()
    });
    assert_eq!(tables[0], tables[1]);
}
