//! Real processes: a node or a notary that lost a file of its store, its data folder or its key refuses to start and names the
//! remedy.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use api::Wait;
use perf::topology::{Network, Who};

use crate::stage::{self, A, cash};

/// Starts a node that must refuse to start, and returns its error.
fn refused(network: &mut Network, who: Who) -> String {
    let error = network.start(who).expect_err("it must not start");
    error.to_string()
}

fn tally(arguments: &[&str]) -> Output {
    Command::new(stage::binary())
        .args(arguments)
        .output()
        .expect("the program runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_without_its_client_ids_does_not_start() {
    let mut network = stage::network(&["A"]);
    let start = cash::issue("USD", 100).expect("arguments").client_id("one");
    let first = stage::completes(&stage::client(&network, A), start.clone(), Wait::Delivered).await;
    network.stop(A).expect("stopped");

    let pointer = network.data(A).join("ledger/tables/client_ids/current");
    let aside = network.root().join("aside");
    fs::rename(&pointer, &aside).expect("moved");
    let message = refused(&mut network, A);
    assert!(message.contains("store.incomplete"), "{message}");
    assert!(message.contains("client_ids/current"), "{message}");
    assert!(message.contains("backup"), "{message}");
    assert!(!pointer.exists(), "nothing was made in its place");

    fs::rename(&aside, &pointer).expect("put back");
    network.start(A).expect("whole again");
    let again = stage::completes(&stage::client(&network, A), start, Wait::Delivered).await;
    assert_eq!(
        again.flow_id, first.flow_id,
        "the start was not executed again"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_notary_without_its_states_or_data_does_not_start() {
    let mut network = stage::network(&["A"]);
    let client = stage::client(&network, A);
    let issue = cash::issue("USD", 100).expect("arguments");
    stage::completes(&client, issue, Wait::Delivered).await;
    let name = network.name(A).to_owned();
    let pay = cash::pay("USD", None, 10, &name, 1).expect("arguments");
    stage::completes(&client, pay.clone(), Wait::Delivered).await;
    network.stop(Who::Notary).expect("stopped");

    let aside = network.root().join("aside");
    let data = network.data(Who::Notary);
    let states = data.join("ledger/tables/notary_states");
    for (lost, code) in [
        (states.join("current"), "store.incomplete"),
        (states, "store.incomplete"),
        (data.join("ledger.inventory"), "store.inventory"),
        (data, "store.missing"),
    ] {
        fs::rename(&lost, &aside).expect("moved");
        let message = refused(&mut network, Who::Notary);
        assert!(message.contains(code), "{}: {message}", lost.display());
        let ledger = network.data(Who::Notary).join("ledger");
        assert!(message.contains(&ledger.display().to_string()), "{message}");
        // The file or folder can be put back, because a refused start makes nothing.
        assert!(!lost.exists(), "{} was made", lost.display());
        fs::rename(&aside, &lost).expect("put back");
    }
    network.start(Who::Notary).expect("whole again");
    stage::completes(&client, pay, Wait::Delivered).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_starts_over_only_by_an_explicit_command() {
    let mut network = stage::network(&["A"]);
    let issue = cash::issue("USD", 100).expect("arguments");
    stage::completes(&stage::client(&network, A), issue, Wait::Delivered).await;
    network.stop(A).expect("stopped");
    let folder = network.folder(A).display().to_string();
    let name = network.name(A).to_owned();

    let init = |name: &str| tally(&["node", "init-store", &folder, "--confirm", name]);
    let other = said(&init("O=Bank B, L=London, C=GB"));
    assert!(other.contains("tally.unconfirmed"), "{other}");
    let there = said(&init(&name));
    assert!(there.contains("store.not_empty"), "{there}");

    // An inventory that is lost alone: the store that is there is accepted after a check of every byte.
    fs::remove_file(network.data(A).join("ledger.inventory")).expect("removed");
    assert!(refused(&mut network, A).contains("accept-store"));
    let accepted = tally(&["node", "accept-store", &folder, "--confirm", &name]);
    assert!(accepted.status.success(), "{}", said(&accepted));
    network.start(A).expect("accepted");
    let held = stage::holds(&stage::client(&network, A), "USD").await;
    assert_eq!(held.expect("readable"), 100);
    network.stop(A).expect("stopped");

    fs::rename(network.data(A), network.root().join("kept")).expect("moved");
    assert!(refused(&mut network, A).contains("store.missing"));
    let begun = init(&name);
    assert!(begun.status.success(), "{}", said(&begun));
    network.start(A).expect("an empty store");
    let held = stage::holds(&stage::client(&network, A), "USD").await;
    assert_eq!(held.expect("readable"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_identity_key_is_never_made_again() {
    let mut network = stage::network(&["A"]);
    network.stop(A).expect("stopped");
    let key = network.folder(A).join("identity.key");
    let aside = network.root().join("aside");
    fs::rename(&key, &aside).expect("moved");
    let message = refused(&mut network, A);
    assert!(message.contains("bootstrap.key_lost"), "{message}");
    assert!(
        message.contains("Restore the file from a backup"),
        "{message}"
    );
    let bootstrapped = bootstrap_again(network.root());
    assert!(!bootstrapped.status.success());
    let text = said(&bootstrapped);
    assert!(text.contains("bootstrap.key_lost"), "{text}");
    assert!(text.contains("backup"), "{text}");
    assert!(!key.exists(), "no key was made");
    fs::rename(&aside, &key).expect("put back");
    assert!(bootstrap_again(network.root()).status.success());
    network.start(A).expect("the same node");
}

fn bootstrap_again(root: &Path) -> Output {
    let (description, out) = (root.join("NETWORK.toml"), root.join("nodes"));
    let (description, out) = (description.display().to_string(), out.display().to_string());
    tally(&["network", "bootstrap", &description, "--out", &out])
}

/// Whether a running node's health and its doctor both report a code; they may not disagree for long.
async fn warned(network: &Network, who: Who, code: &str) -> bool {
    stage::eventually("health and doctor agree", async || {
        let warning = stage::restore::warning(&stage::client(network, who), code).await;
        let doctor = stage::restore::command(network, who, "doctor --node %");
        (doctor.out.contains(code) == warning.is_some()).then_some(warning.is_some())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_member_is_refused_until_it_is_forgotten() {
    let mut network = stage::network(&["A", "B"]);
    let other = network.name(stage::B).to_owned();
    let name = network.name(A).to_owned();
    network.stop(stage::B).expect("stopped");
    network.stop(A).expect("stopped");
    let folder = network.folder(A).to_owned();
    let nodes = folder.join("network/nodes");
    let id = fs::read_dir(&nodes)
        .expect("members")
        .map(|entry| entry.expect("readable").path())
        .find(|path| {
            let bytes = fs::read(path).expect("readable");
            String::from_utf8_lossy(&bytes).contains("Bank B")
        })
        .expect("a file of Bank B");
    let aside = network.root().join("aside");
    fs::rename(&id, &aside).expect("moved");
    let message = refused(&mut network, A);
    assert!(message.contains("network.member_lost"), "{message}");
    assert!(message.contains(&id.display().to_string()), "{message}");
    assert!(message.contains(&other), "{message}");

    fs::rename(&aside, &id).expect("put back");
    network.start(A).expect("whole again");
    network.stop(A).expect("stopped");

    let folder = folder.display().to_string();
    let forget = |member: &str, confirm: &str| {
        let words = ["node", "forget-member", &folder, "--member", member];
        tally(&[&words[..], &["--confirm", confirm]].concat())
    };
    assert!(said(&forget(&other, "O=Bank C, L=Rome, C=IT")).contains("tally.unconfirmed"));
    let nobody = said(&forget("O=Bank C, L=Rome, C=IT", &name));
    assert!(nobody.contains("network.unknown_member"), "{nobody}");
    let itself = said(&forget(&name, &name));
    assert!(itself.contains("network.unknown_member"), "{itself}");
    let forgotten = forget(&other, &name);
    assert!(forgotten.status.success(), "{}", said(&forgotten));
    assert!(!id.exists());
    network.start(A).expect("it starts without the member");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_logs_attachments_and_users_are_reported() {
    let mut network = stage::network(&["A"]);
    for code in ["users.audit_lost", "file.lost", "users.missing"] {
        assert!(!warned(&network, A, code).await, "{code}");
    }
    let paper = network.root().join("paper.txt");
    fs::write(&paper, "a file").expect("written");
    let upload = format!("attachment upload --node % {} --json", paper.display());
    let uploaded = stage::restore::command(&network, A, &upload);
    assert_eq!(uploaded.code, 0, "{}", uploaded.err);

    // While the node runs.
    let users = network.folder(A).join("users.toml");
    let aside = network.root().join("users.toml");
    fs::rename(&users, &aside).expect("moved");
    stage::eventually("a warning of lost users", async || {
        warned(&network, A, "users.missing").await.then_some(())
    })
    .await;
    fs::rename(&aside, &users).expect("put back");
    stage::eventually("no warning", async || {
        (!warned(&network, A, "users.missing").await).then_some(())
    })
    .await;

    network.stop(A).expect("stopped");
    let audit = network.folder(A).join("audit.log");
    let attachments = network.data(A).join("attachments");
    fs::remove_file(&audit).expect("a log");
    fs::rename(&attachments, network.root().join("aside")).expect("moved");
    network.start(A).expect("it starts");
    assert!(warned(&network, A, "users.audit_lost").await);
    assert!(warned(&network, A, "file.lost").await);

    network.stop(A).expect("stopped");
    let log = fs::read_to_string(&audit).expect("a new log");
    assert!(log.contains("audit.begins_anew"), "{log}");
    fs::remove_dir_all(&attachments).expect("an empty folder was made");
    fs::rename(network.root().join("aside"), &attachments).expect("put back");
    network.start(A).expect("it starts");
    assert!(!warned(&network, A, "users.audit_lost").await);
    assert!(!warned(&network, A, "file.lost").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_audit_log_is_reported_whatever_was_written_since() {
    let mut network = stage::network(&["A"]);
    let folder = network.folder(A).display().to_string();
    let audit = network.folder(A).join("audit.log");
    let command = || tally(&["user", "remove", "nobody", "--node", &folder]);

    // A command begins a new log before the node starts.
    network.stop(A).expect("stopped");
    fs::remove_file(&audit).expect("a log");
    assert!(said(&command()).contains("tally.unknown_user"));
    network.start(A).expect("it starts");
    assert!(warned(&network, A, "users.audit_lost").await);
    network.restart(A).expect("it starts");
    assert!(!warned(&network, A, "users.audit_lost").await);
    let log = fs::read_to_string(&audit).expect("there");
    assert!(
        log.contains("user.remove") && log.contains("audit.begins_anew"),
        "{log}"
    );

    // It is deleted while the node runs, and a command begins a new one.
    fs::remove_file(&audit).expect("there");
    assert!(said(&command()).contains("tally.unknown_user"));
    stage::eventually("a warning of a lost log", async || {
        warned(&network, A, "users.audit_lost").await.then_some(())
    })
    .await;
    let log = fs::read_to_string(&audit).expect("there");
    assert!(
        log.contains("user.remove") && log.contains("audit.begins_anew"),
        "{log}"
    );
    // The node writes to the new file.
    let issue = cash::issue("USD", 100).expect("arguments");
    stage::completes(&stage::client(&network, A), issue, Wait::Delivered).await;
    stage::eventually("a line about the start", async || {
        let log = fs::read_to_string(&audit).expect("there");
        log.contains("cash.issue").then_some(())
    })
    .await;
    network.restart(A).expect("it starts");
    assert!(!warned(&network, A, "users.audit_lost").await);

    // It is emptied.
    network.stop(A).expect("stopped");
    fs::write(&audit, "").expect("emptied");
    network.start(A).expect("it starts");
    assert!(warned(&network, A, "users.audit_lost").await);
}
