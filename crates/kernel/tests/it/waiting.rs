//! Deliveries that a node cannot record as it is now: they are not refused, their sender is told the reason, and they are
//! recorded once the node can.

use std::sync::Arc;

use kernel::message::{Answer, NOTICE_ID, PeerMessage, WaitingNotice};
use kernel::port::Table;
use ledger::{NetworkMap, NetworkParameters, Rejection, TxId};
use primitives::Encode;

use crate::pay::issue;
use crate::town::{Town, waits};

const NODE_2: &str = r#","recipient":"O=Node 2, L=London, C=GB"}"#;

/// The same network with other parameters.
fn with_parameters(town: &Town, change: impl FnOnce(&mut NetworkParameters)) -> Arc<NetworkMap> {
    let mut parameters = town.network.parameters().clone();
    parameters.version += 1;
    change(&mut parameters);
    let nodes = town.network.nodes().map(|(_, info)| info.clone());
    Arc::new(NetworkMap::new(parameters, nodes))
}

/// Node 2 has other parameters than node 1, until it is restarted with those of all.
#[test]
fn what_other_parameters_forbid_is_recorded_once_they_allow_it() {
    // How node 2's parameters differ, and the reason that it gives.
    type Change = fn(&mut NetworkParameters);
    let table: [(Change, &str); 2] = [
        (
            |p| p.notaries = p.notaries.split_off(1),
            "tx.notary_unknown",
        ),
        (|p| p.max_transaction_bytes = 100, "tx.too_large"),
    ];
    for (change, code) in table {
        let mut town = Town::with_two_notaries(2, false, Default::default());
        let all = Arc::clone(&town.network);
        town.down(2);
        town.network = with_parameters(&town, change);
        let theirs = town.network.parameters_hash();
        town.up(2);
        town.network = Arc::clone(&all);
        let args = issue(5).replace('}', NODE_2);
        let payment = town.start(1, "cash.issue_and_pay", &args, None);
        town.settle();
        // The delivery waits, and nothing is lost by waiting.
        for _ in 0..3 {
            town.now += 600_000;
            town.settle();
        }
        assert!(!town.replies.contains_key(&payment), "{code}: owed");
        let figures = town.figures(1);
        assert_eq!(figures.deliveries_refused, 0, "{code}");
        assert_eq!(figures.deliveries_waiting, 1, "{code}: {:#?}", town.logs);
        let [waiting] = &*figures.waiting else {
            panic!("{:?}", figures.waiting);
        };
        assert_eq!(waiting.peer, town.nodes[2].id);
        assert_eq!(waiting.rejection.code, code);
        for hash in [all.parameters_hash(), theirs] {
            let text = &waiting.rejection.message;
            assert!(text.contains(&hash.to_string()), "{code}: {text}");
        }
        assert_eq!(town.figures(2).transactions_refused, 0, "{code}");
        town.down(2);
        town.up(2);
        town.quiet_for(3_600_000);
        assert_eq!(town.ended(payment), Ok(true), "{code}: {:#?}", town.logs);
        assert_eq!(town.balance(2), 5);
        let figures = town.figures(1);
        assert_eq!(figures.deliveries_waiting, 0, "{code}");
        assert!(figures.waiting.is_empty());
        assert_eq!(town.nodes[1].disk.count(Table::Deliveries), 0);
    }
}

#[test]
fn a_reason_is_told_once_for_each_delivery() {
    let mut town = Town::new(3);
    town.play(2);
    town.heard(2);
    let strange = town.issued(2, 3, 10);
    for _ in 0..3 {
        town.deliver(2, 1, &[&strange]);
        town.settle();
        let heard = town.heard(2);
        let told: Vec<WaitingNotice> = heard.iter().filter_map(waits).collect();
        assert_eq!((heard.len(), told.len()), (1, 1), "{heard:?}");
        assert_eq!(told[0].transaction, strange.id());
    }
}

#[test]
fn a_reason_that_nobody_waits_for_is_not_kept() {
    let mut town = Town::new(2);
    town.play(2);
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
    town.say(2, 1, &notice(TxId::from_array([7; 32])));
    let garbage = PeerMessage::Response {
        id: NOTICE_ID,
        answer: Answer::Done(vec![0xff; 40]),
    };
    town.say(2, 1, &garbage);
    town.settle();
    let figures = town.figures(1);
    assert_eq!((figures.deliveries_waiting, figures.messages_bad), (0, 1));
    // A notice about a delivery that is owed to another node is not believed either.
    let args = issue(5).replace('}', NODE_2);
    town.start(1, "cash.issue_and_pay", &args, None);
    town.settle();
    let owed = town.heard(2).into_iter().find_map(|message| match message {
        PeerMessage::Deliver { transactions, .. } => transactions.into_iter().next(),
        _ => None,
    });
    let owed = owed.expect("a delivery");
    let owed: ledger::SignedTransaction = primitives::Decode::from_bytes(&owed).expect("one");
    let mut said = notice(owed.id());
    town.say(0, 1, &said);
    town.settle();
    assert_eq!(town.figures(1).deliveries_waiting, 0);
    said = notice(owed.id());
    town.say(2, 1, &said);
    town.settle();
    assert_eq!(town.figures(1).deliveries_waiting, 1);
    let ids = vec![owed.id()];
    town.say(2, 1, &PeerMessage::Delivered { ids });
    town.settle();
    assert_eq!(town.figures(1).deliveries_waiting, 0);
}
