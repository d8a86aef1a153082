//! Flows that lock states by their reference.

use ledger::{StateRef, TxId};

use crate::pay::{issue, pay};
use crate::town::Town;

/// The state that a node holds, of which there is one.
fn only_state(town: &Town, node: usize) -> StateRef {
    let mut states = town.nodes[node].view.keys();
    let state = *states.next().expect("a state");
    assert_eq!(states.next(), None);
    state
}

fn hold(state: StateRef, ms: u64) -> String {
    let StateRef { tx, index } = state;
    format!(r#"{{"state":{{"tx":"{tx}","index":{index}}},"ms":{ms}}}"#)
}

/// A town in which node 1 has a coin of 100.
fn with_a_coin() -> (Town, StateRef) {
    let mut town = Town::new(2);
    let issued = town.start(1, "cash.issue", &issue(100), None);
    town.settle();
    assert_eq!(town.ended(issued), Ok(true));
    let coin = only_state(&town, 1);
    (town, coin)
}

#[test]
fn a_state_that_a_flow_holds_is_neither_locked_nor_selected_by_another() {
    let (mut town, coin) = with_a_coin();
    let held = town.start(1, "test.hold", &hold(coin, 1_000), None);
    town.settle();
    let again = town.start(1, "test.hold", &hold(coin, 0), None);
    let paid = town.start(1, "cash.pay", &pay(30, 2), None);
    town.settle();
    assert_eq!(town.ended(again), Err("vault.state_locked".to_owned()));
    assert!(!town.replies.contains_key(&paid), "the payment waits");
    town.now += 1_000;
    town.settle();
    assert_eq!(town.ended(held), Ok(true));
    assert_eq!(town.ended(paid), Ok(true));
    assert_eq!([1, 2].map(|node| town.balance(node)), [70, 30]);
}

#[test]
fn a_lock_outlives_a_restart() {
    let (mut town, coin) = with_a_coin();
    town.start(1, "test.hold", &hold(coin, 60_000), Some("held"));
    town.settle();
    town.down(1);
    town.up(1);
    town.settle();
    let paid = town.start(1, "cash.pay", &pay(30, 2), None);
    town.settle();
    assert!(!town.replies.contains_key(&paid), "the payment waits");
    let again = town.start(1, "test.hold", &hold(coin, 0), None);
    town.settle();
    assert_eq!(town.ended(again), Err("vault.state_locked".to_owned()));
    town.quiet();
    assert_eq!(
        town.balance(2),
        0,
        "the payment gave up before the lock did"
    );
    let paid = town.start(1, "cash.pay", &pay(30, 2), None);
    town.settle();
    assert_eq!(town.ended(paid), Ok(true));
}

#[test]
fn what_is_not_in_the_ledger_is_not_locked() {
    let (mut town, coin) = with_a_coin();
    let nowhere = [
        StateRef::new(coin.tx, 9),
        StateRef::new(TxId::from_array([7; 32]), 0),
    ];
    for state in nowhere {
        let held = town.start(1, "test.hold", &hold(state, 0), None);
        town.settle();
        assert_eq!(town.ended(held), Err("node.unknown_state".to_owned()));
    }
}
