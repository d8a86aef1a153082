//! Kill -9 of node A, node B and the notary in turn, at random moments, under load; restart; many rounds. Then every accepted
//! flow has completed exactly once, value is conserved, all nodes agree, nothing acknowledged is missing.

use perf::topology::Who;

use crate::stage::banks::Banks;
use crate::stage::{self, A, B, Seeded};

/// Kills of each of the three.
const ROUNDS: usize = 8;
/// Flows outstanding at each bank.
const OUTSTANDING: usize = 24;
/// Maximum duration of undisturbed load before a kill.
const QUIET_MS_MAX: u64 = 700;
/// How long a killed process stays down, at most.
const DOWN_MS_MAX: u64 = 300;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_accepted_flow_completes_exactly_once() {
    let mut seeded = Seeded::from_environment();
    let mut network = stage::network(&["A", "B"]);
    let banks = Banks::open(&network, OUTSTANDING).await;
    for round in 0..ROUNDS {
        for who in [A, B, Who::Notary] {
            tokio::time::sleep(seeded.moment(QUIET_MS_MAX)).await;
            network.kill(who);
            tokio::time::sleep(seeded.moment(DOWN_MS_MAX)).await;
            network = tokio::task::spawn_blocking(move || {
                let started = network.start(who);
                started.unwrap_or_else(|error| panic!("round {round}, {who:?}: {error}"));
                network
            })
            .await
            .expect("it comes back");
        }
    }
    let wrong = banks.close(&network).await;
    assert_eq!(
        wrong, 0,
        "outcomes that do not list what their flow recorded"
    );
}
