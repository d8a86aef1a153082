//! Nodes whose disk is an older copy: the evidence that stops them, the limited effect of a peer's claims, and their recovery.

use kernel::integrity::{
    Evidence, IntegrityOrder, IntegrityReport, NOTARY_MEETS_MS_MAX, PeerProgress,
};
use kernel::message::{PeerMessage, Standing};
use kernel::port::Table;
use kernel::{Event, Reply, Token};
use ledger::{DataMark, TransactionSignature};

use crate::pay::{issue, pay};
use crate::testnet::{Disk, Testnet, key};

/// Runs a flow to its end and expects success.
#[track_caller]
fn done(net: &mut Testnet, node: usize, flow: &str, args: &str) {
    let token = net.start(node, flow, args, None);
    net.settle();
    assert_eq!(net.ended(token), Ok(true), "{flow}: {:#?}", net.logs);
}

/// Sends an operator's integrity order to a node. Returns the report, or the code of the refusal.
pub fn order(
    net: &mut Testnet,
    node: usize,
    order: IntegrityOrder,
) -> Result<IntegrityReport, String> {
    let token = net.token();
    let event = Event::Integrity {
        order,
        token: Token(token),
    };
    net.tell(node, event);
    net.settle();
    match net.replies.remove(&token).expect("a reply") {
        Reply::Integrity(report) => Ok(*report),
        Reply::Rejected(rejection) => Err(rejection.code),
        other => panic!("{other:?}"),
    }
}

fn report(net: &mut Testnet, node: usize) -> IntegrityReport {
    order(net, node, IntegrityOrder::Show).expect("a report")
}

/// Replaces a node's disk by an older copy, as a restore does.
fn restore(net: &mut Testnet, node: usize, copy: &Disk) {
    net.down(node);
    net.settle();
    net.nodes[node].disk = copy.clone();
    net.up(node);
    net.settle();
}

/// Lets time pass until a recovery has nothing left to ask.
pub fn recovered(net: &mut Testnet, node: usize) -> IntegrityReport {
    order(net, node, IntegrityOrder::Recover).expect("a report");
    // A pause that a peer asks for is 40 ms. Twenty seconds are more than all pauses of a small ledger.
    for _ in 0..2_000 {
        let report = report(net, node);
        let peers = &report.recovery.as_ref().expect("a recovery").peers;
        if peers.values().all(|p| p.progress == PeerProgress::Done) {
            return report;
        }
        net.now += 10;
        net.settle();
    }
    panic!("no end of the recovery: {:#?}", report(net, node));
}

/// Builds a test network where node 1 has issued 100 to itself and paid 30 to node 2. Also returns `node`'s disk from before the payment.
fn testnet_and_copy(node: usize) -> (Testnet, Disk) {
    let mut net = Testnet::new(2);
    done(&mut net, 1, "cash.issue", &issue(100));
    let copy = net.nodes[node].disk.clone();
    // A new life after the copy.
    net.down(node);
    net.settle();
    net.up(node);
    net.settle();
    done(&mut net, 1, "cash.pay", &pay(30, 2));
    (net, copy)
}

#[test]
fn a_recovery_of_sound_data_also_says_that_a_peer_is_silent() {
    let mut net = Testnet::new(2);
    done(&mut net, 1, "cash.issue", &issue(100));
    net.script(2);
    order(&mut net, 1, IntegrityOrder::Recover).expect("a report");
    let finish = |accept_missing| IntegrityOrder::Finish { accept_missing };
    let early = order(&mut net, 1, finish(false));
    assert_eq!(early.unwrap_err(), "node.recovery_incomplete");
    assert!(order(&mut net, 1, finish(true)).is_ok());
    net.up(2);
    recovered(&mut net, 1);
    assert!(order(&mut net, 1, finish(false)).is_ok());
    done(&mut net, 1, "cash.pay", &pay(20, 2));
}

#[test]
fn a_restart_is_no_rollback() {
    let (mut net, _) = testnet_and_copy(1);
    for node in 0..3 {
        net.down(node);
        net.settle();
        net.up(node);
        net.settle();
        let report = report(&mut net, node);
        assert_eq!(report.rollback, None, "node {node}: {:#?}", net.logs);
        assert!(report.links.is_empty(), "node {node}: {:#?}", report.links);
    }
    done(&mut net, 1, "cash.pay", &pay(10, 2));
    assert_eq!([1, 2].map(|node| net.balance(node)), [60, 40]);
}

#[test]
fn an_older_bank_starts_nothing_until_it_has_recovered() {
    let (mut net, copy) = testnet_and_copy(1);
    restore(&mut net, 1, &copy);
    assert_eq!(net.balance(1), 100, "the copy knows nothing of the payment");
    let row = report(&mut net, 1).rollback.expect("a proof");
    assert!(matches!(row.evidence, Evidence::Mark(_)), "{row:?}");
    for _ in 0..2 {
        let token = net.start(1, "cash.pay", &pay(100, 2), None);
        net.settle();
        assert_eq!(net.ended(token), Err("node.rolled_back".to_owned()));
        // It stays stopped over a restart.
        net.down(1);
        net.settle();
        net.up(1);
        net.settle();
    }
    let early = order(
        &mut net,
        1,
        IntegrityOrder::Finish {
            accept_missing: false,
        },
    );
    assert_eq!(early.unwrap_err(), "node.recovery_incomplete");
    let recovery = recovered(&mut net, 1).recovery.expect("a recovery");
    assert_eq!(recovery.recorded, 1, "{recovery:#?}");
    assert_eq!([1, 2].map(|node| net.balance(node)), [70, 30]);
    let end = order(
        &mut net,
        1,
        IntegrityOrder::Finish {
            accept_missing: false,
        },
    );
    assert_eq!(end.expect("a report").rollback, None);
    // A second recovery finds nothing, and its report is that of the first.
    let again = recovered(&mut net, 1).recovery.expect("a recovery");
    assert_eq!((again.recorded, again.begun), (1, recovery.begun));
    done(&mut net, 1, "cash.pay", &pay(20, 2));
    done(&mut net, 2, "cash.pay", &pay(50, 1));
    assert_eq!([1, 2].map(|node| net.balance(node)), [100, 0]);
    // The decision outlasts a restart.
    net.down(1);
    net.settle();
    net.up(1);
    net.settle();
    assert_eq!(report(&mut net, 1).rollback, None);
}

#[test]
fn an_empty_bank_gets_everything_back() {
    let (mut net, _) = testnet_and_copy(1);
    restore(&mut net, 1, &Disk::default());
    assert!(report(&mut net, 1).rollback.is_some());
    recovered(&mut net, 1);
    let end = order(
        &mut net,
        1,
        IntegrityOrder::Finish {
            accept_missing: false,
        },
    );
    assert_eq!(end.expect("a report").rollback, None);
    assert_eq!([1, 2].map(|node| net.balance(node)), [70, 30]);
    done(&mut net, 2, "cash.pay", &pay(30, 1));
    done(&mut net, 1, "cash.pay", &pay(100, 2));
    assert_eq!([1, 2].map(|node| net.balance(node)), [0, 100]);
}

#[test]
fn an_older_notary_signs_nothing_until_it_has_recovered() {
    for validating in [false, true] {
        let mut net = Testnet::with(2, validating, Default::default());
        done(&mut net, 1, "cash.issue", &issue(100));
        let (notary, bank) = (net.nodes[0].disk.clone(), net.nodes[1].disk.clone());
        done(&mut net, 1, "cash.pay", &pay(30, 2));
        // Both together: the bank would pay the same coin again, and the notary would sign it.
        restore(&mut net, 0, &notary);
        restore(&mut net, 1, &bank);
        let row = report(&mut net, 0).rollback.expect("a proof");
        assert!(matches!(row.evidence, Evidence::Notarised(_)), "{row:?}");
        let token = net.start(2, "cash.pay", &pay(5, 1), None);
        net.settle();
        assert_eq!(net.ended(token), Err("notary.rolled_back".to_owned()));

        let recovery = recovered(&mut net, 0).recovery.expect("a recovery");
        assert_eq!((recovery.notarised, recovery.conflicts), (1, 0));
        let end = order(
            &mut net,
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
        order(&mut net, 1, accept).expect("a report");
        let token = net.start(1, "cash.pay", &pay(100, 2), None);
        // The notary has met too few peers since its start: it judges nothing for `NOTARY_MEETS_MS_MAX`.
        net.quiet_for(NOTARY_MEETS_MS_MAX + 2_000);
        assert_eq!(net.ended(token), Err("notary.conflict".to_owned()));
        done(&mut net, 2, "cash.pay", &pay(5, 1));
        assert_eq!(net.nodes[0].disk.count(Table::NotaryStates), 2);
    }
}

#[test]
fn a_proof_that_comes_before_the_answer_of_the_store_stops_the_decision() {
    let mut net = Testnet::new(2);
    done(&mut net, 1, "cash.issue", &issue(100));
    net.script(2);
    net.delayed_answers = Some(Vec::new());
    let token = net.start(1, "cash.pay", &pay(30, 2), None);
    net.settle();
    let delayed = net.delayed_answers.take().expect("delayed answers");
    assert_eq!(delayed.len(), 1, "one question");
    let lost = net.issued(2, 1, 1).id();
    let verdict = TransactionSignature::sign_batch(&[lost], &key(0));
    let standing = Standing {
        notarised: vec![(lost, verdict)],
        ..Standing::default()
    };
    // A peer tells it once for each connection.
    let (peer, epoch) = (net.nodes[2].id, net.nodes[2].epoch);
    net.tell(0, Event::PeerDown { peer });
    net.tell(0, Event::PeerUp { peer, epoch });
    net.say(2, 0, &PeerMessage::Standing(standing));
    for (node, event) in delayed {
        net.tell(node, event);
    }
    net.settle();
    assert_eq!(net.ended(token), Err("notary.rolled_back".to_owned()));
    let rows = [Table::NotaryStates, Table::NotaryTxs].map(|table| net.nodes[0].disk.count(table));
    assert_eq!(rows, [0, 0]);
}

#[test]
fn a_copy_beside_the_original_is_refused() {
    let (mut net, _) = testnet_and_copy(1);
    let copy = net.nodes[1].disk.clone();
    // The original node runs for a second more, so that its peers hold a later mark.
    done(&mut net, 1, "cash.pay", &pay(10, 2));
    net.now += 1_000;
    net.settle();
    let original = net.nodes[1].disk.clone();
    restore(&mut net, 1, &copy);
    assert!(report(&mut net, 1).rollback.is_some(), "the copy stops");
    restore(&mut net, 1, &original);
    assert_eq!(report(&mut net, 1).rollback, None, "the original goes on");
}

#[test]
fn no_peer_stops_a_node_by_its_word() {
    let (mut net, _) = testnet_and_copy(1);
    let number = report(&mut net, 1).number;
    let (me, peer) = (net.nodes[1].id, key(2));
    net.script(2);
    let forged = DataMark::sign(&me, 99, [7; 16], number + 50, &peer);
    let verdict = TransactionSignature::sign_batch(&[net.issued(2, 1, 1).id()], &peer);
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
                notarised: vec![(net.issued(2, 1, 1).id(), verdict)],
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
            let (peer, epoch) = (net.nodes[2].id, net.nodes[2].epoch);
            net.tell(node, Event::PeerDown { peer });
            net.tell(node, Event::PeerUp { peer, epoch });
            net.settle();
            net.say(2, node, &PeerMessage::Standing(standing.clone()));
            net.settle();
            assert_eq!(report(&mut net, node).rollback, None, "{what}");
        }
    }
    assert_eq!(report(&mut net, 1).links.len(), 1, "a warning is shown");
    // The link with an honest peer is as it was, and the one with the liar works again once it is honest.
    net.up(2);
    net.settle();
    done(&mut net, 1, "cash.issue", &issue(5));
    done(&mut net, 1, "cash.pay", &pay(40, 2));
    assert_eq!([1, 2].map(|node| net.balance(node)), [35, 70]);
}
