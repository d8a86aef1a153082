//! Linear states: found by their id, locked, and referred to by transactions of other nodes.

use kernel::Reply;
use ledger::StateRef;
use primitives::{Decode, Hash};

use crate::testnet::{Crash, Last, Testnet};

const FAR_MS: u64 = 1_000_000;

pub fn refer(id: &Hash, known: Option<StateRef>) -> String {
    let known = match known {
        Some(StateRef { tx, index }) => format!(r#"{{"tx":"{tx}","index":{index}}}"#),
        None => "null".to_owned(),
    };
    format!(r#"{{"node":1,"id":"{id}","known":{known},"to":3}}"#)
}

/// Returns the state that a flow referred to, or its failure.
fn referred(net: &mut Testnet, token: u64) -> Result<StateRef, String> {
    match net.replies.remove(&token) {
        Some(Reply::Ended { outcome, .. }) => match &outcome.result {
            Ok(bytes) => Ok(StateRef::from_bytes(bytes).expect("a reference")),
            Err(rejection) => Err(rejection.code.to_string()),
        },
        other => panic!("{other:?}; logs: {:#?}", net.logs),
    }
}

/// Builds a test network with an alarm at node 1.
fn with_an_alarm(crashes: &[Crash]) -> (Testnet, Hash) {
    let mut net = Testnet::new(3);
    let args = format!(r#"{{"in_ms":{FAR_MS},"flow":"test.ring","again":9,"count":1}}"#);
    let set = net.start(1, "test.set", &args, None);
    net.settle();
    assert_eq!(net.ended(set), Ok(true));
    let alarm = net.nodes[1].view.values().next().expect("an alarm");
    let id = alarm.facts.linear_id.expect("a linear state");
    net.crashes = crashes.to_vec();
    (net, id)
}

/// Makes a new version of the alarm.
fn ring(net: &mut Testnet) {
    net.now += FAR_MS;
    net.settle();
}

#[test]
fn a_transaction_refers_to_the_newest_version_of_another_nodes_state() {
    let (mut net, id) = with_an_alarm(&[]);
    let token = net.start(2, "test.refer", &refer(&id, None), None);
    net.settle();
    let first = referred(&mut net, token).expect("referred to");

    ring(&mut net);
    // Node 2 knows only the old version, which the notary reports as consumed.
    let token = net.start(2, "test.refer", &refer(&id, Some(first)), None);
    net.settle();
    assert_eq!(referred(&mut net, token), Err("notary.conflict".to_owned()));
    // Asked again, its owner shows the new one.
    let token = net.start(2, "test.refer", &refer(&id, None), None);
    net.settle();
    let second = referred(&mut net, token).expect("referred to");
    assert_ne!(first, second);
    // A node that gets the transaction also fetches the referenced one. No recipient owns a state that is only referenced.
    assert_eq!(net.nodes[3].disk.ledger().len(), 4);
    assert_eq!(net.nodes[3].view.len(), 2);
    assert_eq!(net.nodes[2].view.len(), 0);
    // A referenced state is not consumed.
    assert!(net.nodes[1].view.contains_key(&second));

    let nothing = net.start(2, "test.refer", &refer(&Hash::ZERO, None), None);
    net.settle();
    assert_eq!(referred(&mut net, nothing), Err("test.no_alarm".to_owned()));
}

#[test]
fn a_version_that_is_consumed_is_not_locked() {
    let (mut net, _) = with_an_alarm(&[]);
    let StateRef { tx, index } = *net.nodes[1].view.keys().next().expect("an alarm");
    ring(&mut net);
    let args = format!(r#"{{"tx":"{tx}","index":{index}}}"#);
    for _ in 0..2 {
        let late = net.start(1, "test.unset", &args, None);
        net.settle();
        assert_eq!(net.ended(late), Err("vault.state_consumed".to_owned()));
        // Also by a node that has forgotten all but its ledger.
        net.down(1);
        net.up(1);
        net.settle();
    }
}

fn recover(net: &mut Testnet) {
    loop {
        net.settle();
        let down = (0..net.nodes.len()).find(|node| net.nodes[*node].kernel.is_none());
        match down {
            Some(node) => net.up(node),
            None => break,
        }
    }
}

#[test]
fn a_crash_at_any_commit_changes_nothing() {
    let play = |crashes: &[Crash]| {
        let (mut net, id) = with_an_alarm(crashes);
        loop {
            let token = net.start(2, "test.refer", &refer(&id, None), Some("refer"));
            recover(&mut net);
            if net.replies.contains_key(&token) {
                let reference = referred(&mut net, token).expect("referred to");
                return (net, reference);
            }
            // Waits for a retry.
            net.now += 60_000;
        }
    };
    let (undisturbed, expected) = play(&[]);
    for node in 0..4 {
        for at in 1..=undisturbed.nodes[node].commits {
            for last in [Last::Lost, Last::Durable, Last::Performed] {
                let crash = Crash { node, at, last };
                let (mut net, reference) = play(&[crash]);
                assert_eq!(reference, expected, "{crash:?}");
                for _ in 0..4 {
                    recover(&mut net);
                    net.now += 60_000;
                }
                recover(&mut net);
                assert_eq!(net.nodes[3].view.len(), 1, "{crash:?}");
                assert_eq!(net.nodes[3].disk.ledger().len(), 2, "{crash:?}");
            }
        }
    }
}
