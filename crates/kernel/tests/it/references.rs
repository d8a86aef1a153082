//! Linear states: found by their id, locked, and referred to by transactions of other nodes.

use kernel::Reply;
use ledger::StateRef;
use primitives::{Decode, Hash};

use crate::town::{Crash, Last, Town};

const FAR_MS: u64 = 1_000_000;

pub fn refer(id: &Hash, known: Option<StateRef>) -> String {
    let known = match known {
        Some(StateRef { tx, index }) => format!(r#"{{"tx":"{tx}","index":{index}}}"#),
        None => "null".to_owned(),
    };
    format!(r#"{{"node":1,"id":"{id}","known":{known},"to":3}}"#)
}

/// Returns the state that a flow referred to, or its failure.
fn referred(town: &mut Town, token: u64) -> Result<StateRef, String> {
    match town.replies.remove(&token) {
        Some(Reply::Ended { outcome, .. }) => match outcome.result {
            Ok(bytes) => Ok(StateRef::from_bytes(&bytes).expect("a reference")),
            Err(rejection) => Err(rejection.code),
        },
        other => panic!("{other:?}; logs: {:#?}", town.logs),
    }
}

/// Builds a town with an alarm at node 1.
fn with_an_alarm(crashes: &[Crash]) -> (Town, Hash) {
    let mut town = Town::new(3);
    let args = format!(r#"{{"in_ms":{FAR_MS},"flow":"test.ring","again":9,"count":1}}"#);
    let set = town.start(1, "test.set", &args, None);
    town.settle();
    assert_eq!(town.ended(set), Ok(true));
    let alarm = town.nodes[1].view.values().next().expect("an alarm");
    let id = alarm.facts.linear_id.expect("a linear state");
    town.crashes = crashes.to_vec();
    (town, id)
}

/// Makes a new version of the alarm.
fn ring(town: &mut Town) {
    town.now += FAR_MS;
    town.settle();
}

#[test]
fn a_transaction_refers_to_the_newest_version_of_another_nodes_state() {
    let (mut town, id) = with_an_alarm(&[]);
    let token = town.start(2, "test.refer", &refer(&id, None), None);
    town.settle();
    let first = referred(&mut town, token).expect("referred to");

    ring(&mut town);
    // Node 2 knows only the old version, which the notary reports as consumed.
    let token = town.start(2, "test.refer", &refer(&id, Some(first)), None);
    town.settle();
    assert_eq!(
        referred(&mut town, token),
        Err("notary.conflict".to_owned())
    );
    // Asked again, its owner shows the new one.
    let token = town.start(2, "test.refer", &refer(&id, None), None);
    town.settle();
    let second = referred(&mut town, token).expect("referred to");
    assert_ne!(first, second);
    // A node that gets the transaction also fetches the referenced one. No recipient owns a state that is only referenced.
    assert_eq!(town.nodes[3].disk.ledger().len(), 4);
    assert_eq!(town.nodes[3].view.len(), 2);
    assert_eq!(town.nodes[2].view.len(), 0);
    // A referenced state is not consumed.
    assert!(town.nodes[1].view.contains_key(&second));

    let nothing = town.start(2, "test.refer", &refer(&Hash::ZERO, None), None);
    town.settle();
    assert_eq!(
        referred(&mut town, nothing),
        Err("test.no_alarm".to_owned())
    );
}

#[test]
fn a_version_that_is_consumed_is_not_locked() {
    let (mut town, _) = with_an_alarm(&[]);
    let StateRef { tx, index } = *town.nodes[1].view.keys().next().expect("an alarm");
    ring(&mut town);
    let args = format!(r#"{{"tx":"{tx}","index":{index}}}"#);
    for _ in 0..2 {
        let late = town.start(1, "test.unset", &args, None);
        town.settle();
        assert_eq!(town.ended(late), Err("vault.state_consumed".to_owned()));
        // Also by a node that has forgotten all but its ledger.
        town.down(1);
        town.up(1);
        town.settle();
    }
}

fn recover(town: &mut Town) {
    loop {
        town.settle();
        let down = (0..town.nodes.len()).find(|node| town.nodes[*node].kernel.is_none());
        match down {
            Some(node) => town.up(node),
            None => break,
        }
    }
}

#[test]
fn a_crash_at_any_commit_changes_nothing() {
    let play = |crashes: &[Crash]| {
        let (mut town, id) = with_an_alarm(crashes);
        loop {
            let token = town.start(2, "test.refer", &refer(&id, None), Some("refer"));
            recover(&mut town);
            if town.replies.contains_key(&token) {
                let reference = referred(&mut town, token).expect("referred to");
                return (town, reference);
            }
            // Waits for a retry.
            town.now += 60_000;
        }
    };
    let (undisturbed, expected) = play(&[]);
    for node in 0..4 {
        for at in 1..=undisturbed.nodes[node].commits {
            for last in [Last::Lost, Last::Durable, Last::Performed] {
                let crash = Crash { node, at, last };
                let (mut town, reference) = play(&[crash]);
                assert_eq!(reference, expected, "{crash:?}");
                for _ in 0..4 {
                    recover(&mut town);
                    town.now += 60_000;
                }
                recover(&mut town);
                assert_eq!(town.nodes[3].view.len(), 1, "{crash:?}");
                assert_eq!(town.nodes[3].disk.ledger().len(), 2, "{crash:?}");
            }
        }
    }
}
