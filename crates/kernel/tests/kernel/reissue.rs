//! Cash is issued anew: the amount stays, its past is cut, and a crash at any commit leaves nobody with both or neither.

use finance::flows::Reissued;
use kernel::port::Table;
use primitives::Decode;

use crate::crashes::{Line, Played, crashes_of, line, play};
use crate::pay::{issue, pay};
use crate::town::Town;

fn reissue(quantity: u64) -> String {
    format!(
        r#"{{"currency":"GBP","quantity":{quantity},"issuer":"O=Node 1, L=London, C=GB","outputs":2}}"#
    )
}

fn script() -> Vec<Vec<Line>> {
    vec![
        vec![line("issue", 1, "cash.issue", issue(100))],
        vec![line("pay", 1, "cash.pay", pay(60, 2))],
        vec![line("back", 2, "cash.pay", pay(20, 1))],
        vec![line("anew", 2, "cash.reissue", reissue(25))],
    ]
}

/// Everything but the ids: the responder's salt is another one after a crash.
fn check(played: &Played, what: &str) {
    let ending = &played.ending;
    assert_eq!(ending.balances, [0, 60, 40], "{what}");
    let lengths: Vec<usize> = ending.ledgers.iter().map(Vec::len).collect();
    assert_eq!(lengths, [0, 5, 5], "{what}");
    assert_eq!(ending.notarised, (3, 3), "{what}");
    assert!(ending.results["anew"].0.is_ok(), "{what}");
}

#[test]
fn a_crash_at_any_commit_leaves_nobody_with_both_amounts_or_neither() {
    let expected = play(&script(), &[]);
    check(&expected, "undisturbed");
    for (node, commits) in expected.commits.into_iter().enumerate() {
        for crash in crashes_of(node, commits) {
            check(&play(&script(), &[crash]), &format!("{crash:?}"));
        }
    }
}

#[test]
fn what_is_issued_anew_has_no_past() {
    let played = play(&script(), &[]);
    let bytes = played.ending.results["anew"].0.clone().unwrap();
    let reissued = Reissued::from_bytes(&bytes).unwrap();
    let mut town = Town::new(2);
    for lines in script() {
        let token = town.start(lines[0].node, lines[0].flow, &lines[0].args, None);
        town.settle();
        assert_eq!(town.ended(token), Ok(true));
    }
    let past: Vec<usize> = town.nodes[2]
        .view
        .keys()
        .map(|state| {
            let ledger = town.nodes[2].disk.ledger();
            let made_by = ledger.iter().find(|(_, made)| made.id() == state.tx);
            made_by.expect("recorded").1.wire().inputs().len()
        })
        .collect();
    assert_eq!(past.iter().filter(|inputs| **inputs == 0).count(), 2);
    assert_eq!(past.len(), 3, "two states of 25, and the change of 15");
    assert_ne!(reissued.exit, reissued.issue);
}

#[test]
fn the_issuer_exchanges_its_own_cash_alone() {
    let mut town = Town::new(1);
    for (flow, args) in [("cash.issue", issue(100)), ("cash.reissue", reissue(100))] {
        let token = town.start(1, flow, &args, None);
        town.settle();
        assert_eq!(town.ended(token), Ok(true), "{flow}");
    }
    assert_eq!(town.balance(1), 100);
    assert_eq!(town.nodes[1].disk.count(Table::Ledger), 3);
}

#[test]
fn what_cannot_be_issued_anew_is_not_exited() {
    let mut town = Town::new(3);
    for (flow, args) in [("cash.issue", issue(100)), ("cash.pay", pay(60, 2))] {
        let token = town.start(1, flow, &args, None);
        town.settle();
        assert_eq!(town.ended(token), Ok(true), "{flow}");
    }
    for (args, code) in [
        (reissue(61), "vault.insufficient_funds"),
        (reissue(0), "cash.zero_amount"),
        (reissue(1), "cash.split_impossible"),
        (
            reissue(10).replace("Node 1", "Node 3"),
            "vault.insufficient_funds",
        ),
        (
            reissue(10).replace("Node 1", "Node 9"),
            "cash.unknown_party",
        ),
    ] {
        let token = town.start(2, "cash.reissue", &args, None);
        town.settle();
        assert_eq!(town.ended(token), Err(code.to_owned()), "{args}");
    }
    assert_eq!([1, 2].map(|node| town.balance(node)), [40, 60]);
}
