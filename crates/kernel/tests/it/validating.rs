//! A validating notary: it has verified and recorded every transaction that it signs, and refuses an invalid one with its code. A
//! slow or lying requester delays only itself. Node 0 is the notary; nodes 2 and 3 are scripted where a test says so.

use flow::FlowId;
use flow::library::NOTARY_ALLOWANCE_MS;
use flow::messaging::RequestId;
use kernel::message::{Answer, FetchResponse, PeerMessage, ServiceId};
use kernel::port::Table;
use kernel::{Event, KernelOptions};
use ledger::{
    NotaryError, NotaryRequest, NotaryResponse, SignedTransaction, StateRef, TxId, WireTransaction,
};
use notary::DECISION_MS_MAX;
use primitives::{Decode, Encode};

use crate::pay::{issue, pay};
use crate::testnet::{Crash, Last, Testnet, badly_signed, key, part};

/// Maximum number of waiting items of one requester, as in the intake.
const PEER_ITEMS_MAX: u32 = 5_000;

fn net(others: u8) -> Testnet {
    Testnet::with(others, true, KernelOptions::default())
}

/// Builds a test network where nodes 2 and 3 are scripted.
fn with_scripted_nodes() -> Testnet {
    let mut net = net(3);
    for node in [2, 3] {
        net.script(node);
        net.heard(node);
    }
    net
}

fn signed(wire: WireTransaction, by: usize) -> SignedTransaction {
    SignedTransaction::new(wire, []).signed_by(&key(by))
}

/// Returns a node's request with a whole transaction.
fn whole(net: &Testnet, by: usize, transaction: &SignedTransaction) -> NotaryRequest {
    let (notary, me) = (net.nodes[0].id, net.nodes[by].id);
    NotaryRequest::sign_whole(transaction, &notary, me, &key(by))
}

/// Sends a request of a scripted node, under this number.
fn ask(net: &mut Testnet, by: usize, number: u32, request: &NotaryRequest) {
    let id = RequestId {
        flow: FlowId([7; 16]),
        effect: number,
    };
    let service = ServiceId::Notarise as u8;
    let body = request.to_bytes();
    net.say(by, 0, &PeerMessage::Request { id, service, body });
    net.settle();
}

/// Returns the notary's answer to the last request of a scripted node, if there is one: success, the code of the refusal with the
/// inner code, or "wait".
fn answer(net: &mut Testnet, by: usize) -> Option<Result<(), String>> {
    read_answer(&net.heard(by))
}

/// Like [`answer`], but skips messages of other kinds.
fn answer_at_last(net: &mut Testnet, by: usize) -> Option<Result<(), String>> {
    let mut heard = net.heard(by);
    heard.retain(|message| matches!(message, PeerMessage::Response { .. }));
    read_answer(&heard)
}

fn read_answer(heard: &[PeerMessage]) -> Option<Result<(), String>> {
    let answer = match heard {
        [] => return None,
        [PeerMessage::Response { answer, .. }] => answer,
        other => panic!("no answer: {other:?}"),
    };
    let response = match answer {
        Answer::Done(bytes) => NotaryResponse::from_bytes(bytes).expect("a response"),
        Answer::Wait(_) => return Some(Err("wait".to_owned())),
        Answer::Failed(rejection) => panic!("{rejection:?}"),
    };
    Some(match response {
        NotaryResponse::Signed(_) => Ok(()),
        NotaryResponse::Refused(error) => Err(match &error {
            NotaryError::InvalidRequest { code, .. } => format!("request: {code}"),
            NotaryError::TransactionInvalid { code, .. } => format!("transaction: {code}"),
            error => primitives::Coded::code(error).to_owned(),
        }),
    })
}

fn refused(code: &str) -> Option<Result<(), String>> {
    Some(Err(code.to_owned()))
}

fn unknown(id: TxId) -> Answer {
    let response = FetchResponse {
        transactions: Vec::new(),
        unknown: vec![id],
    };
    Answer::Done(response.to_bytes())
}

#[test]
fn what_it_signs_it_has_verified_and_recorded() {
    let mut net = net(3);
    let issued = net.start(1, "cash.issue", &issue(100), None);
    net.settle();
    assert_eq!(net.ended(issued), Ok(true));
    for (from, to) in [(1, 2), (2, 3)] {
        let paid = net.start(from, "cash.pay", &pay(100, to), None);
        net.settle();
        assert_eq!(net.ended(paid), Ok(true), "{:?}", net.logs);
    }
    assert_eq!(net.balance(3), 100);
    let recorded = net.nodes[0].disk.ledger();
    let notary = net.nodes[0].party.key.clone();
    assert_eq!(recorded.len(), 3, "the issue and two payments");
    for (_, transaction) in &recorded[1..] {
        let by_notary = transaction.signatures().iter().any(|s| s.by == notary);
        assert!(by_notary && transaction.missing_signers().is_empty());
    }
    let count = |table| net.nodes[0].disk.count(table);
    assert_eq!(count(Table::NotaryStates), 2);
    assert_eq!(count(Table::NotaryTxs), 2);
    assert_eq!(count(Table::Staging), 0);
    let figures = net.figures(0);
    assert_eq!((figures.notary_signed, figures.intake_items), (2, 0));
    assert_eq!(figures.resolutions, 1, "only the issue was not known to it");
}

#[test]
fn a_notary_that_takes_part_has_its_states_and_spends_them() {
    let mut net = net(2);
    let issued = net.start(1, "cash.issue", &issue(100), None);
    net.settle();
    assert_eq!(net.ended(issued), Ok(true));
    let paid = net.start(1, "cash.pay", &pay(100, 0), None);
    net.settle();
    assert_eq!(net.ended(paid), Ok(true), "{:?}", net.logs);
    assert_eq!(net.balance(0), 100);
    let back = net.start(0, "cash.pay", &pay(40, 2), None);
    net.settle();
    assert_eq!(net.ended(back), Ok(true), "{:?}", net.logs);
    assert_eq!([0, 2].map(|node| net.balance(node)), [60, 40]);
}

#[test]
fn what_is_wrong_is_refused_with_its_code_and_leaves_nothing() {
    let mut net = with_scripted_nodes();
    let coin = net.issued(2, 2, 10);
    let good = signed(net.payment(&coin, 2, 1, 0), 2);
    let minted = signed(net.payment(&coin, 2, 1, 1), 2);
    let unsigned = SignedTransaction::new(good.wire().clone(), []);
    let forged = badly_signed(&good, 2);
    let stranger = good.clone().signed_by(&key(3));
    let bad_coin = badly_signed(&coin, 2);
    let tear_off = NotaryRequest::sign(good.wire(), &net.nodes[0].id, net.nodes[2].id, &key(2));
    let elsewhere = NotaryRequest::sign_whole(&good, &net.nodes[1].id, net.nodes[2].id, &key(2));
    let mut theirs = whole(&net, 2, &good);
    theirs.requester = net.nodes[3].id;
    let has_coin = || part(&[&coin]);
    let of = |transaction| whole(&net, 2, transaction);
    // Node 2's request, its answer if the notary asks for the back chain, and the result.
    let table = [
        (tear_off, None, "request: notary.transaction_wanted"),
        (theirs, None, "request: notary.requester_mismatched"),
        (elsewhere, None, "request: tx.signature_invalid"),
        (of(&unsigned), None, "transaction: tx.signature_missing"),
        (of(&stranger), None, "transaction: tx.signature_superfluous"),
        (of(&forged), None, "transaction: tx.signature_invalid"),
        (
            of(&good),
            Some(unknown(coin.id())),
            "transaction: tx.dependency_unavailable",
        ),
        (
            of(&good),
            Some(part(&[&bad_coin])),
            "transaction: tx.dependency_invalid",
        ),
        (of(&good), Some(Answer::Done(vec![1, 2])), "wait"),
        (
            of(&minted),
            Some(has_coin()),
            "transaction: tx.contract_rejected",
        ),
    ];
    for (number, (request, chain, code)) in (1..).zip(table) {
        ask(&mut net, 2, number, &request);
        if let Some(chain) = chain {
            net.answer_fetch(2, 0, chain);
        }
        assert_eq!(answer(&mut net, 2), refused(code), "row {number}");
        let count = |table| net.nodes[0].disk.count(table);
        assert_eq!(count(Table::NotaryStates) + count(Table::NotaryTxs), 0);
        assert_eq!(count(Table::Staging), 0);
        let figures = net.figures(0);
        assert_eq!((figures.intake_items, figures.requests_outstanding), (0, 0));
    }
    // Refusals have no effect: the valid transaction is still signed. The coin is known since the last row.
    let request = whole(&net, 2, &good);
    ask(&mut net, 2, 100, &request);
    assert_eq!(answer(&mut net, 2), Some(Ok(())));
    assert_eq!(net.nodes[0].disk.count(Table::Ledger), 2);
}

#[test]
fn a_notary_that_does_not_validate_keeps_nothing_of_a_whole_transaction() {
    let mut net = Testnet::new(3);
    net.script(2);
    net.heard(2);
    let coin = net.issued(2, 2, 10);
    let payment = signed(net.payment(&coin, 2, 1, 0), 2);
    let request = whole(&net, 2, &payment);
    let before = Table::ALL.map(|table| net.nodes[0].disk.count(table));
    ask(&mut net, 2, 1, &request);
    let wanted = "request: notary.tear_off_wanted";
    assert_eq!(answer(&mut net, 2), refused(wanted));
    let after = Table::ALL.map(|table| net.nodes[0].disk.count(table));
    assert_eq!(after, before);
    assert_eq!(net.figures(0).signatures_checked, 0);
}

#[test]
fn a_state_is_consumed_once_and_the_first_is_signed_again_after_a_restart() {
    let mut net = with_scripted_nodes();
    let coin = net.issued(2, 2, 10);
    let first = signed(net.payment(&coin, 2, 1, 0), 2);
    let second = signed(net.payment(&coin, 2, 3, 0), 2);
    let request = whole(&net, 2, &first);
    ask(&mut net, 2, 1, &request);
    net.answer_fetch(2, 0, part(&[&coin]));
    assert_eq!(answer(&mut net, 2), Some(Ok(())));
    for restart in [false, true] {
        if restart {
            net.down(0);
            net.up(0);
            net.script(2);
            net.script(3);
            net.heard(2);
        }
        let request = whole(&net, 2, &second);
        ask(&mut net, 2, 2, &request);
        assert_eq!(answer(&mut net, 2), refused("notary.conflict"));
        let request = whole(&net, 2, &first);
        ask(&mut net, 2, 1, &request);
        assert_eq!(answer(&mut net, 2), Some(Ok(())));
    }
    // An accepted transaction is not checked again, not even its signatures.
    let bare = SignedTransaction::new(first.wire().clone(), []);
    let request = whole(&net, 3, &bare);
    net.heard(3);
    ask(&mut net, 3, 1, &request);
    assert_eq!(answer(&mut net, 3), Some(Ok(())));
    assert_eq!(net.nodes[0].disk.count(Table::Ledger), 2);
    assert_eq!(net.nodes[0].disk.count(Table::NotaryTxs), 1);
}

#[test]
fn the_time_window_is_judged_when_the_request_arrives() {
    let mut net = with_scripted_nodes();
    let coin = net.issued(2, 2, 10);
    let until = net.now + 1_000;
    let in_time = signed(net.payment_until(&coin, 2, 1, until), 2);
    let late = signed(net.payment_until(&coin, 2, 3, until), 2);
    let request = whole(&net, 2, &in_time);
    ask(&mut net, 2, 1, &request);
    net.now += 20_000;
    net.settle();
    net.answer_fetch(2, 0, part(&[&coin]));
    assert_eq!(answer(&mut net, 2), Some(Ok(())));
    let request = whole(&net, 2, &late);
    ask(&mut net, 2, 2, &request);
    let closed = "notary.time_window_invalid";
    assert_eq!(answer(&mut net, 2), refused(closed));
    let request = whole(&net, 2, &in_time);
    ask(&mut net, 2, 3, &request);
    assert_eq!(answer(&mut net, 2), Some(Ok(())), "it was accepted before");
}

#[test]
fn a_back_chain_that_is_shown_long_after_the_window_does_not_help() {
    // The requester chooses when it shows the back chain. (shown so long after the end of the window, signed)
    for (after_ms, is_signed) in [(DECISION_MS_MAX, true), (DECISION_MS_MAX + 1, false)] {
        let mut net = with_scripted_nodes();
        let coin = net.issued(2, 2, 10);
        let tx = signed(net.payment_until(&coin, 2, 1, net.now + 1_000), 2);
        let request = whole(&net, 2, &tx);
        ask(&mut net, 2, 1, &request);
        net.now += 1_000 + after_ms;
        net.settle();
        let closed = refused("notary.time_window_invalid");
        if is_signed {
            net.answer_fetch(2, 0, part(&[&coin]));
            assert_eq!(answer(&mut net, 2), Some(Ok(())));
        } else {
            assert_eq!(answer_at_last(&mut net, 2), closed);
            assert_eq!(net.figures(0).intake_items, 0, "its room is free");
            ask(&mut net, 2, 2, &request);
            assert_eq!(answer(&mut net, 2), closed);
        }
    }
}

#[test]
fn flows_keep_locks_longer_than_a_notary_takes_to_decide() {
    // The rest is for the difference of the clocks.
    const { assert!(DECISION_MS_MAX + 30_000 <= NOTARY_ALLOWANCE_MS) };
}

#[test]
fn a_requester_that_does_not_answer_delays_only_itself() {
    let mut net = with_scripted_nodes();
    let coin = net.issued(2, 3, 10);
    let silent = signed(net.payment(&coin, 3, 1, 0), 3);
    let good = signed(net.payment(&coin, 3, 2, 0), 3);
    // Node 2 requests the notarisation of a transaction that it has seen from node 3, and never shows the back chain.
    let request = whole(&net, 2, &silent);
    ask(&mut net, 2, 1, &request);
    assert_eq!(net.heard(2).len(), 1, "a fetch");
    let request = whole(&net, 3, &good);
    ask(&mut net, 3, 1, &request);
    net.answer_fetch(3, 0, part(&[&coin]));
    // Now the silent one's is verified too, and it came first.
    assert_eq!(answer(&mut net, 2), Some(Ok(())));
    assert_eq!(answer(&mut net, 3), refused("notary.conflict"));
    assert_eq!(net.figures(0).intake_items, 0);
}

#[test]
fn a_deep_back_chain_is_fetched_in_parts_while_others_are_served() {
    let mut net = with_scripted_nodes();
    let coin = net.issued(2, 2, 10);
    let mut chain = vec![coin];
    for _ in 0..200 {
        let next = net.paid(&chain[chain.len() - 1], 2, 2);
        chain.push(next);
    }
    let payment = signed(net.payment(&chain[chain.len() - 1], 2, 1, 0), 2);
    let request = whole(&net, 2, &payment);
    ask(&mut net, 2, 1, &request);
    let mut left = chain.len();
    let mut others = 0;
    while left > 0 {
        others += 1;
        let theirs = net.issued(3, 3, 5);
        let paid = signed(net.payment(&theirs, 3, 1, 0), 3);
        let request = whole(&net, 3, &paid);
        ask(&mut net, 3, others, &request);
        net.answer_fetch(3, 0, part(&[&theirs]));
        assert_eq!(answer(&mut net, 3), Some(Ok(())));
        let from = left.saturating_sub(16);
        let numbered = (from..left)
            .rev()
            .map(|at| (at as u64 + 1, chain[at].to_bytes()));
        let response = FetchResponse {
            transactions: numbered.collect(),
            unknown: Vec::new(),
        };
        net.answer_fetch(2, 0, Answer::Done(response.to_bytes()));
        left = from;
    }
    net.quiet();
    assert_eq!(answer(&mut net, 2), Some(Ok(())));
    let recorded = chain.len() + 1 + 2 * others as usize;
    assert_eq!(net.nodes[0].disk.count(Table::Ledger), recorded);
    assert_eq!(net.nodes[0].disk.count(Table::Staging), 0);
}

#[test]
fn a_requester_without_room_is_told_to_come_again_and_others_are_served() {
    let mut net = with_scripted_nodes();
    let coin = net.issued(2, 2, 10);
    let mut waits = 0;
    for number in 0..PEER_ITEMS_MAX + 10 {
        let payment = signed(net.payment(&coin, 2, 1, 0), 2);
        let request = whole(&net, 2, &payment);
        ask(&mut net, 2, number, &request);
        let heard = net.heard(2);
        let is_wait = |message: &PeerMessage| {
            let wait = Answer::Wait(1_000);
            matches!(message, PeerMessage::Response { answer, .. } if *answer == wait)
        };
        waits += heard.iter().filter(|message| is_wait(message)).count();
    }
    assert_eq!(waits, 10);
    assert_eq!(net.figures(0).intake_items, u64::from(PEER_ITEMS_MAX));
    let theirs = net.issued(3, 3, 5);
    let paid = signed(net.payment(&theirs, 3, 1, 0), 3);
    let request = whole(&net, 3, &paid);
    ask(&mut net, 3, 1, &request);
    net.answer_fetch(3, 0, part(&[&theirs]));
    assert_eq!(answer(&mut net, 3), Some(Ok(())));
    // Its connection breaks, and the notary forgets its requests.
    let peer = net.nodes[2].id;
    net.tell(0, Event::PeerDown { peer });
    net.settle();
    assert_eq!(net.figures(0).intake_items, 0);
}

/// Nodes 1 and 6 pay each other.
#[track_caller]
fn others_are_served(net: &mut Testnet) {
    for (node, flow, args) in [
        (1, "cash.issue", issue(100)),
        (1, "cash.pay", pay(60, 6)),
        (6, "cash.pay", pay(60, 1)),
    ] {
        let started = net.start(node, flow, &args, None);
        net.settle();
        assert_eq!(net.ended(started), Ok(true), "{flow}: {:?}", net.logs);
    }
    assert_eq!(net.balance(1), 100);
}

#[test]
fn requesters_that_fill_the_room_and_answer_nothing_leave_some_to_the_next() {
    let mut net = net(6);
    let mut held = Vec::new();
    for node in 2..=5 {
        net.script(node);
        net.heard(node);
        let coin = net.issued(node, node, 100_000);
        let mut number = 0;
        loop {
            let payment = signed(net.split(&coin, node, 1_000), node);
            let request = whole(&net, node, &payment);
            ask(&mut net, node, number, &request);
            let heard = net.heard(node);
            let is_answer = |message: &PeerMessage| matches!(message, PeerMessage::Response { .. });
            if heard.iter().any(is_answer) {
                break;
            }
            number += 1;
        }
        held.push(number);
    }
    assert!(held.is_sorted_by(|a, b| a >= b) && held[3] > 0, "{held:?}");
    others_are_served(&mut net);
}

#[test]
fn requesters_that_take_all_places_and_answer_nothing_leave_one_to_the_next() {
    let mut net = net(6);
    for node in 2..=5 {
        net.script(node);
        net.heard(node);
        for number in 0..20 {
            // Each with a back chain of its own.
            let coin = net.issued(node, node, 10);
            let payment = signed(net.payment(&coin, node, 1, 0), node);
            let request = whole(&net, node, &payment);
            ask(&mut net, node, number, &request);
        }
        assert_eq!(net.heard(node).len(), 16, "fetches");
    }
    others_are_served(&mut net);
}

#[test]
fn a_request_asked_twice_is_verified_once_and_forgotten_when_its_requester_goes() {
    let mut net = with_scripted_nodes();
    let coin = net.issued(2, 2, 10);
    let payment = signed(net.payment(&coin, 2, 1, 0), 2);
    let request = whole(&net, 2, &payment);
    for _ in 0..3 {
        ask(&mut net, 2, 1, &request);
    }
    assert_eq!(net.figures(0).intake_items, 1);
    assert_eq!(net.heard(2).len(), 1, "one fetch");
    let peer = net.nodes[2].id;
    net.tell(0, Event::PeerDown { peer });
    net.settle();
    assert_eq!(net.figures(0).intake_items, 0);
    assert_eq!(net.figures(0).requests_outstanding, 0);
    net.link(0, 2);
    net.settle();
    net.heard(2);
    ask(&mut net, 2, 1, &request);
    net.answer_fetch(2, 0, part(&[&coin]));
    assert_eq!(answer(&mut net, 2), Some(Ok(())));
}

#[test]
fn asking_for_a_decision_gives_no_consent_to_spend_what_is_the_notarys() {
    let mut net = with_scripted_nodes();
    let coin = net.issued(2, 0, 10);
    net.deliver(2, 0, &[&coin]);
    net.settle();
    net.heard(2);
    assert_eq!(net.balance(0), 10);
    let theft = SignedTransaction::new(net.payment(&coin, 0, 2, 0), []);
    let request = whole(&net, 2, &theft);
    ask(&mut net, 2, 1, &request);
    let missing = "transaction: tx.signature_missing";
    assert_eq!(answer(&mut net, 2), refused(missing));
    let stolen = StateRef::new(coin.id(), 0);
    assert_eq!(theft.wire().inputs(), [stolen]);
    assert_eq!(net.balance(0), 10);
}

#[test]
fn a_crash_of_the_notary_after_any_commit_loses_nothing() {
    for last in [Last::Lost, Last::Durable, Last::Performed] {
        for at in 1..=6 {
            let mut net = net(2);
            let issued = net.start(1, "cash.issue", &issue(100), None);
            net.quiet();
            assert_eq!(net.ended(issued), Ok(true));
            let paid = net.start(1, "cash.pay", &pay(60, 2), None);
            net.crashes.push(Crash { node: 0, at, last });
            net.settle();
            let crashed = net.nodes[0].kernel.is_none();
            if crashed {
                net.up(0);
            }
            net.quiet();
            assert_eq!(net.ended(paid), Ok(true), "{last:?} {at}: {:?}", net.logs);
            let back = net.start(2, "cash.pay", &pay(60, 1), None);
            net.quiet();
            assert_eq!(net.ended(back), Ok(true), "{last:?} {at}: {:?}", net.logs);
            assert_eq!([1, 2].map(|node| net.balance(node)), [100, 0]);
            let count = |table| net.nodes[0].disk.count(table);
            assert_eq!(count(Table::Ledger), 3, "{last:?} {at}");
            assert_eq!(count(Table::NotaryTxs), 2, "{last:?} {at}");
            assert_eq!(count(Table::Staging), 0, "{last:?} {at}");
            if !crashed {
                break;
            }
        }
    }
}
