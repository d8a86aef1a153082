//! Quarantine: the states of a notary's conflict that enter it, its effects, and its end.

use kernel::integrity::IntegrityOrder;
use kernel::message::{Answer, PeerMessage};
use kernel::port::Table;
use kernel::rows::META_QUARANTINE;
use kernel::{Event, Token};
use ledger::{NotaryError, NotaryResponse, StateConflict, StateRef, TxId};
use primitives::{Encode, Hash};

use crate::pay::{issue, pay};
use crate::town::Town;

#[track_caller]
fn done(town: &mut Town, node: usize, flow: &str, args: &str) {
    let token = town.start(node, flow, args, None);
    town.settle();
    assert_eq!(town.ended(token), Ok(true), "{flow}: {:#?}", town.logs);
}

#[track_caller]
fn fails(town: &mut Town, node: usize, flow: &str, args: &str) -> String {
    let token = town.start(node, flow, args, None);
    town.settle();
    town.ended(token).expect_err("a failure")
}

/// Answers the request to the played notary with a conflict on these inputs and references.
fn conflict(town: &mut Town, inputs: &[StateRef], references: &[StateRef]) {
    let of = |states: &[StateRef], is_reference| -> Vec<StateConflict> {
        let states = states.iter().map(|state| StateConflict {
            input: *state,
            consumed_by: Hash::from_bytes([7; 32]),
            is_reference,
        });
        states.collect()
    };
    let conflicts = [of(inputs, false), of(references, true)].concat();
    let refusal = NotaryResponse::Refused(NotaryError::conflict(conflicts));
    let heard = town.heard(0);
    let id = heard.iter().find_map(|message| match message {
        PeerMessage::Request { id, .. } => Some(*id),
        _ => None,
    });
    let id = id.expect("a request to the notary");
    let answer = Answer::Done(refusal.to_bytes());
    town.say(0, 1, &PeerMessage::Response { id, answer });
    town.settle();
}

fn rows(town: &Town, node: usize) -> usize {
    let rows = town.nodes[node].disk.rows(Table::Meta);
    rows.iter()
        .filter(|(key, _)| key.starts_with(META_QUARANTINE))
        .count()
}

/// Returns a state of a node's view: the one of this quantity, or the linear one.
fn state(town: &Town, node: usize, quantity: Option<u64>) -> StateRef {
    let mut states = town.nodes[node].view.iter();
    let found = states.find(|(_, produced)| match quantity {
        Some(_) => produced.facts.fungible.as_ref().map(|f| f.quantity) == quantity,
        None => produced.facts.linear_id.is_some(),
    });
    *found.expect("a state").0
}

#[test]
fn unconsumed_states_of_the_vault_enter_quarantine_whatever_they_are() {
    let mut town = Town::new(3);
    done(&mut town, 1, "cash.issue", &issue(100));
    let spent = state(&town, 1, Some(100));
    done(&mut town, 1, "cash.pay", &pay(30, 2));
    let set = r#"{"in_ms":1000000,"flow":"test.ring","again":9,"count":1}"#;
    done(&mut town, 1, "test.set", set);
    let (coin, alarm) = (state(&town, 1, Some(70)), state(&town, 1, None));
    let linear = town.nodes[1].view[&alarm].facts.linear_id;
    let linear = linear.expect("a linear state");
    let theirs = state(&town, 2, Some(30));
    let unknown = StateRef::new(TxId::from_array([9; 32]), 0);

    town.play(0);
    done_later(&mut town, 20);
    conflict(&mut town, &[spent, theirs, unknown], &[coin]);
    assert!(
        town.nodes[1].quarantined.is_empty(),
        "none is ours to spend"
    );
    assert_eq!((town.figures(1).quarantined, rows(&town, 1)), (0, 0));

    done_later(&mut town, 20);
    conflict(&mut town, &[coin, alarm], &[]);
    for restarts in 0..2 {
        assert_eq!(town.nodes[1].quarantined, [coin, alarm].into());
        assert_eq!((town.figures(1).quarantined, rows(&town, 1)), (2, 2));
        assert_eq!(
            fails(&mut town, 1, "cash.pay", &pay(20, 2)),
            "vault.insufficient_funds",
            "{restarts} restarts"
        );
        let StateRef { tx, index } = alarm;
        let hold = format!(r#"{{"state":{{"tx":"{tx}","index":{index}}},"ms":0}}"#);
        assert_eq!(fails(&mut town, 1, "test.hold", &hold), "vault.quarantined");
        let refer = format!(r#"{{"node":1,"id":"{linear}","known":null,"to":3}}"#);
        assert_eq!(
            fails(&mut town, 2, "test.refer", &refer),
            "vault.quarantined"
        );
        town.down(1);
        town.up(1);
        town.link(1, 0);
        town.settle();
    }
}

/// Starts a payment of node 1 that waits for the played notary.
fn done_later(town: &mut Town, quantity: u64) {
    town.start(1, "cash.pay", &pay(quantity, 2), None);
    town.settle();
}

#[test]
fn recording_the_consumer_ends_the_quarantine() {
    let mut town = Town::new(2);
    done(&mut town, 1, "cash.issue", &issue(100));
    let coin = state(&town, 1, Some(100));
    let copy = town.nodes[1].disk.clone();
    done(&mut town, 1, "cash.pay", &pay(30, 2));

    // An older copy, which meets the notary before it meets a peer that has newer data.
    town.down(2);
    town.down(1);
    town.settle();
    town.play(0);
    town.nodes[1].disk = copy;
    town.up(1);
    town.link(1, 0);
    town.settle();
    done_later(&mut town, 20);
    // The played notary shows no mark, so the start waits until its time is over.
    town.quiet_for(30_000);
    conflict(&mut town, &[coin], &[]);
    assert_eq!((town.figures(1).quarantined, rows(&town, 1)), (1, 1));

    town.up(2);
    town.settle();
    let token = Token(town.token());
    let order = IntegrityOrder::Recover;
    town.tell(1, Event::Integrity { order, token });
    for _ in 0..1_000 {
        town.settle();
        if !town.nodes[1].view.contains_key(&coin) {
            break;
        }
        town.now += 10;
    }
    assert!(
        !town.nodes[1].view.contains_key(&coin),
        "the consumer is not recorded: {:#?}",
        town.logs
    );
    assert_eq!((town.figures(1).quarantined, rows(&town, 1)), (0, 0));
}
