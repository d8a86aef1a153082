//! Kernels issue and pay cash among each other, without faults except those that a test plants.

use crate::town::Town;
use kernel::port::Table;

/// Arguments of an issue.
pub fn issue(quantity: u64) -> String {
    format!(r#"{{"currency":"GBP","quantity":{quantity}}}"#)
}

/// Returns the arguments of a payment of cash that node 1 issued.
pub fn pay(quantity: u64, to: u8) -> String {
    format!(
        r#"{{"currency":"GBP","issuer":"O=Node 1, L=London, C=GB","payments":[{{"to":"O=Node {to}, L=London, C=GB","quantity":{quantity}}}]}}"#
    )
}

#[test]
fn cash_is_issued_paid_and_paid_on() {
    let mut town = Town::new(3);
    let issued = town.start(1, "cash.issue", &issue(100), None);
    town.settle();
    assert_eq!(town.ended(issued), Ok(true));
    let paid = town.start(1, "cash.pay", &pay(30, 2), None);
    town.settle();
    assert_eq!(town.ended(paid), Ok(true), "{:?}", town.logs);
    let paid_on = town.start(2, "cash.pay", &pay(10, 3), None);
    town.settle();
    assert_eq!(town.ended(paid_on), Ok(true), "{:?}", town.logs);
    assert_eq!([1, 2, 3].map(|node| town.balance(node)), [70, 20, 10]);
    for node in 0..4 {
        for table in [
            Table::Journal,
            Table::Deliveries,
            Table::Outbox,
            Table::Staging,
        ] {
            assert_eq!(
                town.nodes[node].disk.count(table),
                0,
                "{table:?} of node {node}"
            );
        }
    }
    assert_eq!(town.nodes[0].disk.count(Table::NotaryStates), 2);
}

#[test]
fn many_payments_of_one_coin_wait_for_each_other() {
    let mut town = Town::new(2);
    let issued = town.start(1, "cash.issue", &issue(1_000), None);
    town.settle();
    assert_eq!(town.ended(issued), Ok(true));
    let started: Vec<u64> = (0..200)
        .map(|_| town.start(1, "cash.pay", &pay(1, 2), None))
        .collect();
    town.settle();
    for token in started {
        assert_eq!(town.ended(token), Ok(true));
    }
    assert_eq!([1, 2].map(|node| town.balance(node)), [800, 200]);
}

#[test]
fn more_than_there_is_is_refused() {
    let mut town = Town::new(2);
    let issued = town.start(1, "cash.issue", &issue(5), None);
    town.settle();
    assert_eq!(town.ended(issued), Ok(true));
    let paid = town.start(1, "cash.pay", &pay(6, 2), None);
    town.settle();
    assert_eq!(town.ended(paid), Err("vault.insufficient_funds".to_owned()));
}

#[test]
fn issue_and_pay_needs_no_question_about_the_issue() {
    let mut town = Town::new(2);
    let args = r#"{"currency":"GBP","quantity":7,"recipient":"O=Node 2, L=London, C=GB"}"#;
    let started: Vec<u64> = (0..50)
        .map(|_| town.start(1, "cash.issue_and_pay", args, None))
        .collect();
    town.settle();
    for token in started {
        assert_eq!(town.ended(token), Ok(true), "{:?}", town.logs);
    }
    assert_eq!([1, 2].map(|node| town.balance(node)), [0, 350]);
    let figures = town.nodes[2].kernel.as_ref().expect("up").figures();
    assert_eq!(figures.resolutions, 0, "the issue came along");
}

#[test]
fn a_participant_that_was_away_gets_it_when_it_returns() {
    let mut town = Town::new(2);
    let issued = town.start(1, "cash.issue", &issue(100), None);
    town.settle();
    town.down(2);
    let paid = town.start(1, "cash.pay", &pay(30, 2), Some("one"));
    town.settle();
    assert_eq!(town.ended(issued), Ok(true));
    assert!(!town.replies.contains_key(&paid), "delivered to nobody yet");
    assert_eq!(
        town.nodes[1].kernel.as_ref().expect("up").flows().live(),
        0,
        "no flow waits"
    );
    town.up(2);
    town.settle();
    assert_eq!(town.ended(paid), Ok(true), "{:?}", town.logs);
    assert_eq!([1, 2].map(|node| town.balance(node)), [70, 30]);
}

#[test]
fn a_newcomer_resolves_a_deep_chain() {
    let mut town = Town::new(3);
    let issued = town.start(1, "cash.issue", &issue(10), None);
    town.settle();
    assert_eq!(town.ended(issued), Ok(true));
    for _ in 0..300 {
        for (from, to) in [(1, 2), (2, 1)] {
            let paid = town.start(from, "cash.pay", &pay(10, to), None);
            town.settle();
            assert_eq!(town.ended(paid), Ok(true), "{:?}", town.logs);
        }
    }
    let paid = town.start(1, "cash.pay", &pay(10, 3), None);
    town.settle();
    assert_eq!(town.ended(paid), Ok(true), "{:?}", town.logs);
    assert_eq!(town.balance(3), 10);
    assert_eq!(town.nodes[3].disk.count(Table::Ledger), 602);
    assert_eq!(town.nodes[3].disk.count(Table::Staging), 0);
}

#[test]
fn a_client_id_starts_once_and_is_answered_again() {
    let mut town = Town::new(2);
    let first = town.start(1, "cash.issue", &issue(100), Some("a"));
    town.settle();
    assert_eq!(town.ended(first), Ok(true));
    let again = town.start(1, "cash.issue", &issue(100), Some("a"));
    let other = town.start(1, "cash.issue", &issue(101), Some("a"));
    town.settle();
    assert_eq!(town.ended(again), Ok(true));
    assert_eq!(town.ended(other), Err("node.client_id_reused".to_owned()));
    assert_eq!(town.balance(1), 100);
    town.down(1);
    town.up(1);
    let after = town.start(1, "cash.issue", &issue(100), Some("a"));
    town.settle();
    assert_eq!(town.ended(after), Ok(true));
    assert_eq!(town.balance(1), 100);
}
