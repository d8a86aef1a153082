//! A node whose program lacks a contract takes its transactions once it has it.

use kernel::KernelOptions;
use kernel::port::Table;
use ledger::{Constraint, ContractName, SignedTransaction, TransactionBuilder};
use primitives::Hash;

use crate::pay::issue;
use crate::town::{Town, key, waits};

/// Builds a town in which node 2 lacks the contract of deeds, and at most four deliveries to a peer are in flight.
fn town() -> Town {
    let mut options = KernelOptions::default();
    options.deliveries.window_transactions_max = 4;
    let mut town = Town::with(2, false, options);
    restart(&mut town, true);
    town
}

fn restart(town: &mut Town, plain: bool) {
    town.down(2);
    match plain {
        true => town.plain.insert(2),
        false => town.plain.remove(&2),
    };
    town.up(2);
    town.settle();
}

/// Pays node 2 from node 1, and lets enough time pass for several repetitions of an unanswered delivery.
fn pays(town: &mut Town) {
    let args = issue(1).replace('}', r#","recipient":"O=Node 2, L=London, C=GB"}"#);
    let payment = town.start(1, "cash.issue_and_pay", &args, None);
    for _ in 0..6 {
        town.settle();
        town.now += 600_000;
    }
    assert_eq!(town.ended(payment), Ok(true), "{:?}", town.logs);
}

#[test]
fn what_waits_for_an_application_is_delivered_once_it_is_there() {
    let mut town = town();
    let deed = town.start(1, "test.make_deed", "2", None);
    town.settle();
    assert!(!town.replies.contains_key(&deed), "owed to node 2");
    let told = |log: &String| log.contains("contract.unknown") && log.contains("test.deed");
    assert!(town.logs.iter().any(told), "{:?}", town.logs);
    // Time alone changes nothing, nor does the same program again.
    for _ in 0..3 {
        town.now += 600_000;
        town.settle();
    }
    restart(&mut town, true);
    assert!(!town.replies.contains_key(&deed));
    assert_eq!(town.figures(2).transactions_refused, 0);
    restart(&mut town, false);
    assert_eq!(town.ended(deed), Ok(true), "{:?}", town.logs);
    assert_eq!(town.nodes[2].view.len(), 1);
    assert_eq!(town.nodes[1].disk.count(Table::Deliveries), 0);
}

#[test]
fn what_waits_for_an_application_holds_up_nothing_else() {
    let mut town = town();
    let deeds: Vec<_> = (0..20)
        .map(|_| town.start(1, "test.make_deed", "2", None))
        .collect();
    town.settle();
    for _ in 0..10 {
        pays(&mut town);
    }
    assert_eq!(town.figures(1).deliveries_pending, 20);
    restart(&mut town, false);
    for deed in deeds {
        assert_eq!(town.ended(deed), Ok(true));
    }
    assert_eq!(town.balance(2), 10);
    assert_eq!(town.nodes[1].disk.count(Table::Deliveries), 0);
}

#[test]
fn code_that_is_not_here_is_no_fault_of_what_we_have_signed() {
    let mut town = Town::new(2);
    town.play(2);
    let coin = town.issued(2, 1, 1);
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
        let ours = TransactionBuilder::new(town.nodes[0].party.clone())
            .attachment(attached)
            .output_data(unknown.clone(), constraint, vec![1])
            .command(unknown.clone(), vec![], signers.clone());
        let ours = SignedTransaction::new(town.built(ours), []);
        let ours = ours.signed_by(&key(1)).signed_by(&key(2));
        town.heard(2);
        town.deliver(2, 1, &[&ours]);
        town.settle();
        let heard = town.heard(2);
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
    let told = town.logs.iter().filter(|l| l.contains("contract.unknown"));
    assert_eq!(told.count(), 2, "{:?}", town.logs);
    assert_eq!(town.figures(1).transactions_refused, 0);
}
