//! Deliveries that a node cannot record as it is now: they are not refused, their sender is told the reason, and they are
//! recorded once the node can.

use std::sync::Arc;

use kernel::message::{Answer, NOTICE_ID, PeerMessage, WaitingNotice};
use kernel::port::Table;
use ledger::{
    Constraint, NetworkMap, NetworkParameters, Rejection, SignedTransaction, TransactionBuilder,
    TxId,
};
use primitives::Encode;

use crate::anonymous::hidden_pay;
use crate::pay::issue;
use crate::rollback::recovered;
use crate::testnet::{Testnet, key, waits};

const NODE_2: &str = r#","recipient":"O=Node 2, L=London, C=GB"}"#;

/// Returns a copy of the network with other parameters.
pub fn with_parameters(
    net: &Testnet,
    change: impl FnOnce(&mut NetworkParameters),
) -> Arc<NetworkMap> {
    let mut parameters = net.network.parameters().clone();
    parameters.version += 1;
    change(&mut parameters);
    let nodes = net.network.nodes().map(|(_, info)| info.clone());
    Arc::new(NetworkMap::new(parameters, nodes))
}

/// Checks that a reason names a parameter, and the parameters of the transaction and of the node.
#[track_caller]
pub fn names_the_difference(reason: &Rejection, parameter: &str, maps: [&NetworkMap; 2]) {
    let hashes = maps.map(|map| map.parameters_hash().to_string());
    for word in hashes.iter().map(String::as_str).chain([parameter]) {
        assert!(reason.message.contains(word), "{word}: {reason:?}");
    }
}

/// Returns the reasons that a scripted node was given, and the transactions that it was told are recorded.
fn answers(net: &mut Testnet, node: usize) -> (Vec<Rejection>, Vec<TxId>) {
    let (mut reasons, mut recorded) = (Vec::new(), Vec::new());
    for message in net.heard(node) {
        match &message {
            PeerMessage::Delivered { ids } => recorded.extend(ids),
            _ => reasons.extend(waits(&message).map(|notice| notice.rejection)),
        }
    }
    (reasons, recorded)
}

#[test]
fn a_state_that_accepts_any_code_is_recorded_once_the_parameters_allow_it() {
    let mut net = Testnet::new(2);
    net.script(1);
    let strict = Arc::clone(&net.network);
    let lax = with_parameters(&net, |p| p.allow_always_accept = true);
    net.network = Arc::clone(&lax);
    let coin = net.issued(1, 2, 5);
    let state = coin.wire().output(0).expect("a coin").clone();
    let command = coin.wire().commands()[0].clone();
    let issue = TransactionBuilder::new(state.notary)
        .attachment(coin.wire().attachments()[0])
        .output_data(state.contract, Constraint::AlwaysAccept, state.data)
        .command(command.contract, command.value, command.signers);
    let issue = SignedTransaction::new(net.built(issue), []).signed_by(&key(1));
    net.heard(1);
    for _ in 0..2 {
        net.deliver(1, 2, &[&issue]);
        net.settle();
        let (reasons, recorded) = answers(&mut net, 1);
        assert_eq!((reasons.len(), recorded.len()), (1, 0), "{reasons:?}");
        assert_eq!(reasons[0].code, "tx.always_accept_refused");
        names_the_difference(&reasons[0], "allow_always_accept", [&lax, &strict]);
    }
    assert_eq!(net.figures(2).transactions_refused, 0);
    net.down(2);
    net.up(2);
    net.settle();
    net.deliver(1, 2, &[&issue]);
    net.settle();
    assert_eq!(answers(&mut net, 1), (vec![], vec![issue.id()]));
    assert_eq!(net.balance(2), 5);
}

/// An older copy of node 2 lacks the fresh key that it was paid to. It says so, and records the payment once it has recovered.
#[test]
fn an_older_copy_records_what_is_paid_to_a_lost_key_after_its_recovery() {
    let mut net = Testnet::new(3);
    let again = |net: &mut Testnet, node: usize| {
        net.down(node);
        net.settle();
        net.up(node);
        net.settle();
    };
    let run = |net: &mut Testnet, flow: &str, args: &str| {
        let token = net.start(1, flow, args, None);
        net.settle();
        assert_eq!(net.ended(token), Ok(true), "{flow}: {:#?}", net.logs);
    };
    run(&mut net, "cash.issue", &issue(100));
    let copy = net.nodes[2].disk.clone();
    again(&mut net, 2);
    run(&mut net, "cash.pay", &hidden_pay(30, 2));
    let (_, payment) = net.nodes[1].disk.ledger().pop().expect("the payment");
    net.down(2);
    net.settle();
    net.nodes[2].disk = copy;
    net.up(2);
    net.settle();
    assert_eq!(net.figures(2).rolled_back, 1, "{:#?}", net.logs);
    net.script(1);
    net.heard(1);
    net.deliver(1, 2, &[&payment]);
    net.settle();
    let (reasons, recorded) = answers(&mut net, 1);
    let codes: Vec<&str> = reasons.iter().map(|reason| &*reason.code).collect();
    assert_eq!((&*codes, recorded.len()), (&["node.rolled_back"][..], 0));
    again(&mut net, 1);
    recovered(&mut net, 2);
    assert_eq!(net.balance(2), 30, "{:#?}", net.logs);
    assert_eq!(net.figures(2).transactions_refused, 0);
}

/// Node 2 has other parameters than node 1, until it is restarted with those of all.
#[test]
fn what_other_parameters_forbid_is_recorded_once_they_allow_it() {
    // A change of node 2's parameters, the code of its reason to wait, and the parameter that the reason names.
    type Change = fn(&mut NetworkParameters);
    let table: [(Change, &str, &str); 2] = [
        (
            |p| p.notaries = p.notaries.split_off(1),
            "tx.notary_unknown",
            "notaries",
        ),
        (
            |p| p.max_transaction_bytes = 100,
            "tx.too_large",
            "max_transaction_bytes",
        ),
    ];
    for (change, code, parameter) in table {
        let mut net = Testnet::with_two_notaries(2, false, Default::default());
        let all = Arc::clone(&net.network);
        net.down(2);
        net.network = with_parameters(&net, change);
        let at_node_2 = Arc::clone(&net.network);
        net.up(2);
        net.network = Arc::clone(&all);
        let args = issue(5).replace('}', NODE_2);
        let payment = net.start(1, "cash.issue_and_pay", &args, None);
        net.settle();
        // The delivery waits, and nothing is lost by waiting.
        for _ in 0..3 {
            net.now += 600_000;
            net.settle();
        }
        assert!(!net.replies.contains_key(&payment), "{code}: owed");
        let figures = net.figures(1);
        assert_eq!(figures.deliveries_refused, 0, "{code}");
        assert_eq!(figures.deliveries_waiting, 1, "{code}: {:#?}", net.logs);
        let reasons: Vec<_> = figures.wait_reasons.iter().collect();
        let [((peer, _), waiting)] = reasons[..] else {
            panic!("{reasons:?}");
        };
        assert_eq!(*peer, net.nodes[2].id);
        assert_eq!(waiting.rejection.code, code);
        names_the_difference(&waiting.rejection, parameter, [&all, &at_node_2]);
        assert_eq!(net.figures(2).transactions_refused, 0, "{code}");
        net.down(2);
        net.up(2);
        net.quiet_for(3_600_000);
        assert_eq!(net.ended(payment), Ok(true), "{code}: {:#?}", net.logs);
        assert_eq!(net.balance(2), 5);
        let figures = net.figures(1);
        assert_eq!(figures.deliveries_waiting, 0, "{code}");
        assert!(figures.wait_reasons.is_empty());
        assert_eq!(net.nodes[1].disk.count(Table::Deliveries), 0);
    }
}

#[test]
fn a_reason_is_told_once_for_each_delivery() {
    let mut net = Testnet::new(3);
    net.script(2);
    net.heard(2);
    let strange = net.issued(2, 3, 10);
    for _ in 0..3 {
        net.deliver(2, 1, &[&strange]);
        net.settle();
        let heard = net.heard(2);
        let told: Vec<WaitingNotice> = heard.iter().filter_map(waits).collect();
        assert_eq!((heard.len(), told.len()), (1, 1), "{heard:?}");
        assert_eq!(told[0].transaction, strange.id());
    }
}

#[test]
fn a_reason_that_nobody_waits_for_is_not_kept() {
    let mut net = Testnet::new(2);
    net.script(2);
    let notice = |transaction| PeerMessage::Response {
        id: NOTICE_ID,
        answer: Answer::Done(
            WaitingNotice {
                transaction,
                rejection: Rejection::new("test.no", "no", "none"),
            }
            .to_bytes(),
        ),
    };
    net.say(2, 1, &notice(TxId::from_array([7; 32])));
    let garbage = PeerMessage::Response {
        id: NOTICE_ID,
        answer: Answer::Done(vec![0xff; 40]),
    };
    net.say(2, 1, &garbage);
    net.settle();
    let figures = net.figures(1);
    assert_eq!((figures.deliveries_waiting, figures.messages_bad), (0, 1));
    // A notice about a delivery that is owed to another node is not believed either.
    let args = issue(5).replace('}', NODE_2);
    net.start(1, "cash.issue_and_pay", &args, None);
    net.settle();
    let owed = net.heard(2).into_iter().find_map(|message| match message {
        PeerMessage::Deliver { transactions, .. } => transactions.into_iter().next(),
        _ => None,
    });
    let owed = owed.expect("a delivery");
    let owed: ledger::SignedTransaction = primitives::Decode::from_bytes(&owed).expect("one");
    let mut said = notice(owed.id());
    net.say(0, 1, &said);
    net.settle();
    assert_eq!(net.figures(1).deliveries_waiting, 0);
    said = notice(owed.id());
    net.say(2, 1, &said);
    net.settle();
    assert_eq!(net.figures(1).deliveries_waiting, 1);
    let ids = vec![owed.id()];
    net.say(2, 1, &PeerMessage::Delivered { ids });
    net.settle();
    assert_eq!(net.figures(1).deliveries_waiting, 0);
}
