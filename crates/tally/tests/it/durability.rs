//! Durability across power cuts. Kill -9 leaves the page cache intact and proves nothing about syncs. Here, a recorder notes the
//! writes, renames and syncs of a real node. The node's disk is rebuilt as a power cut would have left it: unsynced operations
//! are dropped, reordered or torn. The node then starts from that disk and has everything that it acknowledged to clients and
//! peers.

use std::fs;
use std::time::Duration;

use api::NodeState;
use diskimage::{Policy, Recorder, Recording};
use perf::topology::{Network, Who};

use crate::stage::banks::Banks;
use crate::stage::{self, A, B, Seeded, cash};

/// Flows outstanding at each bank.
const OUTSTANDING: usize = 16;
/// Flows answered before the power may be cut.
const ANSWERED_MIN: usize = 200;
/// When the power is cut after that, at most.
const CUT_MS_MAX: u64 = 500;
/// Disk full.
const ENOSPC: i32 = 28;
/// Input/output error.
const EIO: i32 = 5;

/// A network in which the files of one node are recorded from its first start.
fn recorded(victim: Who, scratch: &std::path::Path) -> (Network, Recorder) {
    let mut network = Network::bootstrap(&stage::options(&["A", "B"])).expect("bootstrapped");
    let data = network.data(victim);
    fs::create_dir_all(&data).expect("a folder");
    let recorder = Recorder::new(&data, &scratch.join("recording"));
    let mut carrier = std::process::Command::new("none");
    recorder.arm(&mut carrier);
    for (name, value) in carrier.get_envs() {
        let value = value.expect("armed").to_string_lossy().into_owned();
        network
            .process(victim)
            .set_environment(&name.to_string_lossy(), &value);
    }
    network.start_all().expect("the network comes up");
    (network, recorder)
}

/// Removes the disk recorder from the environment, so that the next start of the node runs without it.
fn disarm(network: &mut Network, victim: Who) {
    for name in ["LD_PRELOAD", "RECORDER_DIR", "RECORDER_LOG"] {
        network.process(victim).remove_environment(name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledgement_leaves_before_its_sync() {
    let mut seeded = Seeded::from_environment();
    for policy in [Policy::Dropped, Policy::Reordered, Policy::Torn] {
        for victim in [A, B, Who::Notary] {
            let choice = seeded.number();
            println!("{victim:?} loses power, {policy:?}, choice {choice}");
            let scratch = tempfile::tempdir().expect("a temporary folder");
            let (mut network, recorder) = recorded(victim, scratch.path());
            let banks = Banks::open(&network, OUTSTANDING).await;
            stage::eventually("the load runs", async || {
                (banks.answered().await >= ANSWERED_MIN).then_some(())
            })
            .await;
            tokio::time::sleep(seeded.moment(CUT_MS_MAX)).await;
            network.kill(victim);

            let recording = Recording::load(recorder.log()).expect("a recording");
            let image = scratch.path().join("image");
            recording
                .image_at(recording.last(), policy, choice, &image)
                .expect("an image");
            let data = network.data(victim);
            fs::remove_dir_all(&data).expect("the old disk goes");
            copy(&image, &data);
            disarm(&mut network, victim);
            network.start(victim).expect("it starts from that disk");
            tokio::time::sleep(Duration::from_millis(300)).await;
            banks.close(&network).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_disk_is_reported_and_nothing_acknowledged_is_lost() {
    for (what, errno) in [("a full disk", ENOSPC), ("a failed sync", EIO)] {
        println!("{what}");
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let (mut network, recorder) = recorded(A, scratch.path());
        let banks = Banks::open(&network, OUTSTANDING).await;
        stage::eventually("the load runs", async || {
            (banks.answered().await >= ANSWERED_MIN).then_some(())
        })
        .await;
        if errno == ENOSPC {
            recorder.fail_writes(1, errno).expect("told");
        } else {
            recorder.fail_syncs(1, errno).expect("told");
        }

        let a = stage::client(&network, A);
        stage::eventually("the node says that its store failed", async || {
            let health = a.health().await.ok()?;
            (health.state == NodeState::Failed && !health.ready).then_some(())
        })
        .await;
        recorder.heal().expect("told");
        // It stays closed although the disk is well again, until it is restarted.
        let start = cash::issue("USD", 1).expect("arguments");
        let refusal = a.start(&start).await.expect_err("no more writes");
        assert_eq!(refusal.code(), "node.store_failed", "{refusal}");
        assert!(refusal.hint().contains("restart"), "{}", refusal.hint());
        assert!(stage::is_documented(refusal.code()), "{refusal}");

        network.kill(A);
        disarm(&mut network, A);
        network.start(A).expect("it comes back");
        banks.close(&network).await;
    }
}

/// Copies a folder.
fn copy(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("readable") {
        let entry = entry.expect("readable");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("known").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("copied");
        }
    }
}
