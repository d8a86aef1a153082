//! Kernels issue and pay cash among each other, without faults except those that a test plants.

use crate::testnet::Testnet;
use kernel::Reply;
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
    let mut net = Testnet::new(3);
    let issued = net.start(1, "cash.issue", &issue(100), None);
    net.settle();
    assert_eq!(net.ended(issued), Ok(true));
    let paid = net.start(1, "cash.pay", &pay(30, 2), None);
    net.settle();
    assert_eq!(net.ended(paid), Ok(true), "{:?}", net.logs);
    let paid_on = net.start(2, "cash.pay", &pay(10, 3), None);
    net.settle();
    assert_eq!(net.ended(paid_on), Ok(true), "{:?}", net.logs);
    assert_eq!([1, 2, 3].map(|node| net.balance(node)), [70, 20, 10]);
    for node in 0..4 {
        for table in [
            Table::Journal,
            Table::Deliveries,
            Table::Outbox,
            Table::Staging,
        ] {
            assert_eq!(
                net.nodes[node].disk.count(table),
                0,
                "{table:?} of node {node}"
            );
        }
    }
    assert_eq!(net.nodes[0].disk.count(Table::NotaryStates), 2);
}

/// The thread that commits answers clients before the kernel learns of the commit.
#[test]
fn a_client_pays_at_once_with_what_it_was_told_is_issued() {
    let mut net = Testnet::new(2);
    for total in 1..=3 {
        let issued = net.start(1, "cash.issue", &issue(10), None);
        let payment = (1, "cash.pay", pay(10, 2));
        net.follow_ups.insert(issued, payment);
        net.settle();
        assert_eq!(net.ended(issued), Ok(true));
        assert_eq!(net.ended(issued + 1), Ok(true), "payment {total}");
        assert_eq!([1, 2].map(|node| net.balance(node)), [0, total * 10]);
    }
}

#[test]
fn many_payments_of_one_coin_wait_for_each_other() {
    let mut net = Testnet::new(2);
    let issued = net.start(1, "cash.issue", &issue(1_000), None);
    net.settle();
    assert_eq!(net.ended(issued), Ok(true));
    let started: Vec<u64> = (0..200)
        .map(|_| net.start(1, "cash.pay", &pay(1, 2), None))
        .collect();
    net.settle();
    for token in started {
        assert_eq!(net.ended(token), Ok(true));
    }
    assert_eq!([1, 2].map(|node| net.balance(node)), [800, 200]);
}

#[test]
fn more_than_there_is_is_refused() {
    let mut net = Testnet::new(2);
    let issued = net.start(1, "cash.issue", &issue(5), None);
    net.settle();
    assert_eq!(net.ended(issued), Ok(true));
    let default_issuer = pay(6, 1).replace(r#""issuer":"O=Node 1, L=London, C=GB","#, "");
    for (node, args, text) in [
        (
            1,
            pay(6, 2),
            "6 of GBP issued by O=Node 1, L=London, C=GB are wanted and 5 are held",
        ),
        (
            2,
            default_issuer,
            "6 of GBP issued by O=Node 2, L=London, C=GB are wanted and 0 are held",
        ),
    ] {
        let paid = net.start(node, "cash.pay", &args, None);
        net.settle();
        let rejection = match net.replies.remove(&paid) {
            Some(Reply::Ended { outcome, .. }) => outcome.result.clone().expect_err("too much"),
            other => panic!("{other:?}"),
        };
        assert_eq!(rejection.code, "vault.insufficient_funds");
        assert_eq!(
            rejection.message, text,
            "people know issuers, and no ids of tokens"
        );
    }
}

#[test]
fn issue_and_pay_needs_no_question_about_the_issue() {
    let mut net = Testnet::new(2);
    let args = r#"{"currency":"GBP","quantity":7,"recipient":"O=Node 2, L=London, C=GB"}"#;
    let started: Vec<u64> = (0..50)
        .map(|_| net.start(1, "cash.issue_and_pay", args, None))
        .collect();
    net.settle();
    for token in started {
        assert_eq!(net.ended(token), Ok(true), "{:?}", net.logs);
    }
    assert_eq!([1, 2].map(|node| net.balance(node)), [0, 350]);
    let figures = net.nodes[2].kernel.as_ref().expect("up").figures();
    assert_eq!(figures.resolutions, 0, "the issue came along");
}

#[test]
fn a_participant_that_was_away_gets_it_when_it_returns() {
    let mut net = Testnet::new(2);
    let issued = net.start(1, "cash.issue", &issue(100), None);
    net.settle();
    net.down(2);
    let paid = net.start(1, "cash.pay", &pay(30, 2), Some("one"));
    net.settle();
    assert_eq!(net.ended(issued), Ok(true));
    assert!(!net.replies.contains_key(&paid), "delivered to nobody yet");
    assert_eq!(
        net.nodes[1].kernel.as_ref().expect("up").flows().live(),
        0,
        "no flow waits"
    );
    net.up(2);
    net.settle();
    assert_eq!(net.ended(paid), Ok(true), "{:?}", net.logs);
    assert_eq!([1, 2].map(|node| net.balance(node)), [70, 30]);
}

#[test]
fn a_newcomer_resolves_a_deep_chain() {
    let mut net = Testnet::new(3);
    let issued = net.start(1, "cash.issue", &issue(10), None);
    net.settle();
    assert_eq!(net.ended(issued), Ok(true));
    for _ in 0..300 {
        for (from, to) in [(1, 2), (2, 1)] {
            let paid = net.start(from, "cash.pay", &pay(10, to), None);
            net.settle();
            assert_eq!(net.ended(paid), Ok(true), "{:?}", net.logs);
        }
    }
    let paid = net.start(1, "cash.pay", &pay(10, 3), None);
    net.settle();
    assert_eq!(net.ended(paid), Ok(true), "{:?}", net.logs);
    assert_eq!(net.balance(3), 10);
    assert_eq!(net.nodes[3].disk.count(Table::Ledger), 602);
    assert_eq!(net.nodes[3].disk.count(Table::Staging), 0);
}

#[test]
fn a_client_id_starts_once_and_is_answered_again() {
    let mut net = Testnet::new(2);
    let first = net.start(1, "cash.issue", &issue(100), Some("a"));
    net.settle();
    assert_eq!(net.ended(first), Ok(true));
    let again = net.start(1, "cash.issue", &issue(100), Some("a"));
    let other = net.start(1, "cash.issue", &issue(101), Some("a"));
    net.settle();
    assert_eq!(net.ended(again), Ok(true));
    assert_eq!(net.ended(other), Err("node.client_id_reused".to_owned()));
    assert_eq!(net.balance(1), 100);
    net.down(1);
    net.up(1);
    let after = net.start(1, "cash.issue", &issue(100), Some("a"));
    net.settle();
    assert_eq!(net.ended(after), Ok(true));
    assert_eq!(net.balance(1), 100);
}
