//! A replicated notary as real processes: two workers on a Galera cluster of three servers. Workers and servers are killed, stopped and all
//! restarted under load. Then every accepted flow has completed exactly once, value is conserved, and nodes and notary agree.

use std::time::{Duration, Instant};

use perf::topology::{Network, NetworkOptions, Who};

use crate::stage::banks::Banks;
use crate::stage::command::tally;
use crate::stage::{self, A, Seeded};

/// Flows outstanding at each bank.
const OUTSTANDING: usize = 16;
/// Maximum duration of undisturbed load before a disturbance.
const QUIET_MS_MAX: u64 = 1_000;
/// How long a process stays down, at most.
const DOWN_MS_MAX: u64 = 1_500;
/// The second worker.
const SECOND: Who = Who::Worker(0);

/// A fault of the network. The module `torture` has more of them, against clients that ask the notary themselves.
#[derive(Clone, Copy, Debug)]
enum Disturbance {
    KillWorker(Who),
    CrashServer(usize),
    /// The worker stops without a word, and goes on later.
    FreezeWorker(Who),
    RestartCluster,
}

const DISTURBANCES: [Disturbance; 4] = [
    Disturbance::KillWorker(Who::Notary),
    Disturbance::CrashServer(0),
    Disturbance::FreezeWorker(SECOND),
    Disturbance::RestartCluster,
];

fn disturb(network: &mut Network, what: Disturbance, seeded: &mut Seeded) {
    let down = seeded.moment(DOWN_MS_MAX);
    match what {
        Disturbance::KillWorker(who) => {
            network.kill(who);
            std::thread::sleep(down);
            network.start(who).expect("it starts again");
            return;
        }
        Disturbance::FreezeWorker(who) => {
            let pid = network.pid(who).expect("it runs");
            stage::signal(pid, rustix::process::Signal::STOP);
            std::thread::sleep(down);
            stage::signal(pid, rustix::process::Signal::CONT);
            return;
        }
        _ => {}
    }
    let cluster = network.notary_cluster().expect("a cluster");
    match what {
        Disturbance::CrashServer(server) => {
            cluster.crash(server).expect("signalled");
            std::thread::sleep(down);
            cluster.run(server).expect("it joins again");
        }
        _ => cluster.restart_all(|| {}).expect("the cluster begins anew"),
    }
}

fn replicated(banks: &[&str]) -> NetworkOptions {
    NetworkOptions {
        notary_workers: 2,
        ..stage::options(banks)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_accepted_flow_completes_exactly_once_with_a_replicated_notary() {
    let mut seeded = Seeded::from_environment();
    let mut network = Network::bring_up(&replicated(&["A", "B"])).expect("the network comes up");
    let banks = Banks::open(&network, OUTSTANDING).await;
    for what in DISTURBANCES {
        tokio::time::sleep(seeded.moment(QUIET_MS_MAX)).await;
        (network, seeded) = tokio::task::spawn_blocking(move || {
            disturb(&mut network, what, &mut seeded);
            (network, seeded)
        })
        .await
        .expect("it comes back");
        let before = banks.answered().await;
        stage::eventually("payments go on", || async {
            (banks.answered().await > before + OUTSTANDING).then_some(())
        })
        .await;
    }
    let wrong = banks.close(&network).await;
    assert_eq!(
        wrong, 0,
        "outcomes that do not list what their flow recorded"
    );
    for who in [Who::Notary, SECOND] {
        let folder = network.folder(who).to_path_buf();
        let audit = tally(&folder, "notary audit --node % --json");
        assert_eq!(audit.code, 0, "{}", audit.err);
        let audit = audit.json();
        assert_eq!(audit["inconsistencies"], 0, "{audit}");
        assert!(audit["transactions"].as_u64() > Some(100), "{audit}");
        let status = tally(&folder, "notary status --node % --json");
        assert_eq!(status.code, 0, "{}", status.err);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_go_on_while_one_worker_is_away() {
    let mut network = Network::bring_up(&replicated(&["A", "B"])).expect("the network comes up");
    let banks = Banks::open(&network, OUTSTANDING).await;
    for (who, freezes) in [(Who::Notary, false), (SECOND, true)] {
        let before = banks.answered().await;
        stage::eventually("payments run", || async {
            (banks.answered().await > before + OUTSTANDING).then_some(())
        })
        .await;
        let pid = network.pid(who).expect("it runs");
        match freezes {
            true => stage::signal(pid, rustix::process::Signal::STOP),
            false => network.kill(who),
        }
        let (began, before) = (Instant::now(), banks.answered().await);
        // All that were at the lost worker have ended, and more.
        stage::eventually("payments go on", || async {
            (banks.answered().await > before + 4 * OUTSTANDING).then_some(())
        })
        .await;
        println!("{who} away: payments go on after {:?}", began.elapsed());
        assert!(began.elapsed() < Duration::from_secs(30));
        match freezes {
            true => stage::signal(pid, rustix::process::Signal::CONT),
            false => drop(network.start(who).expect("it starts again")),
        }
    }
    assert!(network.pid(A).is_some());
    assert_eq!(banks.close(&network).await, 0);
}
