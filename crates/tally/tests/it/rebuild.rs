//! Real processes: the vault's view is rebuilt from the ledger, after kills during the rebuild, damage and deletion, and gives
//! the same answers as before.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use api::{StartFlow, VaultAnswer, VaultQuery, Wait};
use client::{Client, ClientError};
use perf::topology::Network;
use serde_json::{Value, json};

use crate::stage::command::tally;
use crate::stage::{self, A, B, cash};

/// Number of payments, in addition to the flows that make one state each. Enough to fill the view in several pieces.
const PAYMENTS: u64 = 1_100;
/// Rebuilds that are killed on the way, each a little later than the one before.
const KILLS: u32 = 5;

async fn run(client: &Client, flow: &str, arguments: &Value) -> Value {
    let start = StartFlow::new(flow, arguments).expect("JSON");
    let outcome = stage::completes(client, start, Wait::Delivered).await;
    let result = outcome.result.expect("a result");
    serde_json::from_str(result.get()).expect("JSON")
}

/// Something of everything that a vault holds: cash spent and not, to fresh keys and locked away, paper and debts.
async fn some_business(network: &Network) {
    let [a, b] = [A, B].map(|who| stage::client(network, who));
    let name_b = network.name(B).to_owned();
    let token = json!({ "currency": "GBP", "issuer": network.name(A) });
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("now");
    let later = u64::try_from(now.as_millis()).expect("now") + 3_600_000;
    run(
        &a,
        "cash.issue",
        &json!({ "currency": "GBP", "quantity": 1_000_000, "outputs": 40 }),
    )
    .await;
    let large = json!({ "currency": "EUR", "quantity": u64::MAX });
    run(&a, "cash.issue", &large).await;
    let anonymous = json!({ "currency": "GBP", "anonymous": true,
        "payments": [{ "to": name_b, "quantity": 77 }] });
    run(&a, "cash.pay", &anonymous).await;
    let lock = json!({ "currency": "GBP", "quantity": 5, "until": later });
    run(&a, "cash.lock", &lock).await;
    for face in [100, 200, 300] {
        let paper =
            json!({ "face": face, "token": token, "maturity": later + face, "recipient": name_b });
        run(&a, "paper.issue", &paper).await;
    }
    let owed = json!({ "to": name_b, "quantity": 30, "tokens": [token], "due": later });
    let debt = run(&a, "obligation.issue", &owed).await;
    let settle = json!({ "obligation": debt["state"], "quantity": 10 });
    run(&a, "obligation.settle", &settle).await;
    let stream = a.stream();
    let mut pays = tokio::task::JoinSet::new();
    for number in 0..PAYMENTS {
        let (stream, name_b) = (stream.clone(), name_b.clone());
        pays.spawn(async move {
            let start = cash::pay("GBP", None, 1 + number % 9, &name_b, 1).expect("arguments");
            let start = start.wait(Wait::Delivered);
            stream.start(&start).await.map(|outcome| outcome.status)
        });
        if pays.len() > 32 {
            pays.join_next()
                .await
                .expect("one")
                .expect("ends")
                .expect("answered");
        }
    }
    while let Some(paid) = pays.join_next().await {
        paid.expect("ends").expect("answered");
    }
    let note = a.ledger(None, 1).await.expect("readable").entries;
    a.add_note(&note[0].id, "first").await.expect("noted");
    assert!(stage::holds(&b, "GBP").await.expect("readable") > 1_000);
}

/// Returns a vault's answers to queries of every kind, all pages.
async fn answers(client: &Client) -> Vec<(Value, VaultAnswer)> {
    let all = try_answers(client).await;
    all.unwrap_or_else(|error| panic!("{error}"))
}

/// Sends all of these queries, up to the first refused one.
async fn try_answers(client: &Client) -> Result<Vec<(Value, VaultAnswer)>, ClientError> {
    let mut all = Vec::new();
    for asked in [
        json!({ "status": "all", "limit": 1000 }),
        json!({ "status": "consumed", "limit": 500, "sort": [{ "field": "consumed_at_ms", "descending": true }] }),
        json!({ "sort": [{ "field": "quantity" }, { "field": "number", "descending": true }], "limit": 97 }),
        json!({ "where": { "is": { "field": "contract", "value": "tally.obligation" } }, "status": "all" }),
        json!({ "where": { "greater": { "field": "tally.paper.face", "value": 100 } }, "sort": [{ "field": "tally.paper.maturity", "descending": true }] }),
        json!({ "where": { "and": [{ "is": { "field": "symbol", "value": "GBP" } }, { "less": { "field": "quantity", "value": 5 } }] }, "limit": 60, "count": true }),
        json!({ "status": "all", "group_by": ["contract", "symbol", "issuer"] }),
        json!({ "group_by": ["owner"] }),
        json!({ "group_by": [] }),
    ] {
        let mut query: VaultQuery = serde_json::from_value(asked.clone()).expect("a query");
        loop {
            let answer = client.query_vault(&query).await?;
            query.after.clone_from(&answer.next);
            all.push((asked.clone(), answer));
            if query.after.is_none() {
                break;
            }
        }
    }
    Ok(all)
}

fn same(before: &[(Value, VaultAnswer)], after: &[(Value, VaultAnswer)], when: &str) {
    assert_eq!(before.len(), after.len(), "{when}");
    for (before, after) in before.iter().zip(after) {
        // Not shown: an answer fills screens.
        assert!(before == after, "{when}: {}", before.0);
    }
}

/// Begins a rebuild and kills it, so long after it has begun a new file.
fn killed_rebuild(folder: &Path, view: &Path, after: Duration) {
    let file = |path: &Path| std::fs::metadata(path).ok().map(|data| data.ino());
    let old = file(view);
    let mut rebuild = Command::new(stage::binary())
        .args(["vault", "rebuild", "--node"])
        .arg(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("tally runs");
    let end = Instant::now() + stage::DEADLINE;
    while file(view) == old && rebuild.try_wait().expect("known").is_none() {
        assert!(Instant::now() < end, "the rebuild does not begin");
        std::thread::yield_now();
    }
    let begun = Instant::now();
    while begun.elapsed() < after {
        std::thread::yield_now();
    }
    rebuild.kill().expect("killed or ended");
    rebuild.wait().expect("ended");
}

#[tokio::test]
async fn a_view_made_anew_answers_as_before_whatever_happened_to_it() {
    let mut network = stage::network(&["A", "B"]);
    some_business(&network).await;
    let folder = network.folder(A).to_owned();
    let view = network.data(A).join("vault.sqlite");
    let before = answers(&stage::client(&network, A)).await;

    let refused = tally(&folder, "vault rebuild --node %");
    assert_eq!(refused.code, 5);
    assert!(refused.err.contains("vault.node_runs"), "{}", refused.err);
    assert!(refused.err.contains("Stop the node"), "{}", refused.err);

    network.stop(A).expect("stopped");
    let rebuilt = tally(&folder, "vault rebuild --node % --json");
    assert_eq!((rebuilt.code, rebuilt.err.as_str()), (0, ""));
    let report = rebuilt.json();
    let (_, states) = &before[0];
    assert_eq!(report["transactions"], states.view_seq);
    let all = before.iter().filter(|(asked, _)| *asked == before[0].0);
    let all: usize = all.map(|(_, answer)| answer.states.len()).sum();
    assert_eq!(report["states"], all);
    assert!(
        report["seconds"]
            .as_f64()
            .is_some_and(|seconds| seconds > 0.0)
    );
    network.start(A).expect("starts");
    same(
        &before,
        &answers(&stage::client(&network, A)).await,
        "rebuilt",
    );

    for kill in 0..KILLS {
        network.kill(A);
        killed_rebuild(&folder, &view, Duration::from_millis(u64::from(kill) * 15));
        network.start(A).expect("starts");
        same(
            &before,
            &answers(&stage::client(&network, A)).await,
            "killed",
        );
    }

    network.stop(A).expect("stopped");
    // The rebuild leaves one file without a log, so the damage below takes effect.
    assert_eq!(tally(&folder, "vault rebuild --node %").code, 0);
    let whole = std::fs::read(&view).expect("readable");
    let cut = &whole[..whole.len() / 2];
    let garbage = vec![0x5a; whole.len()];
    for (what, content) in [("garbage", &garbage[..]), ("cut off", cut), ("empty", &[])] {
        std::fs::write(&view, content).expect("written");
        let _ = std::fs::remove_file(view.with_extension("sqlite-wal"));
        network.start(A).expect("starts");
        same(&before, &answers(&stage::client(&network, A)).await, what);
        network.stop(A).expect("stopped");
    }
    std::fs::remove_file(&view).expect("there");
    network.start(A).expect("starts");
    same(
        &before,
        &answers(&stage::client(&network, A)).await,
        "deleted",
    );

    // Damage within, which is not seen when the file is opened: no answer is better than a wrong one, until the node has filled the
    // view again by itself.
    network.stop(A).expect("stopped");
    assert_eq!(tally(&folder, "vault rebuild --node %").code, 0);
    let mut damaged = std::fs::read(&view).expect("readable");
    let from = damaged.len() / 2;
    damaged[from..].fill(0xff);
    std::fs::write(&view, &damaged).expect("written");
    network.start(A).expect("starts");
    let client = stage::client(&network, A);
    // The first questions may be answered from pages that are whole, so all of them are asked again.
    let after = stage::eventually("the view is whole again", async || {
        match try_answers(&client).await {
            Ok(after) => Some(after),
            Err(refused) => {
                assert_eq!(refused.code(), "vault.view_failed", "{refused}");
                None
            }
        }
    })
    .await;
    same(&before, &after, "damaged within");

    // A sound database that contradicts the ledger: the last transaction comes to it a second time.
    network.stop(A).expect("stopped");
    let database = rusqlite::Connection::open(&view).expect("readable");
    let changed = database.execute("UPDATE cursor SET upto = upto - 1", []);
    assert_eq!(changed, Ok(1));
    drop(database);
    network.start(A).expect("starts");
    let client = stage::client(&network, A);
    let after = stage::eventually("the view is filled again", async || {
        let health = client.health().await.ok()?;
        let ready = health.ready && health.view_seq == health.ledger_seq;
        if ready {
            try_answers(&client).await.ok()
        } else {
            None
        }
    })
    .await;
    same(&before, &after, "contradicting the ledger");
}
