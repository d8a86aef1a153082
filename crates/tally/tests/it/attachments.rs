//! Files at a real node: from the command line and back, across a kill, in bounded memory, and never more than there may be.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::time::Instant;

use api::{AttachmentQuery, AttachmentView, NewUpload};
use client::{Client, ClientError, Progress};
use perf::topology::Network;
use primitives::{Hash, Hasher};
use rustix::process::Signal;
use tokio::io::{AsyncReadExt, repeat};

use crate::stage::command::{send, started, tally};
use crate::stage::{self, A, eventually};

const MEGABYTE: u64 = 1 << 20;

/// Uploads this number of equal bytes, in one piece.
async fn put(client: &Client, byte: u8, size: u64) -> Result<AttachmentView, ClientError> {
    let (wish, progress) = (NewUpload::default(), Progress::default());
    let source = repeat(byte).take(size);
    Ok(client.upload(&wish, source, &progress).await?.0)
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 251 + at) as u8).collect()
}

/// Whole files and parts on a node's disk.
fn on_disk(network: &Network) -> (usize, usize) {
    let root = network.folder(A).join("data/attachments");
    (count(&root.join("files")), count(&root.join("parts")))
}

fn count(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .map(|path| if path.is_dir() { count(&path) } else { 1 })
        .sum()
}

#[test]
fn a_file_goes_up_is_looked_after_and_comes_down() {
    let network = stage::network(&["A"]);
    let folder = network.folder(A);
    let scratch = tempfile::tempdir().expect("a folder");
    let path = |name: &str| scratch.path().join(name).display().to_string();
    let sent = bytes(3_000_000);
    let hash = Hash::plain(&sent).to_string();
    std::fs::write(path("paper.pdf"), &sent).expect("written");
    let up = tally(
        folder,
        &format!("attachment upload --node % {} --json", path("paper.pdf")),
    );
    assert_eq!(up.code, 0, "{}", up.err);
    let shown = up.json();
    for (field, expected) in [
        ("hash", serde_json::json!(hash)),
        ("size", serde_json::json!(3_000_000)),
        ("name", serde_json::json!("paper.pdf")),
        ("media_type", serde_json::json!("application/pdf")),
        ("trusted", serde_json::json!(true)),
        ("new", serde_json::json!(true)),
    ] {
        assert_eq!(shown[field], expected, "{shown}");
    }
    assert_eq!(on_disk(&network), (1, 0));
    let again = tally(
        folder,
        &format!("attachment upload --node % {} --json", path("paper.pdf")),
    );
    assert_eq!(again.json()["new"], false);
    let down = format!(
        "attachment download --node % {hash} --out {}",
        path("back.pdf")
    );
    assert_eq!(tally(folder, &down).code, 0);
    assert!(std::fs::read(path("back.pdf")).expect("there") == sent);
    let refused = tally(folder, &down);
    assert!(
        refused.code == 5 && refused.err.contains("tally.file_exists"),
        "{}",
        refused.err
    );
    // An interrupted earlier download is resumed. A part of another file is detected and discarded.
    std::fs::write(path("back2.pdf.part"), &sent[..1_000_000]).expect("written");
    let resumed = format!(
        "attachment download --node % {hash} --out {}",
        path("back2.pdf")
    );
    assert_eq!(tally(folder, &resumed).code, 0);
    assert!(std::fs::read(path("back2.pdf")).expect("there") == sent);
    std::fs::write(path("back3.pdf.part"), vec![0; 1_000_000]).expect("written");
    let other = format!(
        "attachment download --node % {hash} --out {}",
        path("back3.pdf")
    );
    let found_out = tally(folder, &other);
    assert!(
        found_out.err.contains("client.mismatch"),
        "{}",
        found_out.err
    );
    assert!(
        !PathBuf::from(path("back3.pdf.part")).exists()
            && !PathBuf::from(path("back3.pdf")).exists()
    );
    // The operator's commands.
    let list = tally(
        folder,
        "attachment list --node % --name PAPER --trusted --unreferenced",
    );
    assert!(
        list.out.contains(&hash) && list.out.contains("uploaded by"),
        "{}",
        list.out
    );
    let trust = format!("attachment trust --node % {hash} --withdraw --json");
    assert_eq!(tally(folder, &trust).json()["trusted"], false);
    let none = tally(folder, "attachment list --node % --trusted --json");
    assert_eq!(none.json()["attachments"], serde_json::json!([]));
    let remove = format!("attachment remove --node % {hash}");
    assert_eq!(tally(folder, &remove).code, 0);
    for line in [remove, format!("attachment show --node % {hash}"), other] {
        let gone = tally(folder, &line);
        assert!(
            gone.code == 1 && gone.err.contains("file.unknown"),
            "{line}: {}",
            gone.err
        );
    }
    for (line, code) in [
        ("attachment show --node % ../../etc/passwd", "api."),
        ("attachment upload --node % /dev/null", "tally.file"),
        ("attachment upload --node % /nothing/there", "tally.file"),
        (
            "attachment upload --node % - --resume 00",
            "tally.cannot_resume",
        ),
        (
            "attachment upload --node % - --name ../x",
            "api.bad_attachment",
        ),
    ] {
        let refused = tally(folder, line);
        assert!(
            refused.code != 0 && refused.err.contains(code),
            "{line}: {}",
            refused.err
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_that_is_interrupted_says_how_to_go_on() {
    let network = stage::network(&["A"]);
    let folder = network.folder(A);
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path().join("big.bin");
    // Zeros that take no room here, and too many to be sent at once.
    let file = std::fs::File::create(&path).expect("made");
    file.set_len(400 * MEGABYTE).expect("grown");
    let upload = format!("attachment upload --node % {} --json", path.display());
    for signal in [Signal::INT, Signal::TERM] {
        let id = interrupted(&network, &upload, signal);
        let client = stage::client(&network, A);
        let state = client.upload_state(&id).await.expect("it is kept");
        assert_eq!(state.size, Some(400 * MEGABYTE));
        if signal == Signal::INT {
            // The node accepts the removal only after it has noticed that the sender is gone.
            let given_up = async || client.remove_upload(&id).await.ok();
            eventually("it is given up", given_up).await;
            continue;
        }
        let resumed = tally(folder, &format!("{upload} --resume {id}"));
        assert_eq!(resumed.code, 0, "{}", resumed.err);
        assert_eq!(resumed.json()["new"], true);
        assert_eq!(on_disk(&network), (1, 0));
        let gone = client.upload_state(&id).await.expect_err("complete");
        assert_eq!(gone.code(), "api.unknown_upload");
    }
}

/// Uploads until something has come, and interrupts that. Gives the upload's id, as the command says it.
fn interrupted(network: &Network, upload: &str, signal: Signal) -> String {
    let running = started(network.folder(A), upload);
    let parts = network.folder(A).join("data/attachments/parts");
    let end = Instant::now() + stage::DEADLINE;
    while longest(&parts) < MEGABYTE {
        assert!(Instant::now() < end, "nothing comes");
        std::thread::yield_now();
    }
    // The node stands still, so that the upload does not end before the signal.
    let node = network.pid(A).expect("it runs");
    send(node, Signal::STOP);
    running.signal(signal);
    let stopped = running.ran();
    send(node, Signal::CONT);
    assert_eq!(stopped.code, 130, "{}", stopped.err);
    let error: serde_json::Value = serde_json::from_str(&stopped.err).expect("JSON");
    assert_eq!(error["error"]["code"], "tally.interrupted");
    let hint = error["error"]["hint"].as_str().expect("a hint");
    let id = hint.strip_prefix("Go on with --resume ").expect("an id");
    id.to_owned()
}

/// The length of the longest file in a folder.
fn longest(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let lengths = entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()));
    lengths.max().unwrap_or(0)
}

/// Returns the peak memory of a process, in bytes.
fn resident_max(network: &Network) -> u64 {
    let pid = network.pid(A).expect("it runs");
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.expect("the kernel says it") << 10
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_stays_flat_while_a_hundred_megabytes_pass() {
    let network = stage::network(&["A"]);
    let client = stage::client(&network, A);
    // Memory that the first small file takes does not count as growth.
    put(&client, 1, MEGABYTE).await.expect("up");
    let before = resident_max(&network);
    let size = 100 * MEGABYTE;
    let mut hasher = Hasher::new();
    for _ in 0..100 {
        hasher.update(&vec![7; MEGABYTE as usize]);
    }
    let hash = hasher.finish().to_string();
    let view = put(&client, 7, size).await.expect("up");
    assert_eq!((view.size, &view.hash), (size, &hash));
    let downloads = (0..4).map(|_| {
        let (client, hash) = (client.clone(), hash.clone());
        tokio::spawn(async move {
            let mut download = client.download(&hash, 0).await?;
            while download.next().await?.is_some() {}
            Ok::<_, ClientError>(download.offset())
        })
    });
    for download in downloads.collect::<Vec<_>>() {
        let got = download.await.expect("no panic");
        assert_eq!(got.expect("down, and verified"), size);
    }
    let growth = resident_max(&network).saturating_sub(before);
    assert!(growth < 48 * MEGABYTE, "it grew by {growth} bytes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_goes_on_after_the_node_was_killed() {
    let mut network = stage::network(&["A"]);
    let sent = bytes(20_000_000);
    let wish = NewUpload {
        size: Some(sent.len() as u64),
        sha256: Some(Hash::plain(&sent).to_string()),
        name: Some("big.bin".to_owned()),
        ..NewUpload::default()
    };
    let client = stage::client(&network, A);
    let upload = client.begin_upload(&wish).await.expect("begun").upload_id;
    let progress = Progress::default();
    let half = Cursor::new(sent[..12_000_000].to_vec());
    let view = client
        .add_to_upload(&upload, 0, None, half, &progress)
        .await;
    assert_eq!(view.expect("added").offset, 12_000_000);
    // In pieces that are never completed: nothing of them stays.
    let abandoned = put(&client, 1, u64::MAX);
    let abandoned = tokio::time::timeout(std::time::Duration::from_millis(500), abandoned);
    assert!(abandoned.await.is_err(), "it has no end");
    network.kill(A);
    network.start(A).expect("it comes back");
    let client = stage::client(&network, A);
    let state = client.upload_state(&upload).await.expect("it is kept");
    assert_eq!(
        (state.offset, state.name.as_deref()),
        (12_000_000, Some("big.bin"))
    );
    // The part and its note.
    assert_eq!(on_disk(&network), (0, 2));
    let rest = Cursor::new(sent[12_000_000..].to_vec());
    let view = client
        .add_to_upload(&upload, state.offset, None, rest, &progress)
        .await;
    assert_eq!(view.expect("added").offset, 20_000_000);
    let file = client
        .complete_upload(&upload, 20_000_000)
        .await
        .expect("whole");
    assert_eq!(Some(file.hash.clone()), wish.sha256);
    network.kill(A);
    network.start(A).expect("it comes back");
    let client = stage::client(&network, A);
    assert_eq!(client.attachment(&file.hash).await.expect("durable"), file);
    let mut download = client
        .download(&file.hash, 19_999_990)
        .await
        .expect("a range");
    let mut end = Vec::new();
    while let Some(piece) = download.next().await.expect("a piece") {
        end.extend_from_slice(&piece);
    }
    assert_eq!(end, &sent[19_999_990..]);
    assert_eq!(on_disk(&network), (1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_uploads_that_never_come_are_refused_and_leave_nothing_behind() {
    let network = stage::network(&["A"]);
    let client = stage::client(&network, A);
    let mut open = Vec::new();
    let mut limited = 0;
    for _ in 0..2_000 {
        match client.begin_upload(&NewUpload::default()).await {
            Ok(view) => open.push(view.upload_id),
            Err(error) => {
                assert_eq!(error.code(), "api.uploads_limited");
                assert!(error.retry_after_ms().is_some());
                limited += 1;
            }
        }
    }
    assert_eq!((open.len(), limited), (128, 1_872));
    // Other requests are answered meanwhile.
    client.balances().await.expect("answered");
    put(&client, 1, 1).await.expect("in one piece");
    for upload in open {
        client.remove_upload(&upload).await.expect("given up");
    }
    eventually("all parts are gone", async || {
        (on_disk(&network).1 == 0).then_some(())
    })
    .await;
    let again = client.begin_upload(&NewUpload::default()).await;
    again.expect("there is room again");
    let page = client
        .attachments(&AttachmentQuery::default(), None, 10)
        .await;
    assert_eq!(page.expect("a list").attachments.len(), 1);
}
