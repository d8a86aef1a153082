//! Flows that lock states by their reference.

use flow::FlowId;
use kernel::port::Table;
use kernel::{Event, Reply, Token};
use ledger::{StateRef, TxId};
use vault::Lock;

use crate::pay::{issue, pay};
use crate::testnet::Testnet;

/// Returns the only state that a node holds.
fn only_state(net: &Testnet, node: usize) -> StateRef {
    let mut states = net.nodes[node].view.keys();
    let state = *states.next().expect("a state");
    assert_eq!(states.next(), None);
    state
}

fn hold(state: StateRef, ms: u64) -> String {
    let StateRef { tx, index } = state;
    format!(r#"{{"state":{{"tx":"{tx}","index":{index}}},"ms":{ms}}}"#)
}

/// Builds a test network with a coin of 100 at node 1.
fn with_a_coin() -> (Testnet, StateRef) {
    let mut net = Testnet::new(2);
    let issued = net.start(1, "cash.issue", &issue(100), None);
    net.settle();
    assert_eq!(net.ended(issued), Ok(true));
    let coin = only_state(&net, 1);
    (net, coin)
}

#[test]
fn a_state_that_a_flow_holds_is_neither_locked_nor_selected_by_another() {
    let (mut net, coin) = with_a_coin();
    let held = net.start(1, "test.hold", &hold(coin, 1_000), None);
    net.settle();
    let again = net.start(1, "test.hold", &hold(coin, 0), None);
    let paid = net.start(1, "cash.pay", &pay(30, 2), None);
    net.settle();
    assert_eq!(net.ended(again), Err("vault.state_locked".to_owned()));
    assert!(!net.replies.contains_key(&paid), "the payment waits");
    net.now += 1_000;
    net.settle();
    assert_eq!(net.ended(held), Ok(true));
    assert_eq!(net.ended(paid), Ok(true));
    assert_eq!([1, 2].map(|node| net.balance(node)), [70, 30]);
}

#[test]
fn a_lock_outlives_a_restart() {
    let (mut net, coin) = with_a_coin();
    net.start(1, "test.hold", &hold(coin, 60_000), Some("held"));
    net.settle();
    net.down(1);
    net.up(1);
    net.settle();
    let paid = net.start(1, "cash.pay", &pay(30, 2), None);
    net.settle();
    assert!(!net.replies.contains_key(&paid), "the payment waits");
    let again = net.start(1, "test.hold", &hold(coin, 0), None);
    net.settle();
    assert_eq!(net.ended(again), Err("vault.state_locked".to_owned()));
    net.quiet();
    assert_eq!(net.balance(2), 0, "the payment gave up before the lock did");
    let paid = net.start(1, "cash.pay", &pay(30, 2), None);
    net.settle();
    assert_eq!(net.ended(paid), Ok(true));
}

#[test]
fn what_is_not_in_the_ledger_is_not_locked() {
    let (mut net, coin) = with_a_coin();
    let nowhere = [
        StateRef::new(coin.tx, 9),
        StateRef::new(TxId::from_array([7; 32]), 0),
    ];
    for state in nowhere {
        let held = net.start(1, "test.hold", &hold(state, 0), None);
        net.settle();
        assert_eq!(net.ended(held), Err("node.unknown_state".to_owned()));
    }
}

/// Returns the arguments of a lock on cash that node 1 issued, until `in_ms` milliseconds from now.
fn lock(net: &Testnet, quantity: u64, in_ms: u64, to: u8) -> String {
    let until = net.now + in_ms;
    format!(
        r#"{{"currency":"GBP","quantity":{quantity},"until":{until},"to":"O=Node {to}, L=London, C=GB"}}"#
    )
}

#[test]
fn locked_cash_is_paid_by_nobody_before_its_time_and_is_free_by_itself_then() {
    for (to, balances) in [(1, [100, 0]), (2, [40, 60])] {
        let (mut net, _) = with_a_coin();
        let args = lock(&net, 60, 5_000, to);
        let locked = net.start(1, "cash.lock", &args, None);
        net.settle();
        assert_eq!(net.ended(locked), Ok(true), "{:?}", net.logs);
        assert_eq!([1, 2].map(|node| net.balance(node)), [40, 0]);

        // Locked cash does not count as balance, so a payment beyond the rest fails without waiting.
        let other = 3 - to;
        let too_much = net.start(to.into(), "cash.pay", &pay(50, other), None);
        net.settle();
        let refused = Err("vault.insufficient_funds".to_owned());
        assert_eq!(net.ended(too_much), refused);
        let ring = net.nodes[usize::from(to)].view.values();
        let ring: Vec<_> = ring
            .filter(|produced| produced.state.state.encumbrance.is_some())
            .collect();
        let lock = ring.iter().find(|state| state.facts.scheduled.is_some());
        let StateRef { tx, index } = lock.expect("a lock").state.reference;
        assert_eq!(ring.len(), 2);

        net.now += 4_999;
        net.settle();
        assert_eq!([1, 2].map(|node| net.balance(node)), [40, 0]);
        net.now += 1;
        net.settle();
        assert_eq!(
            [1, 2].map(|node| net.balance(node)),
            balances,
            "{:?}",
            net.logs
        );
        let paid = net.start(to.into(), "cash.pay", &pay(50, other), None);
        net.settle();
        assert_eq!(net.ended(paid), Ok(true));
        assert_eq!(net.nodes[usize::from(to)].disk.count(Table::Schedule), 0);

        // A second opening finds nothing to open; the change is no lock.
        for (index, code) in [(index, "vault.state_consumed"), (1, "lock.not_a_lock")] {
            let args = format!(r#"{{"tx":"{tx}","index":{index}}}"#);
            let again = net.start(to.into(), "cash.unlock", &args, None);
            net.settle();
            assert_eq!(net.ended(again), Err(code.to_owned()));
        }
    }
}

#[test]
fn a_lock_is_not_opened_before_its_time() {
    let (mut net, _) = with_a_coin();
    let args = lock(&net, 60, 3_600_000, 1);
    let locked = net.start(1, "cash.lock", &args, None);
    net.settle();
    assert_eq!(net.ended(locked), Ok(true));
    let locks = net.nodes[1].view.values();
    let mut locks = locks.filter(|produced| produced.facts.scheduled.is_some());
    let StateRef { tx, index } = locks.next().expect("a lock").state.reference;
    let args = format!(r#"{{"tx":"{tx}","index":{index}}}"#);
    let early = net.start(1, "cash.unlock", &args, None);
    // The flow repeats the request for some minutes, in case the notary's clock is behind.
    for _ in 0..20 {
        net.settle();
        net.now += 60_000;
    }
    net.settle();
    let refused = Err("notary.time_window_invalid".to_owned());
    assert_eq!(net.ended(early), refused);
    assert_eq!(net.balance(1), 40);
}

#[test]
fn whoever_asks_is_told_what_is_held_and_by_whom() {
    let (mut net, coin) = with_a_coin();
    let ask = |net: &mut Testnet, of: Vec<FlowId>, limit: usize| {
        let token = net.token();
        let asked = Event::Locks {
            of,
            limit,
            token: Token(token),
        };
        net.tell(1, asked);
        net.settle();
        match net.replies.remove(&token) {
            Some(Reply::Locks { locks, more }) => (locks, more),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(ask(&mut net, Vec::new(), 10), (Vec::new(), false));
    let held = net.start(1, "test.hold", &hold(coin, 60_000), Some("held"));
    net.settle();
    let flow = Testnet::flow_id(held);
    let told =
        |locks: &[Lock]| -> Vec<_> { locks.iter().map(|lock| (lock.state, lock.by)).collect() };
    for restart in [false, true] {
        if restart {
            net.down(1);
            net.up(1);
            net.settle();
        }
        let (all, more) = ask(&mut net, Vec::new(), 10);
        assert_eq!((told(&all), more), (vec![(coin, flow.0)], false));
        assert_eq!(ask(&mut net, vec![flow], 10).0, all);
        assert_eq!(ask(&mut net, vec![FlowId([9; 16])], 10).0, []);
        assert_eq!(ask(&mut net, Vec::new(), 0), (Vec::new(), true));
    }
    net.now += 60_000;
    net.settle();
    assert_eq!(ask(&mut net, Vec::new(), 10), (Vec::new(), false));
}
