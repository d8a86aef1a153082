//! Service to peers that ask for much: back chains and decisions about files. Node 1 is real, nodes 2 and 3 are scripted.

use std::collections::BTreeSet;

use flow::FlowId;
use flow::messaging::RequestId;
use kernel::message::{Answer, FetchRequest, FetchResponse, PeerMessage, ServiceId};
use kernel::port::Table;
use kernel::{Action, Event, KernelOptions, ROUND_WORK_MAX};
use ledger::{Constraint, PartyId, SignedTransaction, TransactionBuilder, TxId};
use primitives::{Decode, Encode};

use crate::testnet::{Testnet, deed_code, deed_name, key};

/// Returns a test network with two scripted nodes. Node 2 has delivered a deed to node 1. The deed has a command of this many
/// bytes.
fn net(options: KernelOptions, bytes: usize) -> (Testnet, SignedTransaction) {
    let mut net = Testnet::with(3, false, options);
    net.script(2);
    net.script(3);
    let code = deed_code(1);
    let signers = vec![key(2).public().clone()];
    let builder = TransactionBuilder::new(net.nodes[0].party.clone())
        .attachment(code)
        .output_data(deed_name(), Constraint::Descriptor(code), vec![1, 1, 2])
        .command(deed_name(), vec![7; bytes], signers);
    let deed = SignedTransaction::new(net.built(builder), []).signed_by(&key(2));
    net.deliver(2, 1, &[&deed]);
    net.settle();
    assert_eq!(net.nodes[1].disk.count(Table::Ledger), 1, "{:#?}", net.logs);
    (net, deed)
}

/// Returns the message of a peer that asks node 1 for a transaction.
fn asks(net: &Testnet, peer: usize, number: u32, wanted: TxId) -> Event {
    let request = FetchRequest {
        root: wanted,
        wanted: vec![wanted],
        transactions_max: 10,
        bytes_max: 1_000,
    };
    let id = RequestId {
        flow: FlowId([1; 16]),
        effect: number,
    };
    let message = PeerMessage::Request {
        id,
        service: ServiceId::Fetch as u8,
        body: request.to_bytes(),
    };
    Event::Message {
        peer: net.nodes[peer].id,
        bytes: message.to_bytes(),
    }
}

/// Runs one round of node 1. Returns its actions.
fn round(net: &mut Testnet, events: Vec<Event>) -> Vec<Action> {
    let now = net.moment(1);
    let one = &mut net.nodes[1];
    let kernel = one.kernel.as_mut().expect("up");
    for event in events {
        kernel
            .handle(event, now, &one.disk)
            .expect("the disk reads");
    }
    let mut out = Vec::new();
    kernel
        .flush(now, &one.disk, &mut out)
        .expect("the disk reads");
    let commits = out
        .iter()
        .any(|action| matches!(action, Action::Commit { .. }));
    assert!(!commits, "serving writes nothing");
    out
}

/// Returns the messages among the actions of a round: the receiver and the bytes of each.
fn sent(actions: Vec<Action>) -> Vec<(PartyId, Vec<u8>)> {
    let sent = actions.into_iter().filter_map(|action| match action {
        Action::Send { peer, bytes, .. } => Some((peer, bytes)),
        _ => None,
    });
    sent.collect()
}

/// Returns whether node 1 has work at once.
fn is_awake(net: &Testnet) -> bool {
    let kernel = net.nodes[1].kernel.as_ref().expect("up");
    let now = net.moment(1).monotonic;
    kernel.next_wakeup().is_some_and(|at| at <= now)
}

/// Returns the work that node 2 has caused at node 1.
fn work(net: &Testnet) -> u64 {
    let kernel = net.nodes[1].kernel.as_ref().expect("up");
    kernel.peer_figures()[&net.nodes[2].id].work.work
}

#[test]
fn a_round_serves_a_bounded_number_of_bytes_and_all_requests_in_the_end() {
    // The bytes of a round, and of the transaction, and the answers of a round.
    for (round_bytes_max, bytes, expected) in [
        (4 << 20, 1_000_000, 5),
        (100_000, 60_000, 2),
        (1, 60_000, 1),
    ] {
        let options = KernelOptions {
            round_bytes_max,
            ..KernelOptions::default()
        };
        let (mut net, large) = net(options, bytes);
        let size = large.to_bytes().len();
        let line = format!("{bytes} bytes, {round_bytes_max} in a round");
        let (asked, unknown) = (60, TxId::from_array([5; 32]));
        let mut events: Vec<Event> = (0..asked)
            .map(|number| asks(&net, 2, number, large.id()))
            .collect();
        events.push(asks(&net, 3, 0, unknown));
        let (mut answered, mut other_in, mut rounds) = (BTreeSet::new(), None, 0);
        while answered.len() < asked as usize {
            let sent = sent(round(&mut net, std::mem::take(&mut events)));
            rounds += 1;
            assert!(rounds <= 2 * asked, "{line}: {} answers", answered.len());
            let total: usize = sent.iter().map(|(_, bytes)| bytes.len()).sum();
            assert!(total <= round_bytes_max + size + 1_000, "{line}: {total}");
            let mut answers = 0;
            for (to, bytes) in sent {
                let message = PeerMessage::from_bytes(&bytes).expect("nodes make sense");
                let PeerMessage::Response {
                    id,
                    answer: Answer::Done(body),
                } = message
                else {
                    panic!("{line}: {message:?}");
                };
                let response = FetchResponse::from_bytes(&body).expect("a response");
                if to == net.nodes[3].id {
                    assert_eq!(response.unknown, [unknown], "{line}");
                    other_in = Some(rounds);
                    continue;
                }
                assert_eq!(response.transactions.len(), 1, "{line}");
                assert!(answered.insert(id.effect), "{line}: answered twice");
                answers += 1;
            }
            assert!(answers <= expected, "{line}: {answers} in round {rounds}");
            let is_last = answered.len() == asked as usize;
            assert!(is_last || is_awake(&net), "{line}");
        }
        assert!(other_in.is_some_and(|rounds| rounds <= 2), "{line}");
        let least = asked.div_ceil(expected);
        assert!((least..=least + 1).contains(&rounds), "{line}: {rounds}");
        let served = u64::from(asked) * size as u64 / 4_096;
        assert!(work(&net) >= served * 9 / 10, "{line}: {}", work(&net));
    }
}

#[test]
fn decisions_about_files_are_spread_over_rounds() {
    let (mut net, deed) = net(KernelOptions::default(), 1_000_000);
    let before = work(&net);
    let request = || Event::FilePermit {
        peer: net.nodes[2].id,
        hash: deed_code(1),
        transaction: deed.id(),
    };
    let mut events: Vec<Event> = (0..64).map(|_| request()).collect();
    // The number of decisions of each round.
    let mut decided: Vec<usize> = Vec::new();
    while decided.iter().sum::<usize>() < 64 {
        assert!(decided.len() < 10, "{decided:?}");
        let actions = round(&mut net, std::mem::take(&mut events));
        let permits = actions
            .iter()
            .filter(|action| matches!(action, Action::PermitFile { .. }));
        decided.push(permits.count());
        let is_last = decided.iter().sum::<usize>() == 64;
        assert!(is_last || is_awake(&net), "{decided:?}");
    }
    assert!(decided.len() > 1, "{decided:?}");
    let caused = work(&net) - before;
    assert!(caused > ROUND_WORK_MAX / 2, "{caused} units");
    // Another peer is not delayed by the debt.
    let events = vec![asks(&net, 3, 0, deed.id())];
    assert_eq!(sent(round(&mut net, events)).len(), 1);
}
