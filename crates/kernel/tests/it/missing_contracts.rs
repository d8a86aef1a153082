//! A node whose program lacks a contract takes its transactions once it has it.

use kernel::KernelOptions;
use kernel::port::Table;
use ledger::{Constraint, ContractName, SignedTransaction, TransactionBuilder};
use primitives::Hash;

use crate::pay::issue;
use crate::testnet::{Testnet, key, waits};

/// Builds a test network in which node 2 lacks the contract of deeds, and at most four deliveries to a peer are in flight.
fn net() -> Testnet {
    let mut options = KernelOptions::default();
    options.deliveries.window_transactions_max = 4;
    let mut net = Testnet::with(2, false, options);
    restart(&mut net, true);
    net
}

fn restart(net: &mut Testnet, plain: bool) {
    net.down(2);
    match plain {
        true => net.plain.insert(2),
        false => net.plain.remove(&2),
    };
    net.up(2);
    net.settle();
}

/// Pays node 2 from node 1, and lets enough time pass for several repetitions of an unanswered delivery.
fn pays(net: &mut Testnet) {
    let args = issue(1).replace('}', r#","recipient":"O=Node 2, L=London, C=GB"}"#);
    let payment = net.start(1, "cash.issue_and_pay", &args, None);
    for _ in 0..6 {
        net.settle();
        net.now += 600_000;
    }
    assert_eq!(net.ended(payment), Ok(true), "{:?}", net.logs);
}

#[test]
fn what_waits_for_an_application_is_delivered_once_it_is_there() {
    let mut net = net();
    let deed = net.start(1, "test.make_deed", "2", None);
    net.settle();
    assert!(!net.replies.contains_key(&deed), "owed to node 2");
    let told = |log: &String| log.contains("contract.unknown") && log.contains("test.deed");
    assert!(net.logs.iter().any(told), "{:?}", net.logs);
    // Time alone changes nothing, nor does the same program again.
    for _ in 0..3 {
        net.now += 600_000;
        net.settle();
    }
    restart(&mut net, true);
    assert!(!net.replies.contains_key(&deed));
    assert_eq!(net.figures(2).transactions_refused, 0);
    restart(&mut net, false);
    assert_eq!(net.ended(deed), Ok(true), "{:?}", net.logs);
    assert_eq!(net.nodes[2].view.len(), 1);
    assert_eq!(net.nodes[1].disk.count(Table::Deliveries), 0);
}

#[test]
fn what_waits_for_an_application_holds_up_nothing_else() {
    let mut net = net();
    let deeds: Vec<_> = (0..20)
        .map(|_| net.start(1, "test.make_deed", "2", None))
        .collect();
    net.settle();
    for _ in 0..10 {
        pays(&mut net);
    }
    assert_eq!(net.figures(1).deliveries_pending, 20);
    restart(&mut net, false);
    for deed in deeds {
        assert_eq!(net.ended(deed), Ok(true));
    }
    assert_eq!(net.balance(2), 10);
    assert_eq!(net.nodes[1].disk.count(Table::Deliveries), 0);
}

#[test]
fn code_that_is_not_here_is_no_fault_of_what_we_have_signed() {
    let mut net = Testnet::new(2);
    net.script(2);
    let coin = net.issued(2, 1, 1);
    let constraint = coin.wire().output(0).expect("a coin").constraint.clone();
    let unknown = ContractName::new("test.elsewhere").expect("a name");
    let signers = vec![key(1).public().clone(), key(2).public().clone()];
    for (constraint, attached) in [
        (constraint, Hash::plain(b"code of another program")),
        (
            Constraint::SignedBy(key(2).public().clone()),
            Hash::plain(b"newer code"),
        ),
    ] {
        let ours = TransactionBuilder::new(net.nodes[0].party.clone())
            .attachment(attached)
            .output_data(unknown.clone(), constraint, vec![1])
            .command(unknown.clone(), vec![], signers.clone());
        let ours = SignedTransaction::new(net.built(ours), []);
        let ours = ours.signed_by(&key(1)).signed_by(&key(2));
        net.heard(2);
        net.deliver(2, 1, &[&ours]);
        net.settle();
        let heard = net.heard(2);
        let codes = heard
            .iter()
            .map(|message| waits(message).map(|notice| notice.rejection.code));
        let codes: Vec<Option<String>> = codes.collect();
        assert_eq!(
            codes,
            [Some("tx.contract_missing".to_owned())],
            "neither taken nor refused"
        );
    }
    let told = net.logs.iter().filter(|l| l.contains("contract.unknown"));
    assert_eq!(told.count(), 2, "{:?}", net.logs);
    assert_eq!(net.figures(1).transactions_refused, 0);
}
