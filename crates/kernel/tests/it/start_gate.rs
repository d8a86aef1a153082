//! Flows of the journal after a start: they go on once peers have vouched for the data, and those of an older copy never do.

use kernel::integrity::HeldFlows;
use kernel::{Event, FlowFilter, Order, Token};

use crate::pay::{issue, pay};
use crate::town::{Disk, Town};

/// Builds a town where node 1 has issued cash, and has a sleeping flow that will issue 100 to node 2.
fn town() -> Town {
    let mut town = Town::new(3);
    let token = town.start(1, "cash.issue", &issue(50), None);
    town.settle();
    assert_eq!(town.ended(token), Ok(true));
    town.start(1, "test.late_issue", r#"{"ms":5000,"to":2}"#, Some("late"));
    town.settle();
    town
}

/// Starts a node again, on a disk.
fn again(town: &mut Town, node: usize, disk: Option<&Disk>) {
    town.down(node);
    town.settle();
    if let Some(disk) = disk {
        town.nodes[node].disk = disk.clone();
    }
    town.up(node);
    town.settle();
}

fn held(town: &Town, node: usize) -> Option<HeldFlows> {
    town.figures(node).held.map(|held| (*held).clone())
}

fn order(town: &mut Town, order: Order) {
    let token = town.token();
    let event = Event::Order {
        order,
        filter: Box::new(FlowFilter::default()),
        after: None,
        dry_run: false,
        token: Token(token),
    };
    town.tell(1, event);
    town.settle();
}

#[test]
fn a_restart_goes_on_once_peers_are_met() {
    let mut town = town();
    again(&mut town, 1, None);
    assert_eq!(held(&town, 1), None);
    town.quiet_for(6_000);
    assert_eq!(town.balance(2), 100);
}

#[test]
fn a_live_issue_of_an_older_copy_happens_once() {
    let mut town = town();
    let copy = town.nodes[1].disk.clone();
    again(&mut town, 1, None);
    town.quiet_for(6_000);
    assert_eq!(town.balance(2), 100);
    again(&mut town, 1, Some(&copy));
    town.quiet_for(60_000);
    assert_eq!(town.balance(2), 100, "{:#?}", town.logs);
    let figures = town.figures(1);
    assert_eq!((figures.rolled_back, figures.flows_paused), (1, 1));
    // The flow stays paused over a restart, and an operator ends it.
    again(&mut town, 1, None);
    town.quiet_for(60_000);
    assert_eq!((town.balance(2), town.figures(1).flows_paused), (100, 1));
    order(&mut town, Order::Kill);
    assert_eq!((town.balance(2), town.figures(1).flows_live), (100, 0));
}

#[test]
fn flows_stay_held_while_no_witness_comes() {
    for operator in [false, true] {
        let mut town = town();
        for node in [0, 2, 3] {
            town.down(node);
        }
        again(&mut town, 1, None);
        let now = held(&town, 1).expect("held");
        assert_eq!((now.flows, now.overdue, now.any_of.len()), (1, false, 3));
        town.quiet_for(60_000);
        assert!(held(&town, 1).expect("held").overdue);
        assert!(town.logs.iter().any(|log| log.contains("node.flows_held")));
        match operator {
            true => order(&mut town, Order::Resume),
            false => town.up(3),
        }
        town.settle();
        assert_eq!(held(&town, 1), None);
        town.up(2);
        town.quiet_for(6_000);
        assert_eq!(town.balance(2), 100);
    }
}

#[test]
fn flows_go_on_unproved_if_configured() {
    let mut town = town();
    for node in [0, 2, 3] {
        town.down(node);
    }
    town.options.hold_unmet = false;
    again(&mut town, 1, None);
    town.quiet_for(29_000);
    assert!(held(&town, 1).is_some());
    town.quiet_for(2_000);
    assert_eq!(held(&town, 1), None);
    assert!(town.logs.iter().any(|log| log.contains("node.flows_held")));
    town.up(2);
    town.quiet_for(6_000);
    assert_eq!(town.balance(2), 100);
}

#[test]
fn a_notary_judges_once_half_of_its_witnesses_are_met() {
    for waits_out in [false, true] {
        let mut town = town();
        for node in [0, 2, 3] {
            town.down(node);
        }
        town.up(0);
        let token = town.start(1, "cash.pay", &pay(10, 2), None);
        town.quiet_for(2_000);
        assert_eq!(town.figures(0).notary_signed, 0, "one of three");
        match waits_out {
            true => town.quiet_for(10_000),
            false => town.up(3),
        }
        town.quiet_for(100);
        assert_eq!(town.figures(0).notary_signed, 1);
        town.up(2);
        town.quiet_for(1_000);
        assert_eq!(town.ended(token), Ok(true));
    }
}

/// Builds a town where the client id `pay` of node 1 was used once, with a disk of node 1 from before.
fn with_a_used_id() -> (Town, Disk) {
    let mut town = Town::new(3);
    let token = town.start(1, "cash.issue", &issue(50), None);
    town.settle();
    assert_eq!(town.ended(token), Ok(true));
    // A life before the copy, so that the copy holds marks of its peers.
    again(&mut town, 1, None);
    let copy = town.nodes[1].disk.clone();
    again(&mut town, 1, None);
    let token = town.start(1, "cash.pay", &pay(10, 2), Some("pay"));
    town.settle();
    assert_eq!(town.ended(token), Ok(true));
    // Marks follow at most once a second.
    town.quiet_for(2_000);
    (town, copy)
}

/// Restarts node 1 on a copy while all others are down, and starts the flow of the used client id again.
fn used_again(town: &mut Town, copy: &Disk) -> u64 {
    for node in [0, 2, 3] {
        town.down(node);
    }
    again(town, 1, Some(copy));
    let token = town.start(1, "cash.pay", &pay(10, 2), Some("pay"));
    town.quiet_for(1_000);
    assert_eq!(town.figures(1).flows_live, 0, "no peer is met");
    token
}

#[test]
fn a_start_on_an_older_copy_is_refused_when_a_peer_comes() {
    let (mut town, copy) = with_a_used_id();
    let token = used_again(&mut town, &copy);
    for node in [3, 0, 2] {
        town.up(node);
        town.quiet_for(1_000);
    }
    assert_eq!(town.ended(token), Err("node.rolled_back".to_owned()));
    town.quiet_for(60_000);
    assert_eq!(town.balance(2), 10, "{:#?}", town.logs);
}

#[test]
fn a_start_runs_as_soon_as_a_peer_has_shown_its_mark() {
    let (mut town, _) = with_a_used_id();
    for (client_id, expected) in [("pay", 10), ("pay again", 20)] {
        for node in [0, 2, 3] {
            town.down(node);
        }
        again(&mut town, 1, None);
        let token = town.start(1, "cash.pay", &pay(10, 2), Some(client_id));
        town.quiet_for(100);
        for node in [3, 0, 2] {
            town.up(node);
        }
        town.quiet_for(100);
        assert_eq!(town.ended(token), Ok(true), "{client_id}");
        assert_eq!(town.balance(2), expected, "{client_id}");
    }
}

#[test]
fn a_start_waits_for_peers_no_longer_than_configured() {
    let (mut town, _) = with_a_used_id();
    for node in [0, 2, 3] {
        town.down(node);
    }
    again(&mut town, 1, None);
    let token = town.start(1, "cash.issue", &issue(5), Some("issue"));
    town.quiet_for(29_000);
    assert_eq!(town.figures(1).flows_started, 0);
    town.quiet_for(2_000);
    assert_eq!(town.figures(1).flows_started, 1);
    assert_eq!(town.ended(token), Ok(true));
}
