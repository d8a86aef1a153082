//! Operations on a laboratory's network: settings and cores between restarts, wiping, snapshots, and use of an external network.

use client::Client;
use perf::topology::{ExternalNode, Network, NetworkOptions, NodeCare, Settings, Who};

use api::Wait;

use crate::stage::{self, A, cash, completes, holds};

/// The cores that a process may use, as the kernel counts them.
fn cores_of(network: &Network, who: Who) -> u32 {
    let pid = network.pid(who).expect("it runs");
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed:"));
    let masks = line.expect("Linux says so").trim().split(',');
    masks
        .map(|mask| u32::from_str_radix(mask, 16).expect("a mask").count_ones())
        .sum()
}

async fn issue(client: &Client, quantity: u64) {
    let start = cash::issue("GBP", quantity).expect("arguments");
    completes(client, start, Wait::Delivered).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prepared_network_is_copied_put_back_and_wiped() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut network =
        Network::bring_up(&NetworkOptions::numbered(stage::binary(), 1)).expect("it comes up");
    assert!(network.folder(A).ends_with("bank-1"));
    let client = stage::client(&network, A);
    let gbp = || async { holds(&client, "GBP").await.expect("an answer") };

    issue(&client, 10).await;
    let snapshot = folder.path().join("snapshot");
    network.snapshot(&snapshot).expect("copied");
    issue(&client, 5).await;
    assert_eq!(gbp().await, 15);
    for _ in 0..2 {
        network.restore(&snapshot).expect("put back");
        assert_eq!(gbp().await, 10);
        issue(&client, 1).await;
        assert_eq!(gbp().await, 11);
    }
    network.wipe().expect("wiped");
    assert_eq!(gbp().await, 0);
    issue(&client, 3).await;
    assert_eq!(gbp().await, 3);

    // An external caller finds the node by its folder.
    let external = ExternalNode::of_folder(network.folder(A)).expect("its files");
    assert_eq!(external.name, network.name(A));
    let other = Client::new(external.endpoint).expect("an endpoint");
    assert_eq!(holds(&other, "GBP").await.expect("an answer"), 3);
}

#[test]
fn settings_and_cores_restart_only_whom_they_concern() {
    let mut network =
        Network::bootstrap(&NetworkOptions::numbered(stage::binary(), 1)).expect("bootstrapped");
    let setting = |value: i64| Settings::from([("limits.live_flows".to_owned(), value.into())]);
    let care = |who: Who, value: i64, cores: Option<u32>| match who {
        Who::Notary | Who::Worker(_) => NodeCare::default(),
        Who::Bank(_) => NodeCare {
            settings: setting(value),
            cores,
        },
    };
    // Nothing runs yet, so nothing is restarted.
    assert!(
        !network
            .configure(|who| care(who, 7, Some(1)))
            .expect("laid")
    );
    network.start_all().expect("it comes up");
    let all = cores_of(&network, Who::Notary);
    assert_eq!(cores_of(&network, A), 1);
    let pids = |network: &Network| [network.pid(Who::Notary), network.pid(A)];
    let before = pids(&network);
    assert!(
        !network
            .configure(|who| care(who, 7, Some(1)))
            .expect("the same")
    );
    assert_eq!(pids(&network), before);
    for (value, cores) in [(8, Some(1)), (8, None)] {
        let before = pids(&network);
        assert!(
            network
                .configure(|who| care(who, value, cores))
                .expect("laid")
        );
        let after = pids(&network);
        assert_eq!(after[0], before[0], "the notary keeps running");
        assert_ne!(after[1], before[1], "{value} {cores:?}");
    }
    assert_eq!(cores_of(&network, A), all);
    let config = std::fs::read_to_string(network.folder(A).join("node.toml")).expect("there");
    assert!(config.contains("live_flows = 8"), "{config}");

    // A value that the node refuses: the end of its log says why.
    let error = network
        .configure(|who| care(who, 0, None))
        .expect_err("out of range");
    let text = error.to_string();
    assert!(
        text.contains("config.out_of_range") && text.contains("Bank 1"),
        "{text}"
    );
}
