//! Flows of the journal after a start: they go on once peers have vouched for the data, and those of an older copy never do.

use kernel::integrity::HeldFlows;
use kernel::{Event, FlowFilter, Order, Token};

use crate::pay::{issue, pay};
use crate::testnet::{Disk, Testnet};

/// Builds a test network where node 1 has issued cash, and has a sleeping flow that will issue 100 to node 2.
fn net() -> Testnet {
    let mut net = Testnet::new(3);
    let token = net.start(1, "cash.issue", &issue(50), None);
    net.settle();
    assert_eq!(net.ended(token), Ok(true));
    net.start(1, "test.late_issue", r#"{"ms":5000,"to":2}"#, Some("late"));
    net.settle();
    net
}

/// Starts a node again, on a disk.
pub fn again(net: &mut Testnet, node: usize, disk: Option<&Disk>) {
    net.down(node);
    net.settle();
    if let Some(disk) = disk {
        net.nodes[node].disk = disk.clone();
    }
    net.up(node);
    net.settle();
}

pub fn held(net: &Testnet, node: usize) -> Option<HeldFlows> {
    net.figures(node).held.map(|held| (*held).clone())
}

pub fn order(net: &mut Testnet, order: Order) {
    let token = net.token();
    let event = Event::Order {
        order,
        filter: Box::new(FlowFilter::default()),
        after: None,
        dry_run: false,
        token: Token(token),
    };
    net.tell(1, event);
    net.settle();
}

#[test]
fn a_restart_goes_on_once_peers_are_met() {
    let mut net = net();
    again(&mut net, 1, None);
    assert_eq!(held(&net, 1), None);
    net.quiet_for(6_000);
    assert_eq!(net.balance(2), 100);
}

#[test]
fn a_live_issue_of_an_older_copy_happens_once() {
    let mut net = net();
    let copy = net.nodes[1].disk.clone();
    again(&mut net, 1, None);
    net.quiet_for(6_000);
    assert_eq!(net.balance(2), 100);
    again(&mut net, 1, Some(&copy));
    net.quiet_for(60_000);
    assert_eq!(net.balance(2), 100, "{:#?}", net.logs);
    let figures = net.figures(1);
    assert_eq!((figures.rolled_back, figures.flows_paused), (1, 1));
    // The flow stays paused over a restart, and an operator ends it.
    again(&mut net, 1, None);
    net.quiet_for(60_000);
    assert_eq!((net.balance(2), net.figures(1).flows_paused), (100, 1));
    order(&mut net, Order::Kill);
    assert_eq!((net.balance(2), net.figures(1).flows_live), (100, 0));
}

#[test]
fn flows_stay_held_while_no_witness_comes() {
    for operator in [false, true] {
        let mut net = net();
        for node in [0, 2, 3] {
            net.down(node);
        }
        again(&mut net, 1, None);
        let now = held(&net, 1).expect("held");
        assert_eq!((now.flows, now.overdue, now.any_of.len()), (1, false, 3));
        net.quiet_for(60_000);
        assert!(held(&net, 1).expect("held").overdue);
        assert!(net.logs.iter().any(|log| log.contains("node.flows_held")));
        match operator {
            true => order(&mut net, Order::Resume),
            false => {
                net.up(3);
                net.settle();
                assert!(held(&net, 1).is_some(), "the others are heard");
                net.quiet_for(1_000);
            }
        }
        net.settle();
        assert_eq!(held(&net, 1), None);
        net.up(2);
        net.quiet_for(6_000);
        assert_eq!(net.balance(2), 100);
    }
}

#[test]
fn flows_go_on_unproved_if_configured() {
    let mut net = net();
    for node in [0, 2, 3] {
        net.down(node);
    }
    net.options.hold_unmet = false;
    again(&mut net, 1, None);
    net.quiet_for(29_000);
    assert!(held(&net, 1).is_some());
    net.quiet_for(2_000);
    assert_eq!(held(&net, 1), None);
    assert!(net.logs.iter().any(|log| log.contains("node.flows_held")));
    net.up(2);
    net.quiet_for(6_000);
    assert_eq!(net.balance(2), 100);
}

#[test]
fn a_notary_judges_once_half_of_its_witnesses_are_met() {
    for waits_out in [false, true] {
        let mut net = net();
        for node in [0, 2, 3] {
            net.down(node);
        }
        net.up(0);
        let token = net.start(1, "cash.pay", &pay(10, 2), None);
        net.quiet_for(2_000);
        assert_eq!(net.figures(0).notary_signed, 0, "one of three");
        match waits_out {
            true => net.quiet_for(10_000),
            false => net.up(3),
        }
        net.quiet_for(100);
        assert_eq!(net.figures(0).notary_signed, 1);
        net.up(2);
        net.quiet_for(1_000);
        assert_eq!(net.ended(token), Ok(true));
    }
}

/// Builds a test network where the client id `pay` of node 1 was used once, with a disk of node 1 from before.
fn with_a_used_id() -> (Testnet, Disk) {
    let mut net = Testnet::new(3);
    let token = net.start(1, "cash.issue", &issue(50), None);
    net.settle();
    assert_eq!(net.ended(token), Ok(true));
    // A life before the copy, so that the copy holds marks of its peers.
    again(&mut net, 1, None);
    let copy = net.nodes[1].disk.clone();
    again(&mut net, 1, None);
    let token = net.start(1, "cash.pay", &pay(10, 2), Some("pay"));
    net.settle();
    assert_eq!(net.ended(token), Ok(true));
    // Marks follow at most once a second.
    net.quiet_for(2_000);
    (net, copy)
}

/// Restarts node 1 on a copy while all others are down, and starts the flow of the used client id again.
fn used_again(net: &mut Testnet, copy: &Disk) -> u64 {
    for node in [0, 2, 3] {
        net.down(node);
    }
    again(net, 1, Some(copy));
    let token = net.start(1, "cash.pay", &pay(10, 2), Some("pay"));
    net.quiet_for(1_000);
    assert_eq!(net.figures(1).flows_live, 0, "no peer is met");
    token
}

#[test]
fn a_start_on_an_older_copy_is_refused_when_a_peer_comes() {
    let (mut net, copy) = with_a_used_id();
    let token = used_again(&mut net, &copy);
    for node in [3, 0, 2] {
        net.up(node);
        net.quiet_for(1_000);
    }
    assert_eq!(net.ended(token), Err("node.rolled_back".to_owned()));
    net.quiet_for(60_000);
    assert_eq!(net.balance(2), 10, "{:#?}", net.logs);
}

#[test]
fn a_start_runs_as_soon_as_a_peer_has_shown_its_mark() {
    let (mut net, _) = with_a_used_id();
    for (client_id, expected) in [("pay", 10), ("pay again", 20)] {
        for node in [0, 2, 3] {
            net.down(node);
        }
        again(&mut net, 1, None);
        let token = net.start(1, "cash.pay", &pay(10, 2), Some(client_id));
        net.quiet_for(100);
        for node in [3, 0, 2] {
            net.up(node);
        }
        net.quiet_for(100);
        assert_eq!(net.ended(token), Ok(true), "{client_id}");
        assert_eq!(net.balance(2), expected, "{client_id}");
    }
}

#[test]
fn a_start_waits_for_peers_no_longer_than_configured() {
    let (mut net, _) = with_a_used_id();
    for node in [0, 2, 3] {
        net.down(node);
    }
    again(&mut net, 1, None);
    let token = net.start(1, "cash.issue", &issue(5), Some("issue"));
    net.quiet_for(29_000);
    assert_eq!(net.figures(1).flows_started, 0);
    net.quiet_for(2_000);
    assert_eq!(net.figures(1).flows_started, 1);
    assert_eq!(net.ended(token), Ok(true));
}
