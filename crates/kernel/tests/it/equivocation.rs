//! A notary that signs two consumers of a state: a node keeps to the one that its own ledger has, and keeps the proof. Node 1
//! is real; nodes 2 and 3 are played by the tests.

use kernel::integrity::EquivocationRow;
use kernel::message::PeerMessage;
use kernel::port::Table;
use ledger::SignedTransaction;
use primitives::{Decode, SignatureChecker};

use crate::town::{Town, part};

fn town() -> Town {
    let mut town = Town::new(3);
    for node in [2, 3] {
        town.play(node);
        town.heard(node);
    }
    town
}

/// Delivers a transaction to node 1. Returns the code of the refusal, if it is refused.
fn refusal(town: &mut Town, from: usize, transaction: &SignedTransaction) -> Option<String> {
    town.deliver(from, 1, &[transaction]);
    town.settle();
    answer(town, from, transaction)
}

fn answer(town: &mut Town, from: usize, transaction: &SignedTransaction) -> Option<String> {
    let heard = town.heard(from);
    let answers = heard.into_iter().filter_map(|message| match message {
        PeerMessage::Delivered { ids } if ids == [transaction.id()] => Some(None),
        PeerMessage::Refused { id, rejection } if id == transaction.id() => {
            Some(Some(rejection.code))
        }
        _ => None,
    });
    let answers: Vec<Option<String>> = answers.collect();
    assert_eq!(answers.len(), 1, "{answers:?}; logs: {:#?}", town.logs);
    answers.into_iter().next().flatten()
}

/// Returns the proofs that node 1 keeps.
fn proofs(town: &Town) -> Vec<EquivocationRow> {
    let rows = town.nodes[1].disk.rows(Table::Equivocations);
    let rows = rows.into_iter().map(|(_, value)| value);
    rows.map(|value| EquivocationRow::from_bytes(&value).expect("a row"))
        .collect()
}

/// Restarts node 1 after a change of its disk.
fn restart(town: &mut Town, change: impl FnOnce(&mut Town)) {
    town.down(1);
    change(town);
    town.up(1);
    for played in [2, 3] {
        town.link(1, played);
    }
    town.settle();
    for played in [2, 3] {
        town.heard(played);
    }
}

#[test]
fn refuses_a_second_consumer_and_keeps_the_proof() {
    let mut town = town();
    let coin = town.issued(2, 1, 10);
    let (first, second) = (town.paid(&coin, 1, 3), town.paid(&coin, 1, 2));
    assert_eq!(refusal(&mut town, 2, &coin), None);
    assert_eq!(refusal(&mut town, 3, &first), None);
    for _ in 0..2 {
        let code = refusal(&mut town, 2, &second);
        assert_eq!(code.as_deref(), Some("tx.input_consumed"));
    }
    let kept = proofs(&town);
    assert_eq!(kept.len(), 1);
    let found = kept[0].proof.verify(&mut SignatureChecker::new());
    let found = found.expect("a proof");
    assert_eq!(found.transactions, [first.id(), second.id()]);
    assert_eq!(found.notary, town.nodes[0].party);
    assert_eq!(kept[0].brought_by, Some(town.nodes[2].id));
    let told = town
        .logs
        .iter()
        .filter(|l| l.contains("notary.equivocated"));
    assert_eq!(told.count(), 1, "{:#?}", town.logs);
    assert_eq!(town.balance(1), 0);

    // The ledger decides the same way after a restart.
    restart(&mut town, |_| {});
    let code = refusal(&mut town, 2, &second);
    assert_eq!(code.as_deref(), Some("tx.input_consumed"));
    assert_eq!(proofs(&town).len(), 1);
}

#[test]
fn refuses_what_descends_from_a_second_consumer() {
    let mut town = town();
    let coin = town.issued(2, 1, 10);
    let (first, second) = (town.paid(&coin, 1, 3), town.paid(&coin, 1, 2));
    assert_eq!(refusal(&mut town, 2, &coin), None);
    assert_eq!(refusal(&mut town, 3, &first), None);
    let back = town.paid(&second, 2, 1);
    town.deliver(2, 1, &[&back]);
    town.settle();
    town.answer_fetch(2, 1, part(&[&second]));
    let code = answer(&mut town, 2, &back);
    assert_eq!(code.as_deref(), Some("tx.dependency_invalid"));
    assert_eq!((proofs(&town).len(), town.balance(1)), (1, 0));
}

#[test]
fn indexes_a_ledger_that_is_older_than_the_index() {
    let mut town = town();
    let coin = town.issued(2, 1, 10);
    let (first, second) = (town.paid(&coin, 1, 3), town.paid(&coin, 1, 2));
    assert_eq!(refusal(&mut town, 2, &coin), None);
    assert_eq!(refusal(&mut town, 3, &first), None);
    let forget = |town: &mut Town| {
        let disk = &mut town.nodes[1].disk;
        disk.clear(Table::Consumed);
        disk.remove(Table::Meta, kernel::rows::META_CONSUMED_FILL);
    };
    restart(&mut town, forget);
    assert_eq!(town.nodes[1].disk.count(Table::Consumed), 1);
    let code = refusal(&mut town, 2, &second);
    assert_eq!(code.as_deref(), Some("tx.input_consumed"));

    // Contradictions that an older program has recorded are found as well.
    restart(&mut town, |town| {
        let disk = &mut town.nodes[1].disk;
        disk.clear(Table::Consumed);
        disk.clear(Table::Equivocations);
    });
    assert_eq!(refusal(&mut town, 2, &second), None, "not indexed");
    restart(&mut town, forget);
    let kept = proofs(&town);
    assert_eq!(kept.len(), 1);
    let found = kept[0].proof.verify(&mut SignatureChecker::new());
    let found = found.expect("a proof");
    assert_eq!(found.transactions, [first.id(), second.id()]);
}
