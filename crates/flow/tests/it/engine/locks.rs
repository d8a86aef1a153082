//! The locks that recovery reports, and the data that it reads back from the ledger.

use flow::EffectResult::{Done, States, Transaction};
use flow::Loaded;
use ledger::StateRef;

use crate::engine::bench::{Bench, id};
use crate::engine::transactions::{coin, spend};

fn load(b: &mut Bench) -> Loaded {
    let rows: Vec<_> = b
        .journal
        .iter()
        .map(|((_, step), row)| (*step, row.clone()))
        .collect();
    b.engine = crate::engine::bench::engine('A', &b.registry, b.limits);
    b.engine.load(id(1), &rows)
}

fn coins() -> (Vec<ledger::StateAndRef>, Vec<StateRef>) {
    let coins = vec![coin(1), coin(2)];
    let refs = coins.iter().map(|coin| coin.reference).collect();
    (coins, refs)
}

#[test]
fn selected_states_are_locked_until_they_are_consumed() {
    let (coins, refs) = coins();
    let spent = spend(&coins[..1]);
    let mut b = Bench::new();
    b.start(1, "test.spend", &String::new(), &["effect 1 select states"]);
    b.round(&["journal 0"]);
    assert_eq!(load(&mut b).locked, []);
    b.crash(&["effect 1 select states"]);
    b.complete(1, 1, States(coins.clone()), &["effect 2 record"]);
    b.round(&["journal 1"]);
    assert_eq!(load(&mut b).locked, refs);

    // Without the states in the ledger the flow is parked, and its locks stay.
    b.crash(&["parked flow.journal_unresolved"]);
    b.held.states = coins
        .iter()
        .map(|coin| (coin.reference, coin.clone()))
        .collect();
    b.crash(&["effect 2 record"]);

    b.complete(1, 2, Done, &["effect 3 transaction"]);
    b.complete(1, 3, Transaction(Some(spent.clone())), &["effect 4 then"]);
    b.round(&["journal 2"]);
    assert_eq!(load(&mut b).locked, refs[1..]);
    b.crash(&["parked flow.journal_unresolved"]);
    b.held.transactions.insert(spent.id(), spent);
    b.crash(&["effect 4 then"]);
    b.text(1, 4, "x", &["forget 3", "ended x true"]);
}

#[test]
fn an_ended_sub_flow_keeps_its_locks_but_is_not_read_back() {
    let (coins, refs) = coins();
    let mut b = Bench::new();
    b.start(
        1,
        "test.spend_within",
        &String::new(),
        &["effect 1/1 select states"],
    );
    b.complete(1, 0x1_0001, States(coins.clone()), &["effect 1/2 record"]);
    b.complete(1, 0x1_0002, Done, &["effect 1/3 transaction"]);
    b.complete(1, 0x1_0003, Transaction(None), &["effect 1/4 then"]);
    b.text(1, 0x1_0004, "x", &["effect 2 after"]);
    b.round(&["journal 0"]);
    assert_eq!(load(&mut b).locked, refs[1..]);
    b.crash(&["effect 2 after"]);
}

#[test]
fn states_locked_by_their_reference_are_locked_again() {
    let mut b = Bench::new();
    b.start(1, "test.hold", &String::new(), &["effect 1 lock states"]);
    b.complete(1, 1, States(vec![coin(1)]), &["effect 2 then"]);
    b.round(&["journal 0"]);
    assert_eq!(load(&mut b).locked, [coin(1).reference]);
    b.held.states.insert(coin(1).reference, coin(1));
    b.crash(&["effect 2 then"]);
    b.text(1, 2, "x", &["forget 1", "ended x 1"]);
}
