//! A network of real processes with a validating notary. All issues and payments pass the notary with their back chains, while
//! the notary and the banks are killed (-9) in between. At the end, every accepted flow has completed exactly once, the notary
//! knows every consumed state, and its own ledger holds every transaction that it signed.

use api::Wait;
use perf::topology::{Network, NetworkOptions, Who};

use crate::stage::banks::Banks;
use crate::stage::{self, A, B, Seeded, cash};

/// Kills of each of the three.
const ROUNDS: usize = 3;
/// Flows outstanding at each bank.
const OUTSTANDING: usize = 16;
/// Maximum duration of undisturbed load before a kill.
const QUIET_MS_MAX: u64 = 700;
/// How long a killed process stays down, at most.
const DOWN_MS_MAX: u64 = 300;

fn network() -> Network {
    let options = NetworkOptions {
        validating: true,
        ..stage::options(&["A", "B"])
    };
    Network::bring_up(&options).expect("the network comes up")
}

async fn restarted(mut network: Network, who: Who) -> Network {
    network.kill(who);
    tokio::task::spawn_blocking(move || {
        let started = network.start(who);
        started.unwrap_or_else(|error| panic!("{who:?}: {error}"));
        network
    })
    .await
    .expect("it comes back")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_accepted_flow_completes_exactly_once_under_a_notary_that_validates() {
    let mut seeded = Seeded::from_environment();
    let mut network = network();
    let banks = Banks::open(&network, OUTSTANDING).await;
    for _ in 0..ROUNDS {
        for who in [Who::Notary, A, B] {
            tokio::time::sleep(seeded.moment(QUIET_MS_MAX)).await;
            network.kill(who);
            tokio::time::sleep(seeded.moment(DOWN_MS_MAX)).await;
            network = restarted(network, who).await;
        }
    }
    let wrong = banks.close(&network).await;
    assert_eq!(
        wrong, 0,
        "outcomes that do not list what their flow recorded"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_back_chain_that_the_notary_signed_is_in_its_ledger_also_after_a_kill() {
    let mut network = network();
    let notary = stage::client(&network, Who::Notary);
    let shown = notary.node().await.expect("readable").notary;
    assert_eq!(shown.map(|notary| notary.validating), Some(true));
    let [name_a, name_b] = [A, B].map(|who| network.name(who).to_owned());
    let issue = cash::issue("GBP", 1_000).expect("arguments");
    stage::completes(&stage::client(&network, A), issue, Wait::Delivered).await;
    const TURNS: u64 = 10;
    for turn in 0..TURNS {
        if turn == TURNS / 2 {
            network = restarted(network, Who::Notary).await;
        }
        let (who, to) = match turn % 2 {
            0 => (A, &name_b),
            _ => (B, &name_a),
        };
        let pay = cash::pay("GBP", Some(&name_a), 1_000, to, 1).expect("arguments");
        stage::completes(&stage::client(&network, who), pay, Wait::Delivered).await;
    }
    let held = stage::holds(&stage::client(&network, A), "GBP").await;
    assert_eq!(held.expect("readable"), 1_000);
    let notary = stage::client(&network, Who::Notary);
    let page = notary.ledger(None, 100).await.expect("readable");
    assert_eq!(page.entries.len() as u64, 1 + TURNS);
    // Since its restart the notary has fetched no back chain: it had recorded every transaction that it signed.
    let metrics = notary.metrics().await.expect("readable");
    let line = "\ntally_back_chains_total 0\n";
    assert!(metrics.contains(line), "{metrics}");
}
