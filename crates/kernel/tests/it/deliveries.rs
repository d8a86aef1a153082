//! A node's handling of deliveries from peers. Node 1 is real; nodes 2 and 3 are scripted by the tests.

use kernel::Wait;
use kernel::message::PeerMessage;
use kernel::port::Table;
use ledger::{ContractName, SignedTransaction, TransactionBuilder, TransactionSignature};
use primitives::Encode;

use crate::pay::{issue, pay};
use crate::testnet::{Testnet, badly_signed, key, waits};

fn net() -> Testnet {
    let mut net = Testnet::new(3);
    net.script(2);
    net.script(3);
    net.heard(2);
    net.heard(3);
    net
}

/// Delivers a transaction and gives the answer: recorded, or the code of the refusal, or that of the reason to wait.
fn answer(net: &mut Testnet, from: usize, transaction: &SignedTransaction) -> Result<(), String> {
    net.deliver(from, 1, &[transaction]);
    net.settle();
    let heard = net.heard(from);
    match heard.as_slice() {
        [PeerMessage::Delivered { ids }] if *ids == [transaction.id()] => Ok(()),
        [PeerMessage::Refused { id, rejection }] if *id == transaction.id() => {
            assert!(!rejection.hint.is_empty(), "a refusal says what to do");
            Err(rejection.code.clone())
        }
        [message] => {
            let notice = waits(message).unwrap_or_else(|| panic!("no answer: {message:?}"));
            assert_eq!(notice.transaction, transaction.id());
            let hint = notice.rejection.hint;
            assert!(!hint.is_empty(), "a reason says what to do");
            Err(format!("waits {}", notice.rejection.code))
        }
        other => panic!("no answer: {other:?}; logs: {:#?}", net.logs),
    }
}

#[test]
fn each_delivery_gets_its_answer() {
    let mut net = net();
    let coin = net.issued(2, 1, 10);
    let lent = net.issued(3, 1, 10);
    let spent = net.paid(&coin, 1, 3);
    let unsigned = SignedTransaction::new(net.issued(2, 1, 1).wire().clone(), []);
    let superfluous = net.issued(2, 1, 2).signed_by(&key(3));
    let lacks_the_notary = SignedTransaction::new(net.payment(&lent, 1, 2, 0), []);
    let lacks_the_notary = lacks_the_notary.signed_by(&key(1));
    let batch = TransactionSignature::sign_batch(&[spent.id()], &key(1)).remove(0);
    let batch = spent.clone().with(batch);
    let constraint = coin.wire().output(0).expect("a coin").constraint.clone();
    let unknown = ContractName::new("test.elsewhere").expect("a name");
    let signers = vec![key(1).public().clone(), key(2).public().clone()];
    let without_code = TransactionBuilder::new(net.nodes[0].party.clone())
        .output_data(unknown.clone(), constraint, vec![1])
        .command(unknown, vec![], signers);
    let without_code = SignedTransaction::new(net.built(without_code), []);
    let without_code = without_code.signed_by(&key(1)).signed_by(&key(2));
    let table: &[(&str, &SignedTransaction, Result<(), &str>)] = &[
        ("makes a state of ours", &coin, Ok(())),
        ("the same again", &coin, Ok(())),
        ("another of ours", &lent, Ok(())),
        ("consumes a state of ours", &spent, Ok(())),
        (
            "is between others",
            &net.issued(2, 3, 10),
            Err("waits node.not_a_participant"),
        ),
        (
            "makes value of nothing",
            &net.inflated(&coin, 1, 1),
            Err("tx.contract_rejected"),
        ),
        (
            "says that we sign, and has no code of its contract",
            &without_code,
            Err("tx.contract_missing"),
        ),
        ("has no signature", &unsigned, Err("tx.signature_missing")),
        (
            "lacks the notary's",
            &lacks_the_notary,
            Err("tx.signature_missing"),
        ),
        (
            "has one too many",
            &superfluous,
            Err("tx.signature_superfluous"),
        ),
        (
            "has a bad one",
            &badly_signed(&net.issued(2, 1, 3), 2),
            Err("tx.signature_invalid"),
        ),
        ("is recorded, whatever the copy", &batch, Ok(())),
    ];
    for (what, transaction, expected) in table {
        let found = answer(&mut net, 2, transaction);
        let found = found.as_ref().copied().map_err(String::as_str);
        assert_eq!(found, *expected, "{what}");
    }
    assert_eq!(net.nodes[1].disk.count(Table::Ledger), 3);
    assert_eq!(net.figures(1).transactions_refused, 6);
}

#[test]
fn a_duplicate_is_answered_each_time_and_recorded_once() {
    let mut net = net();
    let coin = net.issued(2, 1, 10);
    net.deliver(2, 1, &[&coin, &coin]);
    net.deliver(2, 1, &[&coin]);
    net.settle();
    let ids: Vec<_> = net.heard(2).into_iter().map(delivered).collect();
    assert!(!ids.is_empty() && ids.iter().flatten().all(|id| *id == coin.id()));
    assert_eq!(answer(&mut net, 3, &coin), Ok(()));
    net.down(1);
    net.up(1);
    net.link(1, 2);
    net.settle();
    net.heard(2);
    assert_eq!(answer(&mut net, 2, &coin), Ok(()));
    assert_eq!(net.nodes[1].disk.count(Table::Ledger), 1);
    assert_eq!(net.balance(1), 10);
}

fn delivered(message: PeerMessage) -> Vec<ledger::TxId> {
    match message {
        PeerMessage::Delivered { ids } => ids,
        other => panic!("not an answer to a delivery: {other:?}"),
    }
}

#[test]
fn a_copy_signed_otherwise_is_judged_by_itself() {
    for bad_first in [true, false] {
        let mut net = net();
        let good = net.issued(2, 1, 10);
        let bad = badly_signed(&good, 2);
        if bad_first {
            net.deliver(3, 1, &[&bad]);
            net.deliver(2, 1, &[&good]);
        } else {
            net.deliver(2, 1, &[&good]);
            net.deliver(3, 1, &[&bad]);
        }
        net.settle();
        let heard = net.heard(2);
        let [PeerMessage::Delivered { ids }] = heard.as_slice() else {
            panic!("{heard:?}");
        };
        assert_eq!(*ids, [good.id()]);
        let heard = net.heard(3);
        let [PeerMessage::Refused { rejection, .. }] = heard.as_slice() else {
            panic!("{heard:?}");
        };
        assert_eq!(rejection.code, "tx.signature_invalid");
        assert_eq!(net.balance(1), 10);
    }
}

#[test]
fn one_bad_transaction_of_a_delivery_does_not_spoil_the_others() {
    let mut net = net();
    let coins = [1, 2, 3].map(|quantity| net.issued(2, 1, quantity));
    let bad = badly_signed(&coins[1], 2);
    let bytes = [coins[0].to_bytes(), bad.to_bytes(), b"garbage".to_vec()];
    let message = PeerMessage::Deliver {
        transactions: bytes.into_iter().chain([coins[2].to_bytes()]).collect(),
        dependencies: vec![b"garbage".to_vec(), bad.to_bytes()],
    };
    net.say(2, 1, &message);
    net.settle();
    assert_eq!(net.balance(1), 4);
    assert_eq!(
        net.heard(2).len(),
        2,
        "one answer for the good, one refusal"
    );
    assert_eq!(net.figures(1).messages_bad, 2);
}

#[test]
fn dependencies_that_come_along_are_checked_like_others() {
    let mut net = net();
    let bad = badly_signed(&net.issued(2, 2, 10), 2);
    let minted = net.inflated(&net.issued(2, 2, 10), 2, 2);
    for (dependency, what) in [(bad, "signature"), (minted, "value")] {
        let payment = net.paid(&dependency, 2, 1);
        let message = PeerMessage::Deliver {
            transactions: vec![payment.to_bytes()],
            dependencies: vec![dependency.to_bytes()],
        };
        net.say(2, 1, &message);
        net.settle();
        assert_eq!(net.nodes[1].disk.count(Table::Ledger), 0, "{what}");
        let heard = net.heard(2);
        let fetches = |message: &PeerMessage| matches!(message, PeerMessage::Request { .. });
        assert!(heard.iter().all(fetches), "{what}: {heard:?}");
    }
}

#[test]
fn only_who_is_owed_a_transaction_answers_for_it() {
    let mut net = Testnet::new(3);
    net.script(2);
    net.script(3);
    let issued = net.start(1, "cash.issue", &issue(10), None);
    net.settle();
    let paid = net.start(1, "cash.pay", &pay(4, 2), None);
    net.settle();
    assert_eq!(net.ended(issued), Ok(true));
    assert!(!net.replies.contains_key(&paid), "owed to node 2");
    let ids = vec![net.nodes[1].disk.ledger()[1].1.id()];
    let refused = |code| PeerMessage::Refused {
        id: ids[0],
        rejection: ledger::Rejection::new(code, "no", "none"),
    };
    let delivered = PeerMessage::Delivered { ids: ids.clone() };
    net.say(3, 1, &delivered);
    net.say(3, 1, &refused("test.other"));
    net.settle();
    assert!(!net.replies.contains_key(&paid), "node 3 has no say in it");
    net.say(2, 1, &refused("test.refused"));
    net.say(2, 1, &delivered);
    net.settle();
    assert_eq!(net.ended(paid), Ok(false), "ended, and not delivered");
    assert_eq!(net.figures(1).deliveries_refused, 1);
    assert_eq!(net.figures(1).deliveries_pending, 0);
    let told = |log: &&String| log.contains("node.delivery_refused");
    assert_eq!(net.logs.iter().filter(told).count(), 1);
}

#[test]
fn who_has_not_answered_is_told_and_counted() {
    let mut net = Testnet::new(3);
    for node in [2, 3] {
        net.script(node);
    }
    net.start(1, "cash.issue", &issue(10), None);
    net.settle();
    let owing = |net: &Testnet, node: usize| {
        let all = net.nodes[1].kernel.as_ref().expect("up").peer_figures();
        all.get(&net.nodes[node].id)
            .map_or(0, |figures| figures.undelivered)
    };
    let mut ids = Vec::new();
    for (number, to) in [(1, 2), (2, 2), (3, 3)] {
        let key = format!("pay {number}");
        let paid = net.start_and_wait(1, "cash.pay", &pay(1, to), Some(&key), Wait::Finalised);
        net.settle();
        let reply = net.replies.remove(&paid);
        let Some(kernel::Reply::Ended {
            outcome,
            undelivered,
            ..
        }) = reply
        else {
            panic!("{number}: {reply:?}");
        };
        let name = format!("O=Node {to}, L=London, C=GB");
        assert_eq!(undelivered, [name], "{number}");
        ids.extend(&outcome.transactions);
    }
    assert_eq!([2, 3].map(|node| owing(&net, node)), [2, 1]);
    net.down(1);
    net.up(1);
    net.settle();
    assert_eq!([2, 3].map(|node| owing(&net, node)), [2, 1], "restarted");
    // The deliveries are read back and sent again.
    net.link(1, 2);
    net.link(1, 3);
    net.quiet_for(2_000);
    let all = PeerMessage::Delivered { ids };
    net.say(2, 1, &all);
    net.say(3, 1, &all);
    net.settle();
    assert_eq!([2, 3].map(|node| owing(&net, node)), [0, 0]);
    let again = net.start_and_wait(1, "cash.pay", &pay(1, 2), Some("pay 1"), Wait::Finalised);
    net.settle();
    assert_eq!(net.ended(again), Ok(true));
}

#[test]
fn who_refused_what_is_told_also_after_a_restart() {
    let mut net = Testnet::new(2);
    net.script(2);
    net.start(1, "cash.issue", &issue(10), None);
    net.settle();
    let mut paid = net.start(1, "cash.pay", &pay(4, 2), Some("order"));
    net.settle();
    let id = net.nodes[1].disk.ledger()[1].1.id();
    let rejection = ledger::Rejection::new("test.refused", "no", "none");
    net.say(2, 1, &PeerMessage::Refused { id, rejection });
    net.settle();
    for when in ["at once", "after a restart"] {
        let reply = net.replies.remove(&paid);
        let Some(kernel::Reply::Ended {
            delivered,
            refused,
            undelivered,
            ..
        }) = reply
        else {
            panic!("{when}: {reply:?}");
        };
        assert!(!delivered && undelivered.is_empty(), "{when}");
        let told: Vec<_> = refused
            .iter()
            .map(|r| (r.transaction, r.party.as_str(), r.rejection.code.as_str()))
            .collect();
        let party = "O=Node 2, L=London, C=GB";
        assert_eq!(told, [(id, party, "test.refused")], "{when}");
        net.down(1);
        net.up(1);
        paid = net.start(1, "cash.pay", &pay(4, 2), Some("order"));
        net.settle();
    }
}
