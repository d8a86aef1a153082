//! A member that floods a bank with P-256 signatures and garbage over a real connection: it is slowed down, cut off for a time and
//! shown to the operator, while the payments of others go on.

use node::bootstrap::{NetworkSpec, bootstrap};

use crate::running::besieger::Besieger;
use crate::running::shares::{FOUR, load, pay};
use crate::running::{run, start, until};

/// Transactions of one delivery, each with a false P-256 signature.
const FLOOD: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_p256_signatures_is_cut_off_visibly() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let description = folder.path().join("NETWORK.toml");
    std::fs::write(&description, FOUR).expect("written");
    let out = folder.path().join("out");
    let spec = NetworkSpec::read(&description).expect("a description");
    bootstrap(&spec, &out).expect("bootstrapped");
    let (bank, bank_client) = start(&out.join("bank")).await;
    let (notary, _) = start(&out.join("notary")).await;
    let (other, other_client) = start(&out.join("other")).await;
    let mut besieger = Besieger::start(&out.join("hostile"));
    let victim = besieger.party("Bank");
    until("a connection", async || {
        besieger.reaches(&victim).then_some(())
    })
    .await;
    besieger.greet(&victim);
    run(&bank_client, "cash.issue", 1_000).await;

    let mut floods = 0;
    until("the bank cuts the flood off", async || {
        if besieger.reaches(&victim) {
            let _ = besieger.flood(&victim, FLOOD);
            floods += 1;
        }
        let load = load(&bank_client).await;
        (load.cut_offs > 0).then_some(())
    })
    .await;
    assert!(floods > 1, "one delivery alone is no flood");
    for _ in 0..10 {
        pay(&bank_client, "Other").await;
        pay(&other_client, "Bank").await;
    }
    let peers = bank_client.peers().await.expect("readable").peers;
    let hostile = peers.iter().find(|peer| peer.name.contains("Hostile"));
    let hostile = hostile.expect("a member");
    assert!(
        hostile.cut_off_ms.is_some() || !hostile.connected,
        "{hostile:?}"
    );
    for node in [bank, notary, other] {
        node.stop().await;
    }
}
