//! Two halves of a network forge apart. After the partition heals they converge, and the winning chain contains the transactions
//! that either half accepted.

use api::chain::NewBan;

use crate::chain_stage::{Chain, agree, confirmed, eventually, reaches};

/// Blocks that each half forges by itself.
const APART: u32 = 30;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_halves_forge_apart_and_converge() {
    let chain = Chain::bring_up(4, 1);
    let clients = chain.clients();
    let mut keys = Vec::new();
    for client in &clients {
        eventually("the nodes find each other", async || {
            (client.status().await.ok()?.peers == 3).then_some(())
        })
        .await;
        keys.push(client.peers().await.expect("an answer").me);
    }
    let other_half = |at: usize| if at < 2 { 2..4 } else { 0..2 };
    let ban = NewBan {
        seconds: 3_600,
        reason: "the test cuts the network".into(),
    };
    for (at, client) in clients.iter().enumerate() {
        for peer in other_half(at) {
            client
                .ban_peer(&keys[peer], &ban)
                .await
                .expect("it is kept away");
        }
    }
    for client in &clients {
        eventually("the halves are apart", async || {
            (client.status().await.ok()?.peers == 1).then_some(())
        })
        .await;
    }
    let began = clients[0].status().await.expect("an answer").height;
    let mut ids = Vec::new();
    for (at, token) in ["TLY", "AMB", "BAS", "COB"].into_iter().enumerate() {
        ids.push(chain.pay(at, &(at + 4).to_string(), "9", "1", token));
    }
    for client in &clients {
        reaches(client, began + APART).await;
    }
    for (at, client) in clients.iter().enumerate() {
        for peer in other_half(at) {
            client
                .unban_peer(&keys[peer])
                .await
                .expect("it may come back");
        }
    }
    // A node that changes over to the other branch is low for a moment.
    eventually("the nodes agree on a whole branch", async || {
        (agree(&clients, 2).await >= began + APART).then_some(())
    })
    .await;
    for id in &ids {
        confirmed(&clients, id, 1).await;
    }
    let mut deepest = 0;
    for client in &clients {
        let status = client.status().await.expect("an answer");
        deepest = deepest.max(status.fork_depth_max);
    }
    assert!(deepest > 1, "one half gave its blocks up");
}
