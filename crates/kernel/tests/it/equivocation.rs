//! A notary that signs two consumers of a state: a node keeps to the one that its own ledger has, and keeps the proof. Node 1
//! is real; nodes 2 and 3 are scripted by the tests.

use kernel::integrity::EquivocationRow;
use kernel::message::PeerMessage;
use kernel::port::Table;
use ledger::SignedTransaction;
use primitives::{Decode, SignatureChecker};

use crate::testnet::{Testnet, part};

fn net() -> Testnet {
    let mut net = Testnet::new(3);
    for node in [2, 3] {
        net.script(node);
        net.heard(node);
    }
    net
}

/// Delivers a transaction to node 1. Returns the code of the refusal, if it is refused.
fn refusal(net: &mut Testnet, from: usize, transaction: &SignedTransaction) -> Option<String> {
    net.deliver(from, 1, &[transaction]);
    net.settle();
    answer(net, from, transaction)
}

fn answer(net: &mut Testnet, from: usize, transaction: &SignedTransaction) -> Option<String> {
    let heard = net.heard(from);
    let answers = heard.into_iter().filter_map(|message| match message {
        PeerMessage::Delivered { ids } if ids == [transaction.id()] => Some(None),
        PeerMessage::Refused { id, rejection } if id == transaction.id() => {
            Some(Some(rejection.code))
        }
        _ => None,
    });
    let answers: Vec<Option<String>> = answers.collect();
    assert_eq!(answers.len(), 1, "{answers:?}; logs: {:#?}", net.logs);
    answers.into_iter().next().flatten()
}

/// Returns the proofs that node 1 keeps.
fn proofs(net: &Testnet) -> Vec<EquivocationRow> {
    let rows = net.nodes[1].disk.rows(Table::Equivocations);
    let rows = rows.into_iter().map(|(_, value)| value);
    rows.map(|value| EquivocationRow::from_bytes(&value).expect("a row"))
        .collect()
}

/// Restarts node 1 after a change of its disk.
fn restart(net: &mut Testnet, change: impl FnOnce(&mut Testnet)) {
    net.down(1);
    change(net);
    net.up(1);
    for scripted in [2, 3] {
        net.link(1, scripted);
    }
    net.settle();
    for scripted in [2, 3] {
        net.heard(scripted);
    }
}

#[test]
fn refuses_a_second_consumer_and_keeps_the_proof() {
    let mut net = net();
    let coin = net.issued(2, 1, 10);
    let (first, second) = (net.paid(&coin, 1, 3), net.paid(&coin, 1, 2));
    assert_eq!(refusal(&mut net, 2, &coin), None);
    assert_eq!(refusal(&mut net, 3, &first), None);
    for _ in 0..2 {
        let code = refusal(&mut net, 2, &second);
        assert_eq!(code.as_deref(), Some("tx.input_consumed"));
    }
    let kept = proofs(&net);
    assert_eq!(kept.len(), 1);
    let found = kept[0].proof.verify(&mut SignatureChecker::new());
    let found = found.expect("a proof");
    assert_eq!(found.transactions, [first.id(), second.id()]);
    assert_eq!(found.notary, net.nodes[0].party);
    assert_eq!(kept[0].brought_by, Some(net.nodes[2].id));
    let told = net.logs.iter().filter(|l| l.contains("notary.equivocated"));
    assert_eq!(told.count(), 1, "{:#?}", net.logs);
    assert_eq!(net.balance(1), 0);

    // The ledger decides the same way after a restart.
    restart(&mut net, |_| {});
    let code = refusal(&mut net, 2, &second);
    assert_eq!(code.as_deref(), Some("tx.input_consumed"));
    assert_eq!(proofs(&net).len(), 1);
}

#[test]
fn refuses_what_descends_from_a_second_consumer() {
    let mut net = net();
    let coin = net.issued(2, 1, 10);
    let (first, second) = (net.paid(&coin, 1, 3), net.paid(&coin, 1, 2));
    assert_eq!(refusal(&mut net, 2, &coin), None);
    assert_eq!(refusal(&mut net, 3, &first), None);
    let back = net.paid(&second, 2, 1);
    net.deliver(2, 1, &[&back]);
    net.settle();
    net.answer_fetch(2, 1, part(&[&second]));
    let code = answer(&mut net, 2, &back);
    assert_eq!(code.as_deref(), Some("tx.dependency_invalid"));
    assert_eq!((proofs(&net).len(), net.balance(1)), (1, 0));
}

#[test]
fn indexes_a_ledger_that_is_older_than_the_index() {
    let mut net = net();
    let coin = net.issued(2, 1, 10);
    let (first, second) = (net.paid(&coin, 1, 3), net.paid(&coin, 1, 2));
    assert_eq!(refusal(&mut net, 2, &coin), None);
    assert_eq!(refusal(&mut net, 3, &first), None);
    let forget = |net: &mut Testnet| {
        let disk = &mut net.nodes[1].disk;
        disk.clear(Table::Consumed);
        disk.remove(Table::Meta, kernel::rows::META_CONSUMED_FILL);
    };
    restart(&mut net, forget);
    assert_eq!(net.nodes[1].disk.count(Table::Consumed), 1);
    let code = refusal(&mut net, 2, &second);
    assert_eq!(code.as_deref(), Some("tx.input_consumed"));

    // Contradictions that an older program has recorded are found as well.
    restart(&mut net, |net| {
        let disk = &mut net.nodes[1].disk;
        disk.clear(Table::Consumed);
        disk.clear(Table::Equivocations);
    });
    assert_eq!(refusal(&mut net, 2, &second), None, "not indexed");
    restart(&mut net, forget);
    let kept = proofs(&net);
    assert_eq!(kept.len(), 1);
    let found = kept[0].proof.verify(&mut SignatureChecker::new());
    let found = found.expect("a proof");
    assert_eq!(found.transactions, [first.id(), second.id()]);
}
