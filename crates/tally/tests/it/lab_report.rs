//! Reports of earlier runs, drawn again.

use std::path::Path;

use crate::stage::command::{Ran, tally};

/// Known latencies and no network: a stretch takes a fifth of a second.
const FAKE: &str = "title = 'Known latencies'\n[network]\nbanks = 0\n[work]\nkind = 'fake'\nlatency_ms = 5\n[load]\noutstanding = 4\n\
    [run]\nwarm_up_s = 0\nseconds = 0.2\nrepeats = 2\n[monitors]\nevery_ms = 0\nmachine = false\n\
    [[sweep]]\nset = 'run.interleave'\nvalues = [true, false]\n";

/// Runs `tally lab report` with the arguments in `line`. `%` stands for the folder.
fn report(folder: &Path, line: &str) -> Ran {
    tally(folder, &format!("lab report {line}"))
}

#[test]
fn a_report_is_drawn_again_as_its_run_drew_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    std::fs::write(folder.join("fake.toml"), FAKE).expect("the folder is ours");
    let ran = tally(folder, "lab run %/fake.toml --out %/out");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let read = |name: &str| std::fs::read(folder.join(name)).expect(name);
    let names = ["report.html", "report.csv", "series.csv", "processes.csv"];
    let before = names.map(|name| read(&format!("out/{name}")));
    let json = read("out/report.json");

    for (line, out, written) in [
        ("%/out", "out", &names[..]),
        ("%/out/report.json --html --out %/page", "page", &names[..1]),
        (
            "%/out --csv --out %/deep/tables",
            "deep/tables",
            &names[1..],
        ),
        ("%/out --csv --html --out %/both", "both", &names[..]),
    ] {
        for name in names {
            // Overwrites the outputs, to check that the next report replaces them.
            let _ = std::fs::write(folder.join(out).join(name), "old");
        }
        let again = report(folder, line);
        assert_eq!(again.code, 0, "{line}: {}", again.err);
        for (name, before) in names.iter().zip(&before) {
            let path = folder.join(out).join(name);
            match written.contains(name) {
                true => assert_eq!(
                    String::from_utf8_lossy(&std::fs::read(&path).expect(name)),
                    String::from_utf8_lossy(before),
                    "{line}: {name}"
                ),
                false => assert!(!path.exists(), "{line}: {name}"),
            }
        }
        for words in ["Known latencies", "on", "off", "/s"] {
            assert!(again.out.contains(words), "{line}: {}", again.out);
        }
        assert!(again.err.contains(written[0]), "{line}: {}", again.err);
    }
    assert_eq!(read("out/report.json"), json);

    let line = report(folder, "%/out --json").json();
    assert_eq!(line["scenarios"][0]["points"][1]["at"]["interleave"], "off");
}

#[test]
fn what_is_no_report_of_this_program_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let text = "{\"schema\":1,\"title\":\"\",\"started_unix_ms\":0,\"seconds\":0,\"version\":\"\",\"machine\":{\"processor\":\"\",\
        \"cores\":1,\"memory_bytes\":1,\"system\":\"\",\"load_average_before\":0,\"load_average_after\":0,\"limits\":null},\
        \"scenarios\":[],\"interrupted\":false}";
    for (name, text) in [
        ("good.json", text.to_owned()),
        ("newer.json", text.replace("\"schema\":1", "\"schema\":7")),
        ("other.json", "{\"sides\":[]}".to_owned()),
        ("text.json", "not JSON".to_owned()),
        ("empty.json", String::new()),
        ("torn.json", text[..text.len() / 2].to_owned()),
    ] {
        std::fs::write(folder.join(name), text).expect("the folder is ours");
    }
    std::fs::create_dir(folder.join("folder")).expect("the folder is ours");
    for (line, code, file) in [
        ("%/newer.json", "lab.report_newer", "newer.json"),
        ("%/other.json", "lab.report_unreadable", "other.json"),
        ("%/text.json", "lab.report_unreadable", "text.json"),
        ("%/empty.json", "lab.report_unreadable", "empty.json"),
        ("%/torn.json", "lab.report_unreadable", "torn.json"),
        ("%/folder", "lab.report_unreadable", "folder/report.json"),
        ("%/none.json", "lab.report_unreadable", "none.json"),
        (
            "%/good.json --out %/text.json",
            "lab.report_unwritten",
            "text.json",
        ),
    ] {
        let ran = report(folder, line);
        assert_eq!((ran.code, ran.out.as_str()), (5, ""), "{line}: {}", ran.err);
        for words in [code, file, "hint: "] {
            assert!(ran.err.contains(words), "{line}: {words}: {}", ran.err);
        }
        assert!(!folder.join("report.html").exists(), "{line}");
    }
    let good = report(folder, "%/good.json");
    assert_eq!(good.code, 0, "{}", good.err);
    assert!(folder.join("report.html").is_file());
}
