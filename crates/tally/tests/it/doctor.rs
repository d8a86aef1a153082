//! `tally doctor` on folders whose node would not start: it reports the error of the start, and changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use api::Wait;
use perf::topology::Who;

use crate::chain_stage::{Chain, reaches};
use crate::stage::command::{Ran, tally};
use crate::stage::restore::copy;
use crate::stage::{self, A, cash};

/// All files below a folder with their bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("readable") {
            let path = entry.expect("readable").path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let bytes = fs::read(&path).expect("readable");
                    found.insert(path, bytes);
                }
            }
        }
    }
    found
}

/// Runs the doctor, which must change no file.
fn doctor(folder: &Path) -> Ran {
    let before = files(folder);
    let ran = tally(folder, "doctor --node % --json");
    assert!(files(folder) == before, "the doctor changes files");
    ran
}

/// The verdict and the text of the only finding on a check.
fn finding(ran: &Ran, check: &str) -> (String, String) {
    let findings = ran.json();
    let findings = findings.as_array().expect("a list").iter();
    let mut of_check = findings.filter(|finding| finding["check"] == check);
    let found = of_check.next();
    let found = found.unwrap_or_else(|| panic!("{check}: {}", ran.out));
    assert!(of_check.next().is_none(), "{}", ran.out);
    let text = |name: &str| found[name].as_str().expect("a text").to_owned();
    (text("verdict"), text("found"))
}

fn asserts(ran: &Ran, check: &str, verdict: &str, part: &str) {
    let (found, text) = finding(ran, check);
    assert_eq!(found, verdict, "{text}");
    assert!(text.contains(part), "{part}: {text}");
    let is_unwell = ran.json();
    let is_unwell = is_unwell.as_array().into_iter().flatten();
    let is_unwell = is_unwell.filter(|f| f["verdict"] == "problem").count() > 0;
    assert_eq!(ran.code, if is_unwell { 5 } else { 0 }, "{}", ran.out);
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).expect("readable");
    bytes[at] ^= 1;
    fs::write(path, bytes).expect("written");
}

type Loss<'a> = Box<dyn Fn(&Path) + 'a>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_would_not_start_has_the_error_of_its_start() {
    let mut network = stage::network(&["A"]);
    let issue = cash::issue("USD", 100).expect("arguments");
    stage::completes(&stage::client(&network, A), issue, Wait::Delivered).await;
    let folder = network.folder(A).to_owned();
    let running = tally(&folder, "doctor --node % --json");
    asserts(&running, "store", "ok", "the node runs");
    asserts(&running, "API token", "ok", "list it");
    asserts(&running, "network map", "ok", "2 nodes");

    // A running node whose token is gone answers no command.
    let token = folder.join("api-token");
    let kept = fs::read(&token).expect("there");
    fs::remove_file(&token).expect("removed");
    let silent = tally(&folder, "doctor --node % --json");
    asserts(&silent, "API token", "warning", "it is missing");
    asserts(&silent, "store", "warning", "store.locked");
    asserts(&silent, "API port", "ok", "in use");
    fs::write(&token, kept).expect("written");

    network.stop(A).expect("stopped");
    let stopped = doctor(&folder);
    asserts(&stopped, "store", "ok", "records of the log");
    let whole = tempfile::tempdir().expect("a folder");
    copy(&folder, whole.path());
    let notary = network.data(Who::Notary);
    let remove = |name: &'static str| -> Loss<'_> {
        Box::new(move |folder: &Path| {
            let path = folder.join(name);
            match path.is_dir() {
                true => fs::remove_dir_all(&path).expect("removed"),
                false => fs::remove_file(&path).expect("removed"),
            }
        })
    };
    let others: Loss<'_> = Box::new(|folder: &Path| {
        fs::remove_dir_all(folder.join("data")).expect("removed");
        copy(&notary, &folder.join("data"));
    });
    let bent: Loss<'_> = Box::new(|folder: &Path| flip(&folder.join("data/ledger/log/0.log"), 700));
    let cases = [
        (remove("data"), "store.missing"),
        (remove("data/ledger"), "store.incomplete"),
        (remove("ledger.anchor"), "store.inventory"),
        (remove("data/ledger.mark"), "store.inventory"),
        (others, "store.inventory"),
        (bent, "store.corrupt"),
    ];
    for (lose, code) in cases {
        fs::remove_dir_all(&folder).expect("removed");
        copy(whole.path(), &folder);
        lose(&folder);
        let ran = doctor(&folder);
        asserts(&ran, "store", "problem", code);
        assert_eq!(ran.code, 5, "{}", ran.out);
        let started = network.start(A).expect_err(code).to_string();
        assert!(started.contains(code), "{started}");
        let (_, found) = finding(&ran, "store");
        let message = found.split_once(": ").expect("a code").1;
        assert!(started.contains(message), "{started}\n{message}");
    }
    fs::remove_dir_all(&folder).expect("removed");
    copy(whole.path(), &folder);
    network.start(A).expect("the doctor left it whole");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_node_that_would_not_start_has_the_error_of_its_start() {
    let other = Chain::begun_before(1, 1, 60);
    let mut chain = Chain::bring_up(1, 1);
    reaches(&chain.client(0), 1).await;
    chain.kill(0);
    let folder = chain.dir(0);
    asserts(&doctor(&folder), "store", "ok", "records of the log");
    asserts(&doctor(&other.dir(0)), "store", "ok", "none yet");
    let whole = tempfile::tempdir().expect("a folder");
    copy(&folder, whole.path());
    let of_other = |name: &str| fs::read(other.dir(0).join(name)).expect("readable");
    let (key, genesis) = (of_other("identity.key"), of_other("genesis.toml"));
    type Change<'a> = Box<dyn Fn() + 'a>;
    let remove = |name: &'static str| -> Change<'_> {
        let path = folder.join(name);
        Box::new(move || fs::remove_dir_all(&path).expect("removed"))
    };
    let write = |name: &'static str, bytes: &Vec<u8>| -> Change<'_> {
        let (path, bytes) = (folder.join(name), bytes.clone());
        // The file stays as private as it was.
        Box::new(move || fs::write(&path, &bytes).expect("written"))
    };
    let cases = [
        (remove("data"), "store.missing"),
        (remove("data/chain/tables"), "store.incomplete"),
        (write("identity.key", &key), "store.inventory"),
        (write("genesis.toml", &genesis), "chain.wrong_network"),
    ];
    for (change, code) in cases {
        fs::remove_dir_all(&folder).expect("removed");
        copy(whole.path(), &folder);
        change();
        let ran = doctor(&folder);
        asserts(&ran, "store", "problem", code);
        assert_eq!(ran.code, 5, "{}", ran.out);
        let started = chain.tally(0, "run %");
        assert!(
            started.code != 0 && started.err.contains(code),
            "{}",
            started.err
        );
    }
    fs::remove_dir_all(&folder).expect("removed");
    copy(whole.path(), &folder);
    fs::remove_file(folder.join("api-token")).expect("removed");
    asserts(&doctor(&folder), "API token", "warning", "it is missing");
}

#[test]
fn a_node_that_joins_a_running_network_needs_restarts() {
    let network = stage::network(&["A"]);
    let root = network.root();
    let path = root.join("NETWORK.toml");
    let text = fs::read_to_string(&path).expect("readable");
    let more = "\n[[node]]\nname = \"O=Late, L=London, C=GB\"\n";
    fs::write(&path, format!("{text}{more}")).expect("written");
    let made = tally(root, "network bootstrap %/NETWORK.toml --out %/nodes");
    assert_eq!(made.code, 0, "{}", made.err);
    assert!(made.out.contains("Restart each node"), "{}", made.out);
    let again = tally(root, "network bootstrap %/NETWORK.toml --out %/nodes");
    assert!(!again.out.contains("Restart"), "{}", again.out);

    let ran = tally(network.folder(A), "doctor --node % --json");
    asserts(&ran, "network map", "warning", "its folder has 3");
    let checked = tally(&root.join("nodes"), "network check %");
    assert!(
        checked.out.contains("network.restart_needed"),
        "{}",
        checked.out
    );
}

#[test]
fn a_drained_node_is_told_of() {
    let network = stage::network(&["A"]);
    let folder = network.folder(A);
    let drained = tally(folder, "node drain --node %");
    assert_eq!(drained.code, 0, "{}", drained.err);
    let checked = tally(folder, "network check %");
    assert!(
        checked.out.contains("network.node_state"),
        "{}",
        checked.out
    );
    assert!(checked.out.contains("it is drain"), "{}", checked.out);
}
