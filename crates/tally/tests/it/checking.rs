//! `tally network check` on a healthy network and on networks with each kind of fault.

use std::path::Path;

use perf::topology::Who;
use serde_json::Value;

use crate::stage::command::{Ran, tally};
use crate::stage::{self, A, B, DEADLINE};

fn check(folder: &Path) -> Ran {
    tally(folder, "network check % --json")
}

/// The codes that are found, with their nodes.
fn found(ran: &Ran) -> Vec<(String, String)> {
    let findings = ran.json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = findings.as_array().expect("a list").iter();
    let coded = findings.filter(|finding| finding["verdict"] != "ok");
    coded
        .map(|finding| (text(&finding["code"]), text(&finding["node"])))
        .collect()
}

fn says(ran: &Ran, code: &str, node: &str) -> bool {
    found(ran).contains(&(code.to_owned(), node.to_owned()))
}

/// Asks until nothing is to be done any more.
fn is_well(folder: &Path) {
    let end = std::time::Instant::now() + DEADLINE;
    loop {
        let ran = check(folder);
        if ran.code == 0 && found(&ran).is_empty() {
            return;
        }
        assert!(std::time::Instant::now() < end, "{} {}", ran.out, ran.err);
    }
}

#[test]
fn a_network_is_checked_as_it_comes_apart() {
    let mut network = stage::network(&["A", "B"]);
    let all = network
        .folder(A)
        .parent()
        .expect("of the network")
        .to_owned();
    let name = |folder: &Path| {
        let name = folder.file_name().and_then(|name| name.to_str());
        name.expect("a name").to_owned()
    };
    let folders = [A, B, Who::Notary].map(|who| network.folder(who).to_owned());
    let [a, b, notary] = folders.each_ref().map(|folder| name(folder));
    is_well(&all);
    is_well(network.folder(A));
    let shown = tally(&all, "network check %");
    for text in ["notaries: O=Notary", "3 folders of one network, in step"] {
        assert!(shown.out.contains(text), "{}", shown.out);
    }

    // Nodes that are away: a bank is a warning, the notary a problem.
    network.kill(B);
    let ran = check(&all);
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    assert!(says(&ran, "network.node_away", &b), "{}", ran.out);
    network.kill(Who::Notary);
    let ran = check(&all);
    assert_eq!(ran.code, 5, "{}", ran.out);
    assert!(ran.err.contains("tally.unwell"), "{}", ran.err);
    assert!(says(&ran, "network.notary_away", &notary), "{}", ran.out);
    // One node alone, which does not run either: whether the others' addresses answer.
    network.kill(A);
    let ran = check(network.folder(A));
    let title = network.name(Who::Notary);
    assert!(says(&ran, "network.notary_away", title), "{}", ran.out);

    // A folder that was left behind, and ones that are damaged.
    let file = folders[1].join("network/nodes");
    let lost = std::fs::read_dir(&file).expect("the folder is ours");
    let lost: Vec<_> = lost.map(|entry| entry.expect("an entry").path()).collect();
    let own = |path: &Path| {
        let bytes = std::fs::read(path).expect("readable");
        let needle = b"Bank A";
        bytes.windows(needle.len()).any(|part| part == needle)
    };
    let of_a = lost.iter().find(|path| own(path)).expect("A is there");
    let kept = std::fs::read(of_a).expect("readable");
    std::fs::remove_file(of_a).expect("ours");
    let ran = check(&all);
    assert!(says(&ran, "network.maps_differ", &b), "{}", ran.out);
    let mut bent = kept.clone();
    let last = bent.len() - 1;
    bent[last] ^= 1;
    std::fs::write(of_a, bent).expect("ours");
    let ran = check(&all);
    assert!(says(&ran, "bootstrap.damaged", &b), "{}", ran.out);
    std::fs::write(of_a, kept).expect("ours");
    std::fs::remove_file(folders[0].join("tls.pem")).expect("ours");
    let ran = check(&all);
    assert!(says(&ran, "bootstrap.missing", &a), "{}", ran.out);
    assert_eq!(ran.code, 5);
    let nothing = check(&folders[0].join("network"));
    assert!(
        nothing.err.contains("tally.wrong_folder"),
        "{}",
        nothing.err
    );
}
