//! Four nodes converge and pay on all chains. A killed node continues from its last state and loses nothing that it accepted.

use crate::chain_stage::{Chain, agree, confirmed, eventually, reaches};

/// The parent chain and four children, by their tokens.
const CHAINS: [&str; 5] = ["TLY", "AMB", "BAS", "COB", "DOL"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_nodes_converge_and_pay_on_all_chains() {
    let chain = Chain::bring_up(4, 2);
    let clients = chain.clients();
    for client in &clients {
        eventually("the nodes find each other", async || {
            (client.status().await.ok()?.peers == 3).then_some(())
        })
        .await;
    }
    let mut ids = Vec::new();
    for (at, token) in CHAINS.into_iter().enumerate() {
        ids.push(chain.pay(at % 4, "0", "1", "1.5", token));
    }
    for id in &ids {
        confirmed(&clients, id, 1).await;
    }
    agree(&clients, 1).await;
    for (number, client) in clients.iter().enumerate() {
        let ran = chain.tally(number, "balance --node % passphrase:1 --json");
        let balances = &ran.json()["accounts"][0]["balances"];
        for (at, decimals) in [8u32, 8, 4, 8, 8].into_iter().enumerate() {
            let unit = 10u64.pow(decimals);
            let balance = balances[at]["balance"].as_str().expect("an amount");
            let balance: u64 = balance.parse().expect("a decimal number");
            // Fees come on top for an account that forges or bundles; a bundler has paid for its child blocks on the parent chain.
            let spent_max = if at == 0 { unit } else { 0 };
            let paid = 100_000_000 * unit + unit * 3 / 2;
            assert!(balance >= paid - spent_max, "{balances}");
        }
        assert!(client.status().await.expect("an answer").fork_depth_max < 10);
    }
    let hashes = eventually("the same tip everywhere at one moment", async || {
        let mut hashes = Vec::new();
        for client in &clients {
            let hash = client.state_hash().await.ok()?;
            hashes.push((hash.height, hash.state_hash));
        }
        hashes.dedup();
        (hashes.len() == 1).then_some(hashes)
    })
    .await;
    assert!(hashes[0].0 > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_node_goes_on_and_keeps_what_it_accepted() {
    let mut chain = Chain::bring_up(1, 1);
    let client = chain.client(0);
    reaches(&client, 3).await;
    for round in 0..3 {
        let mut ids = Vec::new();
        for token in CHAINS {
            ids.push(chain.pay(0, "2", "3", "0.5", token));
        }
        let before = client.status().await.expect("an answer");
        chain.kill(0);
        chain.start(0);
        let client = chain.client(0);
        let block = client.block(&before.height.to_string(), "none").await;
        let block = block.expect("what was shown is kept");
        assert_eq!(block.hash, before.tip, "round {round}");
        for id in &ids {
            confirmed(std::slice::from_ref(&client), id, 0).await;
        }
    }
    chain.kill(0);
    let ran = chain.tally(0, "check % --json");
    assert_eq!(
        (ran.code, ran.json()["damaged"].as_u64()),
        (0, Some(0)),
        "{}",
        ran.err
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_brings_a_node_back() {
    let mut chain = Chain::bring_up(1, 1);
    let client = chain.client(0);
    reaches(&client, 2).await;
    let id = chain.pay(0, "4", "5", "1", "AMB");
    confirmed(std::slice::from_ref(&client), &id, 1).await;
    let ran = chain.tally(0, "snapshot --node % first");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let again = chain.tally(0, "snapshot --node % first --json");
    assert!(again.code == 1 && again.err.contains("chain_api.snapshot_failed"));
    chain.kill(0);
    let ran = chain.tally(0, "restore % %/data/snapshots/first --json");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.json()["kept"].is_string());
    chain.start(0);
    let client = chain.client(0);
    confirmed(std::slice::from_ref(&client), &id, 2).await;
}
