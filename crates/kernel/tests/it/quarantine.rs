//! Quarantine: the states of a notary's conflict that enter it, its effects, and its end.

use kernel::integrity::IntegrityOrder;
use kernel::message::{Answer, PeerMessage};
use kernel::port::Table;
use kernel::rows::META_QUARANTINE;
use kernel::{Event, Token};
use ledger::{NotaryError, NotaryResponse, StateConflict, StateRef, TxId};
use primitives::{Encode, Hash};

use crate::pay::{issue, pay};
use crate::testnet::Testnet;

#[track_caller]
fn done(net: &mut Testnet, node: usize, flow: &str, args: &str) {
    let token = net.start(node, flow, args, None);
    net.settle();
    assert_eq!(net.ended(token), Ok(true), "{flow}: {:#?}", net.logs);
}

#[track_caller]
fn fails(net: &mut Testnet, node: usize, flow: &str, args: &str) -> String {
    let token = net.start(node, flow, args, None);
    net.settle();
    net.ended(token).expect_err("a failure")
}

/// Answers the request to the scripted notary with a conflict on these inputs and references.
fn conflict(net: &mut Testnet, inputs: &[StateRef], references: &[StateRef]) {
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
    let heard = net.heard(0);
    let id = heard.iter().find_map(|message| match message {
        PeerMessage::Request { id, .. } => Some(*id),
        _ => None,
    });
    let id = id.expect("a request to the notary");
    let answer = Answer::Done(refusal.to_bytes());
    net.say(0, 1, &PeerMessage::Response { id, answer });
    net.settle();
}

fn rows(net: &Testnet, node: usize) -> usize {
    let rows = net.nodes[node].disk.rows(Table::Meta);
    rows.iter()
        .filter(|(key, _)| key.starts_with(META_QUARANTINE))
        .count()
}

/// Returns a state of a node's view: the one of this quantity, or the linear one.
fn state(net: &Testnet, node: usize, quantity: Option<u64>) -> StateRef {
    let mut states = net.nodes[node].view.iter();
    let found = states.find(|(_, produced)| match quantity {
        Some(_) => produced.facts.fungible.as_ref().map(|f| f.quantity) == quantity,
        None => produced.facts.linear_id.is_some(),
    });
    *found.expect("a state").0
}

#[test]
fn unconsumed_states_of_the_vault_enter_quarantine_whatever_they_are() {
    let mut net = Testnet::new(3);
    done(&mut net, 1, "cash.issue", &issue(100));
    let spent = state(&net, 1, Some(100));
    done(&mut net, 1, "cash.pay", &pay(30, 2));
    let set = r#"{"in_ms":1000000,"flow":"test.ring","again":9,"count":1}"#;
    done(&mut net, 1, "test.set", set);
    let (coin, alarm) = (state(&net, 1, Some(70)), state(&net, 1, None));
    let linear = net.nodes[1].view[&alarm].facts.linear_id;
    let linear = linear.expect("a linear state");
    let theirs = state(&net, 2, Some(30));
    let unknown = StateRef::new(TxId::from_array([9; 32]), 0);

    net.script(0);
    done_later(&mut net, 20);
    conflict(&mut net, &[spent, theirs, unknown], &[coin]);
    assert!(net.nodes[1].quarantined.is_empty(), "none is ours to spend");
    assert_eq!((net.figures(1).quarantined, rows(&net, 1)), (0, 0));

    done_later(&mut net, 20);
    conflict(&mut net, &[coin, alarm], &[]);
    for restarts in 0..2 {
        assert_eq!(net.nodes[1].quarantined, [coin, alarm].into());
        assert_eq!((net.figures(1).quarantined, rows(&net, 1)), (2, 2));
        assert_eq!(
            fails(&mut net, 1, "cash.pay", &pay(20, 2)),
            "vault.insufficient_funds",
            "{restarts} restarts"
        );
        let StateRef { tx, index } = alarm;
        let hold = format!(r#"{{"state":{{"tx":"{tx}","index":{index}}},"ms":0}}"#);
        assert_eq!(fails(&mut net, 1, "test.hold", &hold), "vault.quarantined");
        let refer = format!(r#"{{"node":1,"id":"{linear}","known":null,"to":3}}"#);
        assert_eq!(
            fails(&mut net, 2, "test.refer", &refer),
            "vault.quarantined"
        );
        net.down(1);
        net.up(1);
        net.link(1, 0);
        net.settle();
    }
}

/// Starts a payment of node 1 that waits for the scripted notary.
fn done_later(net: &mut Testnet, quantity: u64) {
    net.start(1, "cash.pay", &pay(quantity, 2), None);
    net.settle();
}

#[test]
fn recording_the_consumer_ends_the_quarantine() {
    let mut net = Testnet::new(2);
    done(&mut net, 1, "cash.issue", &issue(100));
    let coin = state(&net, 1, Some(100));
    let copy = net.nodes[1].disk.clone();
    done(&mut net, 1, "cash.pay", &pay(30, 2));

    // An older copy, which meets the notary before it meets a peer that has newer data.
    net.down(2);
    net.down(1);
    net.settle();
    net.script(0);
    net.nodes[1].disk = copy;
    net.up(1);
    net.link(1, 0);
    net.settle();
    done_later(&mut net, 20);
    // The scripted notary shows no mark, so the start waits until its time is over.
    net.quiet_for(30_000);
    conflict(&mut net, &[coin], &[]);
    assert_eq!((net.figures(1).quarantined, rows(&net, 1)), (1, 1));

    net.up(2);
    net.settle();
    let token = Token(net.token());
    let order = IntegrityOrder::Recover;
    net.tell(1, Event::Integrity { order, token });
    for _ in 0..1_000 {
        net.settle();
        if !net.nodes[1].view.contains_key(&coin) {
            break;
        }
        net.now += 10;
    }
    assert!(
        !net.nodes[1].view.contains_key(&coin),
        "the consumer is not recorded: {:#?}",
        net.logs
    );
    assert_eq!((net.figures(1).quarantined, rows(&net, 1)), (0, 0));
}
