//! Real processes: files travel with their transactions, are gone on with after kills on either side, are refused when they
//! are others than their hash says, wait for a disk that fails, and leave room for small payments.

use std::fs;
use std::path::PathBuf;

use api::{NewUpload, StartFlow, Wait};
use client::{Client, Progress};
use perf::topology::{Network, NetworkOptions, Who};
use primitives::Hash;
use serde_json::json;

use crate::stage::{self, A, B, cash, eventually};

const MIB: usize = 1 << 20;
/// A limit on the bytes served in a second, low enough for a test to intervene during a transfer.
const SLOW: &str = "attachments.up_bytes_per_s = 12000000";

/// Bytes that nothing compresses.
fn content(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let words = (0..size.div_ceil(8)).flat_map(|_| next().to_le_bytes());
    words.take(size).collect()
}

fn network(settings: &[&str]) -> Network {
    let options = NetworkOptions {
        settings: settings.iter().map(|setting| (*setting).into()).collect(),
        ..stage::options(&["A", "B"])
    };
    Network::bring_up(&options).expect("the network comes up")
}

/// Uploads to a bank; the hash.
async fn upload(client: &Client, bytes: Vec<u8>) -> Hash {
    let hash = Hash::plain(&bytes);
    let wish = NewUpload {
        size: Some(bytes.len() as u64),
        sha256: Some(hash.to_string()),
        name: Some("report.bin".into()),
        media_type: Some("application/octet-stream".into()),
    };
    let source = std::io::Cursor::new(bytes);
    let (view, _) = client
        .upload(&wish, source, &Progress::default())
        .await
        .expect("the node takes it");
    assert_eq!(view.hash, hash.to_string());
    hash
}

fn share(network: &Network, hash: &Hash, title: &str) -> StartFlow {
    let arguments =
        json!({ "to": network.name(B), "attachment": hash.to_string(), "title": title });
    StartFlow::new("document.share", &arguments).expect("JSON")
}

/// The path at which a node keeps a whole file.
fn file_of(network: &Network, who: Who, hash: &Hash) -> PathBuf {
    let name = hash.to_string();
    let folder = network.data(who).join("attachments/files");
    folder.join(&name[..2]).join(name)
}

/// Returns the number of bytes that a node already has of a file that it fetches.
fn part_of(network: &Network, who: Who, hash: &Hash) -> u64 {
    let part = network
        .data(who)
        .join(format!("attachments/parts/f-{hash}"));
    fs::metadata(part).map_or(0, |part| part.len())
}

async fn metric(client: &Client, name: &str) -> u64 {
    let text = client.metrics().await.expect("metrics");
    let line = text
        .lines()
        .find(|line| line.split(' ').next() == Some(name));
    let value = line.and_then(|line| line.rsplit(' ').next());
    let value: f64 = value
        .and_then(|value| value.parse().ok())
        .expect("a number");
    value as u64
}

/// Waits until a bank has a file, and compares it.
async fn arrives(network: &Network, who: Who, hash: &Hash, bytes: &[u8]) {
    let client = stage::client(network, who);
    let (client, name) = (&client, hash.to_string());
    let view = eventually("the file arrives", || async {
        client.attachment(&name).await.ok()
    })
    .await;
    assert_eq!(view.size, bytes.len() as u64);
    let there = fs::read(file_of(network, who, hash)).expect("it lies there");
    assert!(there == bytes, "the bytes are others");
    assert_eq!(part_of(network, who, hash), 0, "no part is left");
}

async fn restart(mut network: Network, who: Who) -> Network {
    tokio::task::spawn_blocking(move || {
        network.kill(who);
        network.start(who).expect("it comes back");
        network
    })
    .await
    .expect("it comes back")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_travels_with_its_transaction_and_only_once() {
    let network = network(&[]);
    let (a, b) = (stage::client(&network, A), stage::client(&network, B));
    for size in [0, 1, 3 * MIB + 17] {
        let bytes = content(size as u64, size);
        let hash = upload(&a, bytes.clone()).await;
        let before = metric(&b, "tally_files_received_bytes_total").await;
        stage::completes(&a, share(&network, &hash, "once"), Wait::Delivered).await;
        arrives(&network, B, &hash, &bytes).await;
        stage::completes(&a, share(&network, &hash, "again"), Wait::Delivered).await;
        let after = metric(&b, "tally_files_received_bytes_total").await;
        assert_eq!(after - before, size as u64, "each byte came once");
        let view = b.attachment(&hash.to_string()).await.expect("it is there");
        assert_eq!((view.name.as_str(), view.references), ("report.bin", 2));
        assert_eq!(view.received_from.as_deref(), Some(network.name(A)));
        assert!(!view.trusted, "nobody here has looked at it");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transfer_goes_on_where_it_was_after_a_kill_of_either_side() {
    let mut network = network(&[SLOW]);
    let size = 50 * MIB;
    for (round, victim) in [(1, B), (2, A)] {
        let bytes = content(round, size);
        let a = stage::client(&network, A);
        let hash = upload(&a, bytes.clone()).await;
        stage::completes(&a, share(&network, &hash, "large"), Wait::Finalised).await;
        let half = size as u64 / 3;
        eventually("a third of it is there", || async {
            (part_of(&network, B, &hash) >= half).then_some(())
        })
        .await;
        let b = stage::client(&network, B);
        let received = metric(&b, "tally_files_received_bytes_total").await;
        let resumed = metric(&b, "tally_files_resumed_total").await;
        network = restart(network, victim).await;
        assert!(part_of(&network, B, &hash) >= half, "what came stays");
        arrives(&network, B, &hash, &bytes).await;
        let b = stage::client(&network, B);
        let after = metric(&b, "tally_files_received_bytes_total").await;
        // The counters of a node that comes back begin at zero.
        let (received, resumed) = if victim == B {
            (0, 0)
        } else {
            (received, resumed)
        };
        let came = after - received;
        assert!(
            came <= size as u64 - half + 8 * MIB as u64,
            "{came} bytes came after the kill of {victim:?}"
        );
        let again = metric(&b, "tally_files_resumed_total").await;
        assert_eq!(again - resumed, 1, "{victim:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_another_than_its_hash_says_is_thrown_away() {
    let network = network(&[]);
    let (a, b) = (stage::client(&network, A), stage::client(&network, B));
    let bytes = content(3, MIB);
    let hash = upload(&a, bytes.clone()).await;
    let path = file_of(&network, A, &hash);
    let mut other = bytes.clone();
    other[MIB / 2] ^= 1;
    fs::write(&path, &other).expect("the sender's disk rots");
    stage::completes(&a, share(&network, &hash, "rotten"), Wait::Finalised).await;
    let refused = eventually("the receiver finds out", || async {
        let mismatched = metric(&b, "tally_files_mismatched_total").await;
        (mismatched > 0).then_some(mismatched)
    })
    .await;
    assert!(refused > 0);
    assert!(b.attachment(&hash.to_string()).await.is_err());
    assert!(!file_of(&network, B, &hash).exists());
    let recorded = metric(&b, "tally_transactions_recorded_total").await;
    assert_eq!(recorded, 0, "nothing that lacks its file is recorded");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_takes_nothing_is_waited_for() {
    let network = network(&[]);
    let a = stage::client(&network, A);
    let b = stage::client(&network, B);
    // Where parts are to be made lies something that is no folder.
    let parts = network.data(B).join("attachments/parts");
    fs::remove_dir_all(&parts).expect("nothing is in it");
    fs::write(&parts, b"").expect("a file in its place");
    let bytes = content(4, MIB);
    let hash = upload(&a, bytes.clone()).await;
    stage::completes(&a, share(&network, &hash, "patience"), Wait::Finalised).await;
    eventually("the disk refuses", || async {
        (metric(&b, "tally_files_failed_total").await > 0).then_some(())
    })
    .await;
    assert!(b.attachment(&hash.to_string()).await.is_err());
    fs::remove_file(&parts).expect("it goes");
    fs::create_dir(&parts).expect("the folder is back");
    arrives(&network, B, &hash, &bytes).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_payments_go_on_beside_large_files() {
    let network = network(&[]);
    let a = stage::client(&network, A);
    let issue = cash::issue("GBP", 1_000).expect("JSON");
    stage::completes(&a, issue, Wait::Delivered).await;
    let mut files = Vec::new();
    for seed in 10..18 {
        let bytes = content(seed, 20 * MIB);
        files.push((upload(&a, bytes.clone()).await, bytes));
    }
    for (hash, _) in &files {
        stage::completes(&a, share(&network, hash, "beside"), Wait::Finalised).await;
    }
    let mut beside = 0;
    for _ in 0..50 {
        let pay = cash::pay("GBP", None, 1, network.name(B), 1).expect("JSON");
        stage::completes(&a, pay, Wait::Delivered).await;
        let last = files
            .iter()
            .filter(|(hash, _)| file_of(&network, B, hash).exists());
        beside += usize::from(last.count() < files.len());
    }
    println!("{beside} of 50 payments were delivered before the last file was");
    for (hash, bytes) in &files {
        arrives(&network, B, hash, bytes).await;
    }
    assert!(network.rss_mb_max() < 256.0, "{} MB", network.rss_mb_max());
}
