//! A copy of a node's folder that runs next to the original: the peers' marks stop the copy, and the original goes on.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use api::{RecoveryView, Wait};
use perf::topology::Who;

use crate::stage::command::tally;
use crate::stage::restore::{self, Backup};
use crate::stage::{self, A, B, cash};

/// The node that is copied. The node with the lower party id dials the other, and this node has the lowest id. A copy reaches its
/// peers only by dialling them, because they keep dialling the original's address.
const ORIGINAL: Who = B;
/// Its counterparty.
const OTHER: Who = A;

/// A port that is free now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("bound").port()
}

/// Gives a copied folder ports of its own, as another machine would have.
fn move_ports(folder: &Path) {
    let path = folder.join("node.toml");
    let text = std::fs::read_to_string(&path).expect("readable");
    let lines = text.lines().map(|line| match line.starts_with("listen") {
        true => format!("listen = \"127.0.0.1:{}\"", free_port()),
        false => line.to_owned(),
    });
    let lines: Vec<String> = lines.collect();
    std::fs::write(&path, lines.join("\n") + "\n").expect("written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_is_stopped_and_the_original_goes_on() {
    let mut network = stage::network(&["A", "B"]);
    let name_other = network.name(OTHER).to_owned();
    let original = stage::client(&network, ORIGINAL);
    let issue = cash::issue("GBP", 1_000).expect("arguments");
    stage::completes(&original, issue, Wait::Delivered).await;
    let copy = Backup::of(&mut network, ORIGINAL);
    let pay = cash::pay("GBP", None, 100, &name_other, 1).expect("arguments");
    stage::completes(&original, pay.clone(), Wait::Delivered).await;
    // The peers' marks are renewed within a second; those of another start are known at once.
    network.restart(ORIGINAL).expect("it comes back");
    let original = stage::client(&network, ORIGINAL);
    stage::completes(&original, pay.clone(), Wait::Delivered).await;

    move_ports(copy.path());
    // Its log goes nowhere: a full pipe would stop it.
    let mut running = Command::new(stage::binary())
        .args(["node", "run"])
        .arg(copy.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the copy runs");
    let view = stage::eventually("the copy knows that it is one", async || {
        let ran = tally(copy.path(), "recover --node % --status --json");
        let view: RecoveryView = serde_json::from_str(&ran.out).ok()?;
        view.rolled_back
    })
    .await;
    assert!(view.evidence.contains("mark of life"), "{view:?}");
    running.kill().expect("it runs");
    running.wait().expect("it ends");

    stage::completes(&original, pay, Wait::Delivered).await;
    let view = original.recovery().await.expect("it answers");
    assert_eq!(view.rolled_back, None, "the original goes on");
    let other = stage::client(&network, OTHER);
    assert_eq!(stage::holds(&other, "GBP").await.expect("readable"), 300);
    assert!(
        restore::warning(&original, "node.rolled_back")
            .await
            .is_none()
    );
}
