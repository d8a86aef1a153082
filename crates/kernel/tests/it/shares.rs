//! One peer at its worst, scripted by the test, against a node and a notary. Its load is bounded and refused with codes, and has no
//! effect on the work of the others. Node 0 is the notary, nodes 1 and 2 are honest, node 3 is scripted.

use finance::IssuedToken;
use finance::obligation::{ObligationCommand, ObligationState, builder as debts};
use flow::messaging::{RequestId, UNACKED_ANSWER_BYTES_MAX};
use flow::{FlowId, FlowLimits, SessionBody, SessionId, SessionMessage};
use kernel::message::{Answer, PeerMessage, ServiceId};
use kernel::port::Table;
use kernel::{
    CUT_MS_MIN, CUT_POINTS, Event, FlowFilter, KernelOptions, Order, PeerFigures, Reply,
    SLOW_POINTS, Token,
};
use ledger::{
    Constraint, FilteredTransaction, NotaryRequest, NotaryResponse, NotarySubject,
    SignedTransaction, StateRef, TransactionBuilder, TransactionSignature, TxId,
};
use notary::NotaryOptions;
use primitives::{Decode, Encode, Hash, KeyPair, Scheme, SignatureContext, Timestamp};

use crate::pay::{issue, pay};
use crate::testnet::{Testnet, badly_signed, deed_code, deed_name, key, part};

const ATTACKER: usize = 3;

fn net(options: KernelOptions) -> Testnet {
    let mut net = Testnet::with(3, false, options);
    net.script(ATTACKER);
    net.heard(ATTACKER);
    net
}

fn figures(net: &Testnet, node: usize) -> PeerFigures {
    let kernel = net.nodes[node].kernel.as_ref().expect("up");
    let all = kernel.peer_figures();
    all.get(&net.nodes[ATTACKER].id)
        .copied()
        .unwrap_or_default()
}

/// Lets enough time pass for a slowed attacker's messages to be handled.
fn hear_slowly(net: &mut Testnet) {
    for _ in 0..100 {
        net.now += 20;
        net.settle();
    }
}

/// Pays from node 1 to node 2, and half of it back.
fn honest_work(net: &mut Testnet) {
    let issued = net.start(1, "cash.issue", &issue(10), None);
    net.settle();
    let paid = net.start(1, "cash.pay", &pay(4, 2), None);
    net.settle();
    let back = net.start(2, "cash.pay", &pay(2, 1), None);
    net.settle();
    for token in [issued, paid, back] {
        assert_eq!(net.ended(token), Ok(true), "{:#?}", net.logs);
    }
}

/// Returns message `seq` of the attacker's stream, on its session `number`.
fn on_session(seq: u64, number: u64, body: SessionBody) -> PeerMessage {
    let mut initiator = [9; 16];
    initiator[..8].copy_from_slice(&number.to_be_bytes());
    let message = SessionMessage {
        session: SessionId {
            initiator: FlowId(initiator),
            number: 1,
        },
        to_initiator: false,
        body,
    };
    PeerMessage::Session {
        seq,
        body: message.to_bytes(),
    }
}

fn opens(flow: &str) -> SessionBody {
    SessionBody::Init {
        flow: flow.to_owned(),
        versions: vec![1],
        first: None,
    }
}

/// Returns the codes of the refused sessions of the attacker.
fn refusals(net: &mut Testnet) -> Vec<String> {
    let heard = net.heard(ATTACKER);
    let codes = heard.into_iter().filter_map(|message| {
        let PeerMessage::Session { body, .. } = message else {
            return None;
        };
        match SessionMessage::from_bytes(&body)
            .expect("nodes make sense")
            .body
        {
            SessionBody::End { error, .. } => error.map(|error| error.code),
            _ => None,
        }
    });
    codes.collect()
}

#[test]
fn sessions_without_end_take_a_share_and_the_rest_is_refused() {
    let mut net = net(KernelOptions {
        flow: FlowLimits {
            responders_max: 200,
            ..FlowLimits::default()
        },
        ..KernelOptions::default()
    });
    for seq in 1..=3_500 {
        net.say(ATTACKER, 1, &on_session(seq, seq, opens("test.double")));
        if seq % 100 == 0 {
            net.settle();
        }
    }
    assert!(figures(&net, 1).work.slowed);
    hear_slowly(&mut net);
    let refused = refusals(&mut net);
    assert!(refused.iter().all(|code| code == "flow.share_exceeded"));
    let usage = figures(&net, 1).flows;
    assert_eq!((usage.responders, usage.refused), (100, 3_400));
    // Another peer opens sessions with the same node, and flows that need none go on too.
    let tokens: Vec<u64> = (0..40)
        .map(|_| net.start(2, "test.double", "1", None))
        .collect();
    honest_work(&mut net);
    for token in tokens {
        assert_eq!(net.ended(token), Ok(true));
    }
}

/// Returns a debt of the attacker to node 1, in a transaction of about 4 MB.
fn large_debt(net: &Testnet) -> SignedTransaction {
    let attacker = net.nodes[ATTACKER].party.clone();
    let state = ObligationState {
        id: Hash::plain(b"a debt"),
        obligor: attacker.clone(),
        tokens: vec![IssuedToken {
            issuer: attacker.clone(),
            reference: finance::Reference::default(),
            currency: "GBP".parse().expect("a currency"),
        }],
        due: Timestamp::from_ms(1),
        quantity: 1,
        defaulted: false,
        obligee: key(1).public().clone(),
    };
    let signers = vec![attacker.key];
    let code = deed_code(1);
    let builder = TransactionBuilder::new(net.nodes[0].party.clone());
    let command = ObligationCommand::Issue(vec![state.id]);
    let builder = debts::command(debts::make(builder, &state), &command, signers.clone());
    // A deed, whose commands may have any content.
    let deed = vec![1, ATTACKER as u8, 1];
    let mut builder =
        builder
            .attachment(code)
            .output_data(deed_name(), Constraint::Descriptor(code), deed);
    for _ in 0..4 {
        builder = builder.command(deed_name(), vec![7; 1_000_000], signers.clone());
    }
    SignedTransaction::new(net.built(builder), []).signed_by(&key(ATTACKER))
}

/// Asks node 1 for a debt on a new session of the attacker, and ends the session. Returns the number of the attacker's last message.
fn ask_for_debt(net: &mut Testnet, seq: u64, debt: &SignedTransaction) -> u64 {
    let wanted = vec![StateRef::new(debt.id(), 0)].to_bytes();
    let opening = SessionBody::Init {
        flow: "obligation.net".to_owned(),
        versions: vec![1],
        first: Some(wanted),
    };
    let end = SessionBody::End {
        index: 1,
        error: None,
    };
    let number = 1_000 + seq;
    for (seq, body) in [(seq + 1, opening), (seq + 2, end)] {
        net.say(ATTACKER, 1, &on_session(seq, number, body));
        net.settle();
    }
    seq + 2
}

#[test]
fn a_peer_that_acknowledges_nothing_does_not_fill_the_disk() {
    let mut net = net(KernelOptions {
        // The wait for peers after a start has tests of its own.
        meet_peers_ms: 0,
        ..KernelOptions::default()
    });
    let debt = large_debt(&net);
    let answer_bytes = debt.to_bytes().len();
    net.deliver(ATTACKER, 1, &[&debt]);
    net.settle();
    assert_eq!(net.nodes[1].disk.count(Table::Ledger), 1, "{:#?}", net.logs);
    // A session without an answer so far.
    net.say(ATTACKER, 1, &on_session(1, 1, opens("test.double")));
    net.settle();
    let max = usize::try_from(UNACKED_ANSWER_BYTES_MAX).expect("64 bits");
    let outbox = |net: &Testnet| net.nodes[1].disk.bytes(Table::Outbox);
    let mut seq = 1;
    for _ in 0..=max / answer_bytes {
        assert!(outbox(&net) < max);
        seq = ask_for_debt(&mut net, seq, &debt);
    }
    let full = outbox(&net);
    let bounds = max..max + 2 * answer_bytes;
    assert!(bounds.contains(&full), "{full} bytes");
    assert_eq!(figures(&net, 1).flows.responders, 1);
    // Refusals are small. The node restarts between them.
    for _ in 0..2 {
        for _ in 0..10 {
            seq = ask_for_debt(&mut net, seq, &debt);
        }
        let more = outbox(&net) - full;
        assert!((1_000..100_000).contains(&more), "{more} bytes");
        honest_work(&mut net);
        net.down(1);
        net.up(1);
        net.link(1, ATTACKER);
        net.settle();
    }
    assert_eq!(figures(&net, 1).flows.responders, 1);
    // A message on the open session ends it.
    let body = SessionBody::Data {
        index: 0,
        payload: 5_u64.to_bytes(),
        last: false,
    };
    seq += 1;
    net.say(ATTACKER, 1, &on_session(seq, 1, body));
    net.settle();
    assert_eq!(figures(&net, 1).flows.responders, 0);
    // After an acknowledgement, sessions are answered again.
    net.heard(ATTACKER);
    let upto = net.nodes[1].disk.count(Table::Outbox) as u64;
    net.say(ATTACKER, 1, &PeerMessage::SessionAck { upto });
    net.settle();
    assert!(outbox(&net) < answer_bytes);
    ask_for_debt(&mut net, seq, &debt);
    let heard = net.heard(ATTACKER);
    let answers = heard.iter().filter(|message| match message {
        PeerMessage::Session { body, .. } => body.len() > answer_bytes,
        _ => false,
    });
    assert_eq!(answers.count(), 1);
}

#[test]
fn journals_of_a_peer_stay_bounded_and_so_does_the_next_start() {
    let mut net = net(KernelOptions {
        flow: FlowLimits {
            peers_journal_bytes_max: 1 << 20,
            ..FlowLimits::default()
        },
        // The wait for peers after a start has tests of its own.
        meet_peers_ms: 0,
        ..KernelOptions::default()
    });
    for number in 0..200 {
        let opening = on_session(2 * number + 1, number, opens("test.double"));
        net.say(ATTACKER, 1, &opening);
        // Before its turn: it is kept, and journaled, until the message before it comes.
        let body = SessionBody::Data {
            index: 1,
            payload: vec![7; 20_000],
            last: false,
        };
        net.say(ATTACKER, 1, &on_session(2 * number + 2, number, body));
    }
    hear_slowly(&mut net);
    let before = figures(&net, 1).flows;
    let journal = net.nodes[1].disk.bytes(Table::Journal);
    assert!((400_000..=1 << 20).contains(&journal), "{journal} bytes");
    assert!(before.refused > 100, "{before:?}");
    net.down(1);
    net.up(1);
    net.settle();
    let after = figures(&net, 1).flows;
    assert_eq!(after.responders, before.responders);
    honest_work(&mut net);
}

#[test]
fn garbage_slows_a_peer_down_and_then_cuts_it_off_visibly() {
    let mut net = net(KernelOptions::default());
    for _ in 0..SLOW_POINTS {
        net.say_bytes(ATTACKER, 1, vec![0xff]);
    }
    net.settle();
    assert!(figures(&net, 1).work.slowed && net.cut_off.is_empty());
    for _ in 0..CUT_POINTS {
        net.say_bytes(ATTACKER, 1, vec![0xff]);
    }
    hear_slowly(&mut net);
    let attacker = net.nodes[ATTACKER].id;
    assert_eq!(net.cut_off, [(1, attacker, CUT_MS_MIN)]);
    let line = net.logs.iter().find(|line| line.contains("cut off"));
    assert!(line.is_some(), "{:#?}", net.logs);
    // Further messages are dropped until the time is over.
    let bad = net.figures(1).messages_bad;
    net.say_bytes(ATTACKER, 1, vec![0xff]);
    net.settle();
    assert_eq!(net.figures(1).messages_bad, bad);
    honest_work(&mut net);
    net.now += CUT_MS_MIN;
    net.say_bytes(ATTACKER, 1, vec![0xff]);
    net.settle();
    assert_eq!(net.figures(1).messages_bad, bad + 1);
    assert_eq!(
        (figures(&net, 1).work.cuts, figures(&net, 0).work.cuts),
        (1, 0)
    );
}

#[test]
fn contracts_run_for_a_peer_count_as_its_work() {
    for (states, all_at_once) in [(1, true), (1_000, false)] {
        let mut net = net(KernelOptions::default());
        let issues: Vec<_> = (0..80)
            .map(|_| net.issued_in_states(ATTACKER, 1, states))
            .collect();
        let before = net.nodes[1].disk.count(Table::Ledger);
        net.deliver(ATTACKER, 1, &issues.iter().collect::<Vec<_>>());
        net.settle();
        let recorded = net.nodes[1].disk.count(Table::Ledger) - before;
        // Transactions beyond the round's share would have to be delivered again.
        assert_eq!(recorded == 80, all_at_once, "{states} states: {recorded}");
        let work = figures(&net, 1).work.work;
        let least = (recorded * states / 8) as u64;
        assert!(work > least, "{states} states: {work} for {recorded}");
        honest_work(&mut net);
    }
}

#[test]
fn bad_signatures_count_more_than_bad_messages() {
    let mut net = net(KernelOptions::default());
    for _ in 0..400 {
        let issued = net.issued(ATTACKER, 1, 5);
        let bad = badly_signed(&issued, ATTACKER);
        net.deliver(ATTACKER, 1, &[&bad]);
        if net.cut_off.is_empty() {
            // Slow enough for a peer that is slowed down.
            net.now += 2;
            net.settle();
        }
    }
    net.settle();
    assert_eq!(net.cut_off.len(), 1, "{:#?}", net.logs.last());
    let garbage = figures(&net, 1).work.garbage;
    assert!(
        (CUT_POINTS / 5..CUT_POINTS / 4).contains(&garbage),
        "{garbage}"
    );
    honest_work(&mut net);
}

/// Returns the number of batches of signatures that a node has checked with more than about a thousand of them.
fn large_batches(net: &Testnet, node: usize) -> u64 {
    let figures = net.figures(node);
    figures.signature_batch_checks.buckets()[11..].iter().sum()
}

#[test]
fn the_signatures_of_one_transaction_are_spread_over_rounds() {
    // Two thousand signatures by P-256 keys take longer than a round may. (in a back chain, valid)
    for (is_ancestor, is_valid) in [(false, true), (false, false), (true, true), (true, false)] {
        let line = format!("in a back chain: {is_ancestor}, valid: {is_valid}");
        let mut net = net(KernelOptions::default());
        let mut heavy = net.deed_signed_by_many((ATTACKER, 1), 2_000, None);
        if !is_valid {
            let last = KeyPair::from_seed(
                Scheme::EcdsaP256,
                *Hash::plain(&1_999u32.to_be_bytes()).as_bytes(),
            );
            heavy = heavy.with(TransactionSignature::sign(
                &TxId::from_array([9; 32]),
                &last,
            ));
        }
        if is_ancestor {
            let light = net.deed_signed_by_many((ATTACKER, 1), 0, Some(&heavy));
            net.deliver(ATTACKER, 1, &[&light]);
            net.settle();
            net.answer_fetch(ATTACKER, 1, part(&[&heavy]));
        } else {
            net.deliver(ATTACKER, 1, &[&heavy]);
            net.settle();
        }
        let recorded = net.nodes[1].disk.count(Table::Ledger);
        let expected = [(true, true, 2), (false, true, 1)]
            .iter()
            .find(|(ancestor, valid, _)| (*ancestor, *valid) == (is_ancestor, is_valid))
            .map_or(0, |(.., count)| *count);
        assert_eq!(recorded, expected, "{line}: {:#?}", net.logs);
        assert_eq!(large_batches(&net, 1), 0, "{line}");
        let put_off = net.figures(1).signatures_put_off;
        assert!(put_off >= 1_900, "{line}: {put_off}");
        let work = figures(&net, 1).work;
        assert!(work.work >= 2_000 * 16, "{line}: {work:?}");
        assert_eq!(work.garbage, u64::from(!is_valid), "{line}");
        honest_work(&mut net);
    }
}

#[test]
fn while_checks_for_a_peer_are_put_off_others_go_on() {
    let mut net = net(KernelOptions::default());
    let heavy = net.deed_signed_by_many((ATTACKER, 1), 1_000, None);
    let next = net.issued(ATTACKER, 1, 5);
    net.delayed_answers = Some(Vec::new());
    for transaction in [&heavy, &next] {
        net.deliver(ATTACKER, 1, &[transaction]);
    }
    // It ends only if no round is due before the answer.
    net.settle();
    let mut batches = 0;
    while let Some(delayed) = net.delayed_answers.take().filter(|it| !it.is_empty()) {
        assert_eq!(delayed.len(), 1, "one batch is out");
        batches += 1;
        honest_work(&mut net);
        let recorded = net.nodes[1].disk.count(Table::Ledger);
        assert_eq!(recorded, 3 * batches, "only honest work");
        net.delayed_answers = Some(Vec::new());
        for (node, event) in delayed {
            net.tell(node, event);
        }
        net.settle();
    }
    assert_eq!(batches, 4);
    assert_eq!(net.nodes[1].disk.count(Table::Ledger), 3 * batches + 2);
    assert_eq!(net.figures(1).signatures_put_off, 1_001 - 62);
    assert_eq!(figures(&net, 1).work.dropped, 0);
}

#[test]
fn dependencies_that_come_along_are_not_checked_beyond_the_share() {
    let mut net = net(KernelOptions::default());
    let heavy = net.deed_signed_by_many((ATTACKER, 1), 2_000, None);
    let light = net.deed_signed_by_many((ATTACKER, 1), 0, Some(&heavy));
    let message = PeerMessage::Deliver {
        transactions: vec![light.to_bytes()],
        dependencies: vec![heavy.to_bytes()],
    };
    net.say(ATTACKER, 1, &message);
    net.settle();
    assert_eq!(net.nodes[1].disk.count(Table::Ledger), 2);
    assert_eq!(large_batches(&net, 1), 0);
    honest_work(&mut net);
}

/// Requests the attacker's notarisation of a transaction that consumes an invented state. The tear-off shows the notary nothing but
/// references.
fn ask_for_invented(net: &mut Testnet, number: u32) {
    let invented = net.issued(ATTACKER, ATTACKER, 5);
    let wire = net.payment(&invented, ATTACKER, ATTACKER, 0);
    let (notary, me) = (net.nodes[0].id, key(ATTACKER));
    let signature = me.sign(
        SignatureContext::NotaryRequest,
        &NotaryRequest::message(&wire.id(), &notary),
    );
    let request = NotaryRequest {
        subject: NotarySubject::TearOff(Box::new(FilteredTransaction::for_notary(&wire))),
        requester: net.nodes[ATTACKER].id,
        key: me.public().clone(),
        signature,
    };
    let message = PeerMessage::Request {
        id: RequestId {
            flow: FlowId([3; 16]),
            effect: number,
        },
        service: ServiceId::Notarise as u8,
        body: request.to_bytes(),
    };
    net.say(ATTACKER, 0, &message);
}

#[test]
fn invented_states_at_the_notary_are_bounded_and_others_are_served() {
    let mut net = net(KernelOptions::default());
    net.notary = NotaryOptions {
        requester_states_per_s: 10,
        requester_burst_s: 10,
        ..NotaryOptions::default()
    };
    net.down(0);
    net.up(0);
    net.settle();
    net.heard(ATTACKER);
    for number in 0..500 {
        ask_for_invented(&mut net, number);
        if number % 125 == 0 {
            net.settle();
            honest_work(&mut net);
        }
    }
    net.settle();
    let (mut signed, mut told_to_wait) = (0, 0);
    for message in net.heard(ATTACKER) {
        match message {
            PeerMessage::Response {
                answer: Answer::Wait(ms),
                ..
            } => {
                assert!(ms > 0);
                told_to_wait += 1;
            }
            PeerMessage::Response {
                answer: Answer::Done(body),
                ..
            } => {
                let response = NotaryResponse::from_bytes(&body).expect("an answer");
                let NotaryResponse::Signed(_) = response else {
                    panic!("{response:?}");
                };
                signed += 1;
            }
            _ => {}
        }
    }
    assert_eq!(signed + told_to_wait, 500);
    // The burst of a hundred requests, and those taken in the round in which the burst ended.
    assert!((100..=225).contains(&signed), "{signed}");
    let notary = figures(&net, 0).notary.expect("it asked");
    assert_eq!((notary.signed, notary.busy), (signed, told_to_wait));
}

/// Gives an operator's order for all flows of node 1. Returns the number of flows that it was carried out for.
fn order_all(net: &mut Testnet, order: Order) -> u64 {
    let token = net.token();
    let event = Event::Order {
        order,
        filter: Box::new(FlowFilter::default()),
        after: None,
        dry_run: false,
        token: Token(token),
    };
    net.tell(1, event);
    net.settle();
    match net.replies.remove(&token) {
        Some(Reply::Ordered(ordered)) => ordered.done,
        other => panic!("{other:?}"),
    }
}

#[test]
fn flows_found_at_a_start_wait_for_the_operator_who_may_kill_them_first() {
    for order in [Order::Resume, Order::Kill] {
        let mut net = net(KernelOptions::default());
        for id in ["a", "b", "c"] {
            net.start(1, "test.nap", "1000", Some(id));
        }
        net.settle();
        net.options.hold_flows = true;
        net.down(1);
        net.up(1);
        net.now += 10_000;
        net.quiet();
        let figures = net.figures(1);
        assert_eq!((figures.flows_shelved, figures.flows_live), (3, 3));
        assert_eq!(order_all(&mut net, order), 3);
        net.quiet();
        assert_eq!(net.figures(1).flows_live, 0);
        assert_eq!(net.nodes[1].disk.count(Table::Journal), 0);
        let again = net.start(1, "test.nap", "1000", Some("a"));
        net.settle();
        let expected = match order {
            Order::Kill => Err("flow.killed".to_owned()),
            _ => Ok(true),
        };
        assert_eq!(net.ended(again), expected);
    }
}

#[test]
fn more_journals_than_the_budget_come_back_as_flows_end() {
    let mut net = net(KernelOptions {
        journals_bytes_max: 1,
        meet_peers_ms: 0,
        ..KernelOptions::default()
    });
    let naps = ["10", "20", "30", "40"];
    for ms in naps {
        net.start(1, "test.nap", ms, Some(ms));
    }
    net.settle();
    net.down(1);
    net.up(1);
    net.settle();
    assert_eq!(net.figures(1).flows_shelved, 3, "one exceeds the budget");
    honest_work(&mut net);
    net.quiet();
    assert_eq!(net.figures(1).flows_live, 0);
    for ms in naps {
        let again = net.start(1, "test.nap", ms, Some(ms));
        net.settle();
        assert_eq!(net.ended(again), Ok(true));
    }
}
