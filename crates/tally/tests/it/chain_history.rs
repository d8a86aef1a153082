//! `tally chain history` with real processes: it writes a whole chain, on which nodes run and which they fetch from each other.

use crate::chain_stage::{self, Chain, eventually, log_of};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_runs_on_a_history_and_another_takes_it_over() {
    let mut chain = Chain::begun_before(2, 1, 600);
    let ran = chain.tally(0, "history % --transactions 2000 --per-block 300 --json");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let made = ran.json();
    assert_eq!(made["transactions"], 2_000);
    // Seven blocks of payments, then empty ones until now.
    let height = made["height"].as_u64().expect("a height");
    assert!(height >= 7 && made["blocks"] == height, "{made}");
    let checked = chain.tally(0, "check % --json");
    assert_eq!(checked.code, 0, "{}", checked.err);
    assert_eq!(checked.json()["height"], height);

    (0..2).for_each(|at| chain.start(at));
    let refused = chain.tally(0, "history % --transactions 10");
    assert!(refused.err.contains("store.locked"), "{}", refused.err);
    let clients = chain.clients();
    eventually("the other node has the chain", async || {
        let status = clients[1].status().await.ok()?;
        (u64::from(status.height) >= height).then_some(())
    })
    .await;
    let text = height.to_string();
    let mut hashes = Vec::new();
    for client in &clients {
        let block = client.block(&text, "none").await.expect("it has it");
        hashes.push(block.hash);
    }
    assert_eq!(hashes[0], hashes[1], "{}", log_of(&chain.dir(1)));
    // It goes on with payments of clients.
    let id = chain.pay(0, "0", "1", "1", "1");
    chain_stage::confirmed(&clients, &id, 1).await;
}

#[test]
fn what_is_no_place_for_a_history_is_refused_with_a_code() {
    let chain = Chain::begun_before(1, 5, 60);
    for (line, code, words) in [
        (
            "history % --transactions 1000 --per-block 1",
            "chain_history.no_time",
            "1000 blocks",
        ),
        (
            "history /nonexistent --transactions 1",
            "tally.file",
            "/nonexistent",
        ),
    ] {
        let ran = chain.tally(0, line);
        assert_ne!(ran.code, 0, "{line}");
        assert!(
            ran.err.contains(code) && ran.err.contains(words),
            "{line}: {}",
            ran.err
        );
    }
    // Nothing was lost: a history of a valid size can still be made.
    let ran = chain.tally(0, "history % --transactions 100 --json");
    assert_eq!(ran.code, 0, "{}", ran.err);
}
