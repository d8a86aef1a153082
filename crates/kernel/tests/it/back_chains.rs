//! Back chains: which peers may fetch them, and the handling of a transaction whose chain cannot be fetched. Node 1 is real. Node
//! 2, and in some tests another one or the notary, is scripted.

use std::collections::BTreeMap;

use flow::FlowId;
use flow::messaging::RequestId;
use kernel::message::{Answer, FetchRequest, FetchResponse, PeerMessage, ServiceId};
use kernel::port::Table;
use kernel::{Event, KernelOptions};
use ledger::{Constraint, Rejection, SignedTransaction, StateRef, TransactionBuilder, TxId};
use primitives::{Decode, Encode};

use crate::pay::issue;
use crate::references::refer;
use crate::testnet::{Testnet, badly_signed, deed_code, deed_name, key, part, waits};
use crate::trades::done;

fn net() -> Testnet {
    let mut net = Testnet::new(2);
    net.script(2);
    net.heard(2);
    net
}

/// Asks node 1, as a scripted node, for transactions. Returns the response, or the code of the refusal.
fn fetch(net: &mut Testnet, from: usize, ids: &[TxId]) -> Result<FetchResponse, String> {
    let request = FetchRequest {
        root: ids[0],
        wanted: ids.to_vec(),
        transactions_max: 10,
        bytes_max: 1_000_000,
    };
    ask(net, from, ServiceId::Fetch as u8, request.to_bytes())
}

fn ask(
    net: &mut Testnet,
    from: usize,
    service: u8,
    body: Vec<u8>,
) -> Result<FetchResponse, String> {
    let id = RequestId {
        flow: FlowId([1; 16]),
        effect: 1,
    };
    net.say(from, 1, &PeerMessage::Request { id, service, body });
    net.settle();
    match net.heard(from).as_slice() {
        [PeerMessage::Response { id: of, answer }] if *of == id => match answer {
            Answer::Done(bytes) => Ok(FetchResponse::from_bytes(bytes).expect("a response")),
            Answer::Failed(rejection) => Err(rejection.code.clone()),
            Answer::Wait(_) => panic!("told to wait"),
        },
        other => panic!("no answer: {other:?}"),
    }
}

#[test]
fn a_notary_that_does_not_validate_gets_only_what_concerns_it() {
    let refused = Err("node.back_chain_not_shared".to_owned());
    for validating in [false, true] {
        let mut net = Testnet::with(2, validating, KernelOptions::default());
        let issued = net.start(1, "cash.issue", &issue(10), None);
        net.settle();
        assert_eq!(net.ended(issued), Ok(true));
        net.script(0);
        net.script(2);
        let ours = net.nodes[1].disk.ledger()[0].1.id();
        let theirs = net.issued(0, 1, 5);
        net.deliver(0, 1, &[&theirs]);
        net.settle();
        net.heard(0);
        net.heard(2);
        let unknown = TxId::from_array([5; 32]);
        let id_of = |response: FetchResponse| response.transactions.len();
        let table = [
            (0, ours, validating),
            (0, unknown, validating),
            (0, theirs.id(), true),
        ];
        for (node, id, allowed) in table {
            let found = fetch(&mut net, node, &[id]);
            if allowed {
                assert_eq!(found.map(id_of), Ok(usize::from(id != unknown)));
            } else {
                assert_eq!(found, refused, "validating: {validating}");
            }
        }
        assert_eq!(
            fetch(&mut net, 2, &[ours]).map(id_of),
            Ok(1),
            "a participant may"
        );
    }
}

#[test]
fn what_is_unknown_is_said_to_be() {
    let mut net = net();
    let coin = net.issued(2, 1, 10);
    net.deliver(2, 1, &[&coin]);
    net.settle();
    net.heard(2);
    let unknown = TxId::from_array([5; 32]);
    let response = fetch(&mut net, 2, &[unknown, coin.id(), unknown]).expect("an answer");
    assert_eq!(response.unknown, [unknown]);
    assert_eq!(response.transactions, [(1, coin.to_bytes())]);
}

#[test]
fn services_that_are_not_offered_and_requests_that_make_no_sense_are_refused() {
    let mut net = net();
    let table = [
        (ServiceId::Notarise as u8, vec![], "node.service_unknown"),
        (99, vec![1], "node.service_unknown"),
        (ServiceId::Fetch as u8, vec![], "codec.truncated"),
    ];
    for (service, body, code) in table {
        let found = ask(&mut net, 2, service, body);
        assert_eq!(found, Err(code.to_owned()));
    }
}

/// Delivers a payment of node 2 to node 1 and answers the fetch like this. Returns the answer to the delivery, if there is one.
fn resolve(
    net: &mut Testnet,
    payment: &SignedTransaction,
    answer: Answer,
) -> Option<Result<(), String>> {
    net.deliver(2, 1, &[payment]);
    net.settle();
    net.answer_fetch(2, 1, answer);
    let heard = net.heard(2);
    match heard.as_slice() {
        [] => None,
        [PeerMessage::Delivered { ids }] if *ids == [payment.id()] => Some(Ok(())),
        [PeerMessage::Refused { id, rejection }] if *id == payment.id() => {
            Some(Err(rejection.code.clone()))
        }
        [message] => waits(message).map(|notice| {
            assert_eq!(notice.transaction, payment.id());
            Err(format!("waits {}", notice.rejection.code))
        }),
        other => panic!("no answer: {other:?}"),
    }
}

fn unknown(id: TxId) -> Answer {
    let response = FetchResponse {
        transactions: Vec::new(),
        unknown: vec![id],
    };
    Answer::Done(response.to_bytes())
}

#[test]
fn what_is_wrong_with_the_chain_refuses_or_delays_the_transaction() {
    let mut net = net();
    let coin = net.issued(2, 2, 10);
    let passed = net.paid(&coin, 2, 2);
    let minted = net.inflated(&coin, 2, 2);
    let forged = badly_signed(&passed, 2);
    let unsigned = SignedTransaction::new(passed.wire().clone(), []);
    let theirs = Rejection::new("test.no", "no", "none");
    let failed = || Answer::Failed(theirs.clone());
    // Node 2's payment, its answer to the fetch, the result, and the number of ancestors that are recorded anyway.
    let table = [
        (
            &passed,
            unknown(passed.id()),
            "waits tx.dependency_unavailable",
            0,
        ),
        (&passed, failed(), "waits test.no", 0),
        (&passed, part(&[&forged, &coin]), "tx.dependency_invalid", 1),
        (
            &passed,
            part(&[&unsigned, &coin]),
            "tx.dependency_invalid",
            1,
        ),
        (&minted, part(&[&minted, &coin]), "tx.dependency_invalid", 1),
        (&minted, part(&[&minted]), "tx.dependency_invalid", 1),
    ];
    for (place, (before, answer, code, recorded)) in table.into_iter().enumerate() {
        let payment = net.paid(before, 2, 1);
        let found = resolve(&mut net, &payment, answer);
        assert_eq!(found, Some(Err(code.to_owned())), "row {place}");
        assert_eq!(
            net.nodes[1].disk.count(Table::Ledger),
            recorded,
            "row {place}"
        );
        let figures = net.figures(1);
        assert_eq!((figures.intake_items, figures.requests_outstanding), (0, 0));
    }
    let payment = net.paid(&passed, 2, 1);
    let good = part(&[&passed]);
    assert_eq!(resolve(&mut net, &payment, good), Some(Ok(())));
    assert_eq!(net.balance(1), 10);
}

#[test]
fn an_answer_that_makes_no_sense_says_nothing_about_the_transaction() {
    let mut net = net();
    let coin = net.issued(2, 2, 10);
    let passed = net.paid(&coin, 2, 2);
    let payment = net.paid(&passed, 2, 1);
    let response = |transactions: Vec<(u64, &SignedTransaction)>| {
        let transactions = transactions.into_iter().map(|(at, t)| (at, t.to_bytes()));
        let response = FetchResponse {
            transactions: transactions.collect(),
            unknown: Vec::new(),
        };
        Answer::Done(response.to_bytes())
    };
    let other = net.issued(2, 2, 11);
    let garbage = FetchResponse {
        transactions: vec![(1, vec![1, 2, 3])],
        unknown: Vec::new(),
    };
    let table = [
        Answer::Done(Vec::new()),
        Answer::Done(vec![0xff; 100]),
        Answer::Done(garbage.to_bytes()),
        response(vec![]),
        response(vec![(1, &other)]),
        response(vec![(2, &passed), (2, &coin)]),
        response(vec![(2, &passed), (3, &coin)]),
        response(vec![(3, &coin), (2, &passed)]),
        response(vec![(3, &passed), (2, &coin), (1, &other)]),
        response(vec![(3, &passed), (2, &passed)]),
    ];
    for (place, answer) in table.into_iter().enumerate() {
        let found = resolve(&mut net, &payment, answer);
        let waits = Some(Err("waits node.peer_answer_invalid".to_owned()));
        assert_eq!(found, waits, "row {place}");
        assert_eq!(net.nodes[1].disk.count(Table::Ledger), 0, "row {place}");
        let last = net.logs.last().expect("a complaint");
        assert!(last.contains("node.peer_answer_invalid"), "{last}");
    }
    let good = response(vec![(9, &passed), (4, &coin)]);
    assert_eq!(resolve(&mut net, &payment, good), Some(Ok(())));
    assert_eq!(net.balance(1), 10);
}

#[test]
fn a_chain_longer_than_the_limit_waits() {
    let options = KernelOptions {
        back_chain_bytes_max: 1_000,
        ..KernelOptions::default()
    };
    let mut net = Testnet::with(2, false, options);
    net.script(2);
    net.heard(2);
    let coin = net.issued(2, 2, 10);
    let passed = net.paid(&coin, 2, 2);
    let payment = net.paid(&passed, 2, 1);
    let found = resolve(&mut net, &payment, part(&[&passed, &coin]));
    assert_eq!(found, Some(Err("waits tx.back_chain_too_long".to_owned())));
}

#[test]
fn a_chain_is_asked_for_again_when_the_peer_returns() {
    let mut net = net();
    let coin = net.issued(2, 2, 10);
    let payment = net.paid(&coin, 2, 1);
    net.deliver(2, 1, &[&payment]);
    net.settle();
    assert_eq!(net.heard(2).len(), 1, "a fetch");
    net.script(2);
    net.answer_fetch(2, 1, Answer::Wait(500));
    assert!(net.heard(2).is_empty());
    net.now += 60_000;
    net.settle();
    net.answer_fetch(2, 1, part(&[&coin]));
    assert_eq!(net.balance(1), 10);
    let delivered = PeerMessage::Delivered {
        ids: vec![payment.id()],
    };
    assert_eq!(net.heard(2), [delivered]);
}

/// Delivers a transaction of a scripted node to node 1, with these dependencies.
fn deliver_with(
    net: &mut Testnet,
    from: usize,
    transaction: &SignedTransaction,
    dependencies: &[&SignedTransaction],
) {
    let dependencies = dependencies.iter().map(|dependency| dependency.to_bytes());
    let message = PeerMessage::Deliver {
        transactions: vec![transaction.to_bytes()],
        dependencies: dependencies.collect(),
    };
    net.say(from, 1, &message);
    net.settle();
}

#[test]
fn a_silent_peer_delays_no_delivery_of_another() {
    // Whether silent node 2 delivers the payment of node 3 itself, whether it sends the dependency along, and whether node 3 does.
    let table = [
        (false, false, false),
        (false, true, true),
        (true, false, false),
        (true, true, false),
        (true, true, true),
    ];
    for (is_theirs, has_along, others_along) in table {
        for disconnects in [false, true] {
            let line = format!("{is_theirs}, {has_along}, {others_along}, {disconnects}");
            let mut net = Testnet::new(3);
            for node in [2, 3] {
                net.script(node);
            }
            let coin = net.issued(3, 3, 10);
            let passed = net.paid(&coin, 3, 3);
            let payment = net.paid(&passed, 3, 1);
            let first = match is_theirs {
                true => payment.clone(),
                false => net.issued_referring(2, 1, 5, StateRef::new(passed.id(), 0)),
            };
            let along = |sent: bool| sent.then_some(&passed).into_iter().collect::<Vec<_>>();
            net.heard(2);
            deliver_with(&mut net, 2, &first, &along(has_along));
            let heard = net.heard(2);
            let [PeerMessage::Request { .. }] = heard.as_slice() else {
                panic!("{line}: not one fetch: {heard:?}");
            };
            if disconnects {
                let peer = net.nodes[2].id;
                net.tell(1, Event::PeerDown { peer });
                net.settle();
            }
            net.heard(3);
            // Repeated, as senders do.
            for _ in 0..2 {
                deliver_with(&mut net, 3, &payment, &along(others_along));
            }
            let chain = match others_along {
                true => part(&[&coin]),
                false => part(&[&passed, &coin]),
            };
            net.answer_fetch(3, 1, chain);
            let delivered = |transaction: &SignedTransaction| PeerMessage::Delivered {
                ids: vec![transaction.id()],
            };
            assert_eq!(net.heard(3), [delivered(&payment)], "{line}");
            // The dependencies are recorded, so the other delivery is complete too.
            if !disconnects {
                assert_eq!(net.heard(2), [delivered(&first)], "{line}");
            }
            let recorded = if is_theirs { 3 } else { 4 };
            assert_eq!(net.nodes[1].disk.count(Table::Ledger), recorded, "{line}");
            let figures = net.figures(1);
            let left = (figures.intake_items, figures.requests_outstanding);
            assert_eq!(left, (0, 0), "{line}");
        }
    }
}

#[test]
fn a_silent_peer_delays_no_flow_with_another() {
    let mut net = Testnet::new(4);
    let alarm = r#"{"in_ms":1000,"flow":"test.ring","again":1,"count":1}"#;
    done(&mut net, 1, "test.set", alarm);
    for _ in 0..2 {
        net.now += 1_000;
        net.settle();
    }
    let alarm = net.nodes[1].view.values().next().expect("an alarm");
    let id = alarm.facts.linear_id.expect("a linear state");
    let ledger = net.nodes[1].disk.ledger();
    let (_, newest) = ledger.last().expect("an alarm that has rung");
    let before = newest.wire().inputs()[0];
    net.script(4);
    net.heard(4);
    let theirs = net.issued_referring(4, 2, 5, before);
    net.deliver(4, 2, &[&theirs]);
    net.settle();
    assert_eq!(net.heard(4).len(), 1, "a fetch");
    // Node 1 shows node 2 the alarm, whose ancestor node 4 withholds.
    let started = net.start(2, "test.refer", &refer(&id, None), None);
    net.settle();
    assert_eq!(net.ended(started), Ok(true), "{:#?}", net.logs);
    assert_eq!(net.balance(2), 5, "the delivery is complete too");
}

/// Returns a transaction of about this many bytes without a signature. It consumes a state of another one.
fn invented(net: &Testnet, before: TxId, bytes: usize) -> SignedTransaction {
    let code = deed_code(1);
    let builder = TransactionBuilder::new(net.nodes[0].party.clone())
        .attachment(code)
        .consume(StateRef::new(before, 0))
        .output_data(deed_name(), Constraint::Descriptor(code), vec![0; bytes])
        .command(deed_name(), vec![], vec![key(2).public().clone()]);
    SignedTransaction::new(net.built(builder), [])
}

#[test]
fn invented_chains_take_no_more_than_the_share_of_their_peer() {
    const BUDGET: usize = 4 << 20;
    const ANCESTOR_BYTES: usize = 100_000;
    let options = KernelOptions {
        staged_chains_bytes_max: BUDGET as u64,
        ..KernelOptions::default()
    };
    let mut net = Testnet::with(3, false, options);
    for node in [2, 3] {
        net.script(node);
    }
    net.heard(2);
    // Eight chains of six ancestors, more than twice the share of a peer. The oldest ancestors name some that never come.
    let mut ancestors = BTreeMap::new();
    for _ in 0..8 {
        let mut before = TxId::from_array([7; 32]);
        for position in 1..=6 {
            let next = invented(&net, before, ANCESTOR_BYTES);
            before = next.id();
            ancestors.insert(before, (position, next.to_bytes()));
        }
        let root = net.issued_referring(2, 1, 5, StateRef::new(before, 0));
        net.deliver(2, 1, &[&root]);
    }
    net.settle();
    let (mut staged_max, mut ended) = (0, 0);
    for round in 1..=7 {
        for message in net.heard(2) {
            let PeerMessage::Request { id, body, .. } = &message else {
                let notice = waits(&message).expect("a notice");
                assert_eq!(notice.rejection.code, "tx.back_chain_too_long");
                ended += 1;
                continue;
            };
            let request = FetchRequest::from_bytes(body).expect("a fetch");
            let found = request.wanted.iter().find_map(|id| ancestors.get(id));
            let Some(found) = found else {
                continue;
            };
            let response = FetchResponse {
                transactions: vec![found.clone()],
                unknown: Vec::new(),
            };
            let answer = Answer::Done(response.to_bytes());
            net.say(2, 1, &PeerMessage::Response { id: *id, answer });
        }
        net.settle();
        let staged = net.nodes[1].disk.bytes(Table::Staging);
        // The last answer may exceed the half.
        let most = BUDGET / 2 + ANCESTOR_BYTES;
        assert!(staged <= most, "round {round}: {staged} bytes");
        staged_max = staged_max.max(staged);
    }
    assert!(staged_max > BUDGET / 4, "{staged_max} bytes");
    assert!(ended > 0, "some chains have ended");
    let coin = net.issued(3, 3, 10);
    let passed = net.paid(&coin, 3, 3);
    let payment = net.paid(&passed, 3, 1);
    net.heard(3);
    net.deliver(3, 1, &[&payment]);
    net.settle();
    net.answer_fetch(3, 1, part(&[&passed, &coin]));
    let delivered = PeerMessage::Delivered {
        ids: vec![payment.id()],
    };
    assert_eq!(net.heard(3), [delivered]);
    assert!(net.nodes[1].disk.count(Table::Staging) > 0);
    net.down(1);
    net.up(1);
    net.settle();
    assert_eq!(net.nodes[1].disk.count(Table::Staging), 0, "wiped");
}

#[test]
fn a_chain_gives_its_bytes_back_when_it_ends() {
    let options = KernelOptions {
        staged_chains_bytes_max: 1 << 20,
        ..KernelOptions::default()
    };
    let mut net = Testnet::with(2, false, options);
    net.script(2);
    net.heard(2);
    let missing = TxId::from_array([7; 32]);
    for round in 0..3 {
        // More than a third of the budget. A second chain would have no room.
        let ancestor = invented(&net, missing, 400_000);
        let root = net.issued_referring(2, 1, 5, StateRef::new(ancestor.id(), 0));
        net.deliver(2, 1, &[&root]);
        net.settle();
        net.answer_fetch(2, 1, part(&[&ancestor]));
        assert_eq!(net.nodes[1].disk.count(Table::Staging), 1, "round {round}");
        net.answer_fetch(2, 1, unknown(missing));
        let heard = net.heard(2);
        let notice = heard.iter().find_map(waits).expect("a notice");
        assert_eq!(
            notice.rejection.code, "tx.dependency_unavailable",
            "round {round}"
        );
        assert_eq!(net.nodes[1].disk.count(Table::Staging), 0, "round {round}");
    }
}
