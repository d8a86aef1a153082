//! A member that floods a bank over a real connection, while the payments of others go on. False signatures and garbage slow it down, cut
//! it off for a time and show it to the operator. Valid signatures are checked in idle time.

use client::Client;
use node::Node;
use node::bootstrap::{NetworkSpec, bootstrap};
use primitives::{Hash, KeyPair, Scheme};

use crate::running::besieger::Besieger;
use crate::running::shares::{FOUR, load, pay};
use crate::running::{run, start, until, value};

/// Transactions of one delivery, each with a false P-256 signature.
const FLOOD: usize = 20;
/// Keys that sign one transaction. Checking their signatures takes a tenth of a second of a core or more.
const SIGNERS: usize = 1_500;

/// The honest nodes, the clients of both banks, and the hostile member with a connection to the bank.
struct Besieged {
    nodes: Vec<Node>,
    bank: Client,
    other: Client,
    besieger: Besieger,
}

impl Besieged {
    async fn start(folder: &std::path::Path) -> Self {
        let description = folder.join("NETWORK.toml");
        std::fs::write(&description, FOUR).expect("written");
        let out = folder.join("out");
        let spec = NetworkSpec::read(&description).expect("a description");
        bootstrap(&spec, &out).expect("bootstrapped");
        let (bank_node, bank) = start(&out.join("bank")).await;
        let (notary_node, _) = start(&out.join("notary")).await;
        let (other_node, other) = start(&out.join("other")).await;
        let besieger = Besieger::start(&out.join("hostile"));
        let victim = besieger.party("Bank");
        until("a connection", async || {
            besieger.reaches(&victim).then_some(())
        })
        .await;
        besieger.greet(&victim);
        run(&bank, "cash.issue", 1_000).await;
        Self {
            nodes: vec![bank_node, notary_node, other_node],
            bank,
            other,
            besieger,
        }
    }

    async fn pay_each_other(&self) {
        for _ in 0..10 {
            pay(&self.bank, "Other").await;
            pay(&self.other, "Bank").await;
        }
    }

    async fn stop(self) {
        for node in self.nodes {
            node.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn valid_signatures_in_masses_are_checked_in_idle_time() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut besieged = Besieged::start(folder.path()).await;
    let victim = besieged.besieger.party("Bank");
    let key = |number: usize| {
        let seed = Hash::plain(&number.to_be_bytes());
        KeyPair::from_seed(Scheme::EcdsaP256, *seed.as_bytes())
    };
    let keys: Vec<KeyPair> = (0..SIGNERS).map(key).collect();
    let delivery = besieged.besieger.signed_by_many(&victim, &keys);
    besieged
        .besieger
        .say(&victim, &delivery)
        .expect("a connection");
    besieged.pay_each_other().await;
    // A round makes those of 100 ms at once, and perhaps some later ones.
    let client = &besieged.bank;
    let put_off = until("the bank has checked them", async || {
        let metrics = client.metrics().await.expect("readable");
        let checked = value(&metrics, "tally_signature_batch_checks_sum");
        let put_off = value(&metrics, "tally_signatures_put_off_total");
        (checked >= SIGNERS as f64).then_some(put_off)
    })
    .await;
    assert!(put_off > 0.0);
    assert_eq!(load(client).await.garbage, 0);
    besieged.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_p256_signatures_is_cut_off_visibly() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut besieged = Besieged::start(folder.path()).await;
    let (besieger, bank) = (&mut besieged.besieger, &besieged.bank);
    let victim = besieger.party("Bank");
    let mut floods = 0;
    until("the bank cuts the flood off", async || {
        if besieger.reaches(&victim) {
            let _ = besieger.flood(&victim, FLOOD);
            floods += 1;
        }
        let load = load(bank).await;
        (load.cut_offs > 0).then_some(())
    })
    .await;
    assert!(floods > 1, "one delivery alone is no flood");
    besieged.pay_each_other().await;
    let peers = besieged.bank.peers().await.expect("readable").peers;
    let hostile = peers.iter().find(|peer| peer.name.contains("Hostile"));
    let hostile = hostile.expect("a member");
    assert!(
        hostile.cut_off_ms.is_some() || !hostile.connected,
        "{hostile:?}"
    );
    besieged.stop().await;
}
