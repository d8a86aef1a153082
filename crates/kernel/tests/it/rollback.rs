//! Nodes whose disk is an older copy: the evidence that stops them, the limited effect of a peer's claims, and their recovery.

use kernel::integrity::{Evidence, IntegrityOrder, IntegrityReport, PeerProgress};
use kernel::message::{PeerMessage, Standing};
use kernel::port::Table;
use kernel::{Event, Reply, Token};
use ledger::{DataMark, TransactionSignature};

use crate::pay::{issue, pay};
use crate::town::{Disk, Town, key};

/// Runs a flow to its end and expects success.
#[track_caller]
fn done(town: &mut Town, node: usize, flow: &str, args: &str) {
    let token = town.start(node, flow, args, None);
    town.settle();
    assert_eq!(town.ended(token), Ok(true), "{flow}: {:#?}", town.logs);
}

/// Sends an operator's integrity order to a node. Returns the report, or the code of the refusal.
fn order(town: &mut Town, node: usize, order: IntegrityOrder) -> Result<IntegrityReport, String> {
    let token = town.token();
    let event = Event::Integrity {
        order,
        token: Token(token),
    };
    town.tell(node, event);
    town.settle();
    match town.replies.remove(&token).expect("a reply") {
        Reply::Integrity(report) => Ok(*report),
        Reply::Rejected(rejection) => Err(rejection.code),
        other => panic!("{other:?}"),
    }
}

fn report(town: &mut Town, node: usize) -> IntegrityReport {
    order(town, node, IntegrityOrder::Show).expect("a report")
}

/// Replaces a node's disk by an older copy, as a restore does.
fn restore(town: &mut Town, node: usize, copy: &Disk) {
    town.down(node);
    town.settle();
    town.nodes[node].disk = copy.clone();
    town.up(node);
    town.settle();
}

/// Lets time pass until a recovery has nothing left to ask.
pub fn recovered(town: &mut Town, node: usize) -> IntegrityReport {
    order(town, node, IntegrityOrder::Recover).expect("a report");
    for _ in 0..10_000 {
        let report = report(town, node);
        let peers = &report.recovery.as_ref().expect("a recovery").peers;
        if peers.values().all(|p| p.progress == PeerProgress::Done) {
            return report;
        }
        town.now += 10;
        town.settle();
    }
    panic!("no end of the recovery: {:#?}", report(town, node));
}

/// Builds a town where node 1 has issued 100 to itself and paid 30 to node 2. Also returns `node`'s disk from before the payment.
fn town_and_copy(node: usize) -> (Town, Disk) {
    let mut town = Town::new(2);
    done(&mut town, 1, "cash.issue", &issue(100));
    let copy = town.nodes[node].disk.clone();
    // A new life after the copy.
    town.down(node);
    town.settle();
    town.up(node);
    town.settle();
    done(&mut town, 1, "cash.pay", &pay(30, 2));
    (town, copy)
}

#[test]
fn a_restart_is_no_rollback() {
    let (mut town, _) = town_and_copy(1);
    for node in 0..3 {
        town.down(node);
        town.settle();
        town.up(node);
        town.settle();
        let report = report(&mut town, node);
        assert_eq!(report.rollback, None, "node {node}: {:#?}", town.logs);
        assert!(report.links.is_empty(), "node {node}: {:#?}", report.links);
    }
    done(&mut town, 1, "cash.pay", &pay(10, 2));
    assert_eq!([1, 2].map(|node| town.balance(node)), [60, 40]);
}

#[test]
fn an_older_bank_starts_nothing_until_it_has_recovered() {
    let (mut town, copy) = town_and_copy(1);
    restore(&mut town, 1, &copy);
    assert_eq!(
        town.balance(1),
        100,
        "the copy knows nothing of the payment"
    );
    let row = report(&mut town, 1).rollback.expect("a proof");
    assert!(matches!(row.evidence, Evidence::Mark(_)), "{row:?}");
    for _ in 0..2 {
        let token = town.start(1, "cash.pay", &pay(100, 2), None);
        town.settle();
        assert_eq!(town.ended(token), Err("node.rolled_back".to_owned()));
        // It stays stopped over a restart.
        town.down(1);
        town.settle();
        town.up(1);
        town.settle();
    }
    let early = order(
        &mut town,
        1,
        IntegrityOrder::Finish {
            accept_missing: false,
        },
    );
    assert_eq!(early.unwrap_err(), "node.recovery_incomplete");
    let recovery = recovered(&mut town, 1).recovery.expect("a recovery");
    assert_eq!(recovery.recorded, 1, "{recovery:#?}");
    assert_eq!([1, 2].map(|node| town.balance(node)), [70, 30]);
    let end = order(
        &mut town,
        1,
        IntegrityOrder::Finish {
            accept_missing: false,
        },
    );
    assert_eq!(end.expect("a report").rollback, None);
    done(&mut town, 1, "cash.pay", &pay(20, 2));
    done(&mut town, 2, "cash.pay", &pay(50, 1));
    assert_eq!([1, 2].map(|node| town.balance(node)), [100, 0]);
    // The decision outlasts a restart.
    town.down(1);
    town.settle();
    town.up(1);
    town.settle();
    assert_eq!(report(&mut town, 1).rollback, None);
}

#[test]
fn an_empty_bank_gets_everything_back() {
    let (mut town, _) = town_and_copy(1);
    restore(&mut town, 1, &Disk::default());
    assert!(report(&mut town, 1).rollback.is_some());
    recovered(&mut town, 1);
    let end = order(
        &mut town,
        1,
        IntegrityOrder::Finish {
            accept_missing: false,
        },
    );
    assert_eq!(end.expect("a report").rollback, None);
    assert_eq!([1, 2].map(|node| town.balance(node)), [70, 30]);
    done(&mut town, 2, "cash.pay", &pay(30, 1));
    done(&mut town, 1, "cash.pay", &pay(100, 2));
    assert_eq!([1, 2].map(|node| town.balance(node)), [0, 100]);
}

#[test]
fn an_older_notary_signs_nothing_until_it_has_recovered() {
    for validating in [false, true] {
        let mut town = Town::with(2, validating, Default::default());
        done(&mut town, 1, "cash.issue", &issue(100));
        let (notary, bank) = (town.nodes[0].disk.clone(), town.nodes[1].disk.clone());
        done(&mut town, 1, "cash.pay", &pay(30, 2));
        // Both together: the bank would pay the same coin again, and the notary would sign it.
        restore(&mut town, 0, &notary);
        restore(&mut town, 1, &bank);
        let row = report(&mut town, 0).rollback.expect("a proof");
        assert!(matches!(row.evidence, Evidence::Notarised(_)), "{row:?}");
        let token = town.start(2, "cash.pay", &pay(5, 1), None);
        town.settle();
        assert_eq!(town.ended(token), Err("notary.rolled_back".to_owned()));

        let recovery = recovered(&mut town, 0).recovery.expect("a recovery");
        assert_eq!((recovery.notarised, recovery.conflicts), (1, 0));
        let end = order(
            &mut town,
            0,
            IntegrityOrder::Finish {
                accept_missing: false,
            },
        );
        assert_eq!(end.expect("a report").rollback, None);
        // A bank whose operator recovers nothing: the notary knows the state as consumed.
        let accept = IntegrityOrder::Finish {
            accept_missing: true,
        };
        order(&mut town, 1, accept).expect("a report");
        let token = town.start(1, "cash.pay", &pay(100, 2), None);
        town.settle();
        assert_eq!(town.ended(token), Err("notary.conflict".to_owned()));
        done(&mut town, 2, "cash.pay", &pay(5, 1));
        assert_eq!(town.nodes[0].disk.count(Table::NotaryStates), 2);
    }
}

#[test]
fn a_proof_that_comes_before_the_answer_of_the_store_stops_the_decision() {
    let mut town = Town::new(2);
    done(&mut town, 1, "cash.issue", &issue(100));
    town.play(2);
    town.delayed_answers = Some(Vec::new());
    let token = town.start(1, "cash.pay", &pay(30, 2), None);
    town.settle();
    let delayed = town.delayed_answers.take().expect("delayed answers");
    assert_eq!(delayed.len(), 1, "one question");
    let lost = town.issued(2, 1, 1).id();
    let verdict = TransactionSignature::sign_batch(&[lost], &key(0));
    let standing = Standing {
        notarised: vec![(lost, verdict)],
        ..Standing::default()
    };
    // A peer tells it once for each connection.
    let peer = town.nodes[2].id;
    town.tell(0, Event::PeerDown { peer });
    town.tell(0, Event::PeerUp { peer, epoch: 1 });
    town.say(2, 0, &PeerMessage::Standing(standing));
    for (node, event) in delayed {
        town.tell(node, event);
    }
    town.settle();
    assert_eq!(town.ended(token), Err("notary.rolled_back".to_owned()));
    let rows = [Table::NotaryStates, Table::NotaryTxs].map(|table| town.nodes[0].disk.count(table));
    assert_eq!(rows, [0, 0]);
}

#[test]
fn a_copy_beside_the_original_is_refused() {
    let (mut town, _) = town_and_copy(1);
    let copy = town.nodes[1].disk.clone();
    // The original node runs for a second more, so that its peers hold a later mark.
    done(&mut town, 1, "cash.pay", &pay(10, 2));
    town.now += 1_000;
    town.settle();
    let original = town.nodes[1].disk.clone();
    restore(&mut town, 1, &copy);
    assert!(report(&mut town, 1).rollback.is_some(), "the copy stops");
    restore(&mut town, 1, &original);
    assert_eq!(report(&mut town, 1).rollback, None, "the original goes on");
}

#[test]
fn no_peer_stops_a_node_by_its_word() {
    let (mut town, _) = town_and_copy(1);
    let number = report(&mut town, 1).number;
    let (me, peer) = (town.nodes[1].id, key(2));
    town.play(2);
    let forged = DataMark::sign(&me, 99, [7; 16], number + 50, &peer);
    let verdict = TransactionSignature::sign_batch(&[town.issued(2, 1, 1).id()], &peer);
    for (standing, what) in [
        (
            Standing {
                mark: Some(forged),
                ..Standing::default()
            },
            "a mark signed by the peer",
        ),
        (
            Standing {
                notarised: vec![(town.issued(2, 1, 1).id(), verdict)],
                ..Standing::default()
            },
            "a verdict of another key",
        ),
        (
            Standing {
                sent: 7,
                acked: 1_000,
                taken: 1_000_000,
                ..Standing::default()
            },
            "numbers that never were",
        ),
        (
            Standing {
                acked: u64::MAX,
                taken: u64::MAX,
                ..Standing::default()
            },
            "numbers that cannot be",
        ),
    ] {
        for node in [0, 1] {
            let peer = town.nodes[2].id;
            town.tell(node, Event::PeerDown { peer });
            town.tell(node, Event::PeerUp { peer, epoch: 1 });
            town.settle();
            town.say(2, node, &PeerMessage::Standing(standing.clone()));
            town.settle();
            assert_eq!(report(&mut town, node).rollback, None, "{what}");
        }
    }
    assert_eq!(report(&mut town, 1).links.len(), 1, "a warning is shown");
    // The link with an honest peer is as it was, and the one with the liar works again once it is honest.
    town.up(2);
    town.settle();
    done(&mut town, 1, "cash.issue", &issue(5));
    done(&mut town, 1, "cash.pay", &pay(40, 2));
    assert_eq!([1, 2].map(|node| town.balance(node)), [35, 70]);
}
