//! Bundlers of several nodes. Every node knows their rates, and they do not duplicate each other's work.

use chain::block::root_of;
use chain::bundle::{BundlerRate, SignedRates};
use chain::core::{Event, Notice, Settings, limits};
use chain::message::{GOSSIP_RATES_MAX, Gossip};
use chain::{AccountId, BlockTimestamp, Body, ChainId, MinorUnits, Transaction, TxId};
use primitives::KeyPair;

use crate::core::kit::{EACH, SmallNetwork, account, bundler, key, peer, public};

fn bundles_for(n: usize, rate_min: u64) -> Settings {
    let mut bundler = bundler(n, 2);
    bundler.rules.rate_min = BundlerRate::new(rate_min);
    Settings {
        forgers: vec![key(n)],
        bundlers: vec![bundler],
        ..Settings::default()
    }
}

fn rates_of(key: &KeyPair, room: &SmallNetwork, time: u32) -> SignedRates {
    let rules = bundler(0, 2).rules;
    SignedRates::new(key, &rules, BlockTimestamp::new(time), &room.genesis.hash).unwrap()
}

#[test]
fn everybody_knows_what_bundlers_ask_for_the_cheapest_first() {
    let settings = [30, 10, 20].into_iter().enumerate();
    let mut nodes: Vec<Settings> = settings.map(|(n, rate)| bundles_for(n, rate)).collect();
    nodes.push(Settings::default());
    let mut room = SmallNetwork::new(nodes);
    room.run_to(10_000);
    for (n, node) in room.nodes.iter().enumerate() {
        let rates: Vec<u64> = node
            .core
            .rates(ChainId(2))
            .iter()
            .map(|known| known.rate.get())
            .collect();
        assert_eq!(rates, [10, 20, 30], "node {n}");
        assert!(node.core.rates(ChainId(3)).is_empty());
        assert_eq!(node.penalties, []);
    }
    // A bundler that stops is forgotten after a while.
    room.regroup(vec![0, 1, 2, 3]);
    room.run_to(900_000);
    assert!(room.nodes[3].core.rates(ChainId(2)).is_empty());
    assert_eq!(room.nodes[0].core.rates(ChainId(2)).len(), 1);
}

#[test]
fn rates_that_nobody_signed_count_against_who_brings_them() {
    let mut room = SmallNetwork::new(vec![Settings::default(), Settings::default()]);
    room.run_to(100_000);
    let good = rates_of(&key(1), &room, 100);
    let mut forged = rates_of(&key(2), &room, 100);
    forged.rate = BundlerRate::new(forged.rate.get() + 1);
    let poor = KeyPair::from_seed(primitives::Scheme::Ed25519, [77; 32]);
    let cases = [
        (good.clone(), 1, 0),
        (good, 1, 0),
        (rates_of(&key(2), &room, 900), 1, 0),
        (rates_of(&poor, &room, 100), 1, 0),
        (forged, 1, 1),
    ];
    for (message, (rates, known, penalties)) in (1..).zip(cases) {
        let event = Event::Gossip {
            peer: peer(1),
            message,
            bytes: Gossip::Rates(vec![rates]).to_bytes(),
        };
        room.tell(0, event);
        room.settle();
        let node = &room.nodes[0];
        assert_eq!(node.core.rates(ChainId(2)).len(), known, "{message}");
        assert_eq!(node.penalties.len(), penalties, "{message}");
    }
}

#[test]
fn rates_without_means_cost_no_signature_check_and_are_counted() {
    let mut room = SmallNetwork::new(vec![Settings::default(), Settings::default()]);
    room.run_to(100_000);
    let unsigned = |n: u8| {
        let poor = KeyPair::from_seed(primitives::Scheme::Ed25519, [100 + n; 32]);
        let mut rates = rates_of(&poor, &room, 100);
        // A check of the signature would find it.
        rates.signature = [0; 64];
        rates
    };
    let mut rates: Vec<SignedRates> = (0..GOSSIP_RATES_MAX as u8).map(unsigned).collect();
    let messages = limits::REFUSED_TRANSACTIONS_MAX as usize / GOSSIP_RATES_MAX + 1;
    for message in 1..=messages as u64 {
        // Another order is another message.
        rates.rotate_left(1);
        let event = Event::Gossip {
            peer: peer(1),
            message,
            bytes: Gossip::Rates(rates.clone()).to_bytes(),
        };
        room.tell(0, event);
    }
    room.settle();
    let node = &room.nodes[0];
    assert!(node.core.rates(ChainId(2)).is_empty());
    let useless = limits::points::REFUSED_TRANSACTIONS;
    assert_eq!(node.penalties, [(peer(1), useless, "chain_peer.useless")]);
}

#[test]
fn a_child_block_without_means_costs_no_signature_check() {
    let mut room = SmallNetwork::new(vec![Settings::default(), Settings::default()]);
    room.run_to(100_000);
    let ids = vec![TxId([7; 32])];
    let poor = KeyPair::from_seed(primitives::Scheme::Ed25519, [77; 32]);
    // A check would find that nothing is signed.
    for (sender, penalties) in [(rates_of(&poor, &room, 100).bundler, 0), (public(3), 1)] {
        let mut transaction = room.payment(3, 4, 1, 1);
        transaction.sender = sender;
        transaction.body = Body::ChildBlock {
            child: ChainId(2),
            count: 1,
            root: root_of(&ids),
        };
        transaction.signature = [0; 64];
        let ids = ids.clone();
        let event = Event::Gossip {
            peer: peer(1),
            message: 1,
            bytes: Gossip::ChildBlock { transaction, ids }.to_bytes(),
        };
        room.tell(0, event);
        room.settle();
        assert_eq!(room.nodes[0].penalties.len(), penalties);
    }
}

#[test]
fn a_child_block_that_gossip_lost_reaches_the_forger() {
    let mut bundler = bundles_for(0, 0);
    bundler.forgers.clear();
    let forger = Settings {
        forgers: vec![key(1)],
        ..Settings::default()
    };
    let mut room = SmallNetwork::new(vec![bundler, forger]);
    room.run_to(20_000);
    room.regroup(vec![0, 1]);
    let payment = room.payment(4, 5, 2, 7);
    room.submit(0, vec![payment]);
    room.run_to(40_000);
    assert_eq!(room.nodes[0].core.figures().pool.child_blocks, 1);
    room.regroup(vec![0, 0]);
    room.run_to(80_000);
    assert_eq!(room.nodes[0].core.figures().bundled, 1, "no second one");
    assert_eq!(room.balance(1, 5, 2), EACH + 7);
}

#[test]
fn bundlers_take_turns() {
    let mut room = SmallNetwork::new((0..4).map(|n| bundles_for(n, 0)).collect());
    for second in 10..150 {
        room.run_to(second * 1_000);
        let payment = room.payment(4, 5, 2, second);
        room.submit((second % 4) as usize, vec![payment]);
    }
    room.run_to(200_000);
    assert!(room.same_tip());
    let made: u64 = room
        .nodes
        .iter()
        .map(|node| node.core.figures().bundled)
        .sum();
    let carrying = room.nodes[0]
        .notices
        .iter()
        .filter(|notice| matches!(notice, Notice::Added { header, .. } if header.child_count > 0));
    let (made, carrying) = (made as usize, carrying.count());
    assert!(carrying > 10, "{carrying}");
    assert!(
        made * 2 <= carrying * 3,
        "{made} child blocks for {carrying} blocks"
    );
    assert_eq!(room.nodes[0].core.figures().pool.transactions, 0);
}

/// Returns a payment on chain 2 with a fee.
fn paying(room: &SmallNetwork, from: usize, to: usize, amount: u64, fee: u64) -> Transaction {
    let mut payment = room.payment(from, to, 2, amount);
    payment.fee = MinorUnits::new(fee);
    payment.sign(&room.genesis.hash, &key(from));
    payment
}

/// At this rate a transaction costs 100 minor units.
const HUNDRED: u64 = 100_000;
/// An account without stake.
const POOR: usize = 50;

fn usable(room: &SmallNetwork, n: usize) -> Vec<(AccountId, u64, bool)> {
    let usable = room.nodes[n].core.usable_rates(ChainId(2)).unwrap();
    let usable = usable.into_iter();
    usable
        .map(|one| (one.bundler, one.rate.get(), one.proven))
        .collect()
}

#[test]
fn rate_without_stake_counts_once_it_was_bundled_at() {
    let mut room = SmallNetwork::new(vec![
        Settings {
            forgers: vec![key(0)],
            ..Settings::default()
        },
        Settings::default(),
    ]);
    room.run_to(1_000);
    // Five tokens. Forging needs ten.
    let gift = room.payment(1, POOR, 1, 50_000);
    room.submit(0, vec![gift]);
    room.run_to(60_000);
    let mut poor = bundler(POOR, 2);
    poor.rules.rate_min = BundlerRate::new(HUNDRED);
    room.tell(0, Event::StartBundling(poor));
    room.run_to(70_000);
    for n in 0..2 {
        assert_eq!(room.nodes[n].core.rates(ChainId(2)).len(), 1, "{n}");
        assert_eq!(usable(&room, n), [], "{n}");
    }
    // Transactions that it carries for itself, or for more than its rate, prove nothing.
    let own = paying(&room, 3, POOR, 1_000, 150);
    room.submit(0, vec![own]);
    room.run_to(110_000);
    let own = paying(&room, POOR, 4, 1, 100);
    room.submit(0, vec![own]);
    room.run_to(150_000);
    assert_eq!(room.balance(1, 4, 2), EACH + 1, "it was carried");
    assert_eq!(usable(&room, 1), []);
    let other = paying(&room, 3, 4, 1, 100);
    room.submit(0, vec![other]);
    room.run_to(200_000);
    for n in 0..2 {
        assert_eq!(usable(&room, n), [(account(POOR), HUNDRED, true)], "{n}");
    }
    // A cheaper rate is not proven by this. The rate of an account with stake counts at once and is sorted by its price.
    let (staked, now) = (bundler(2, 2), BlockTimestamp::new(200));
    let signed = SignedRates::new(&staked.key, &staked.rules, now, &room.genesis.hash).unwrap();
    let bytes = Gossip::Rates(vec![signed]).to_bytes();
    let event = Event::Gossip {
        peer: peer(1),
        message: 9_999,
        bytes,
    };
    room.tell(0, event);
    room.settle();
    let both = [(account(2), 0, false), (account(POOR), HUNDRED, true)];
    assert_eq!(usable(&room, 0), both);
    // After 60 blocks without a child block the proof expires.
    let height = room.tip(1).0;
    while room.tip(1).0 < height + 61 {
        room.run_to(room.now_ms + 4_000);
    }
    assert_eq!(usable(&room, 1), []);
}

#[test]
fn payments_that_no_bundler_would_carry_are_refused() {
    let mut public = bundles_for(0, HUNDRED);
    public.forgers = vec![key(0)];
    let mut filtered = bundles_for(1, 0);
    filtered.forgers.clear();
    filtered.bundlers[0].rules.senders = vec![account(4)];
    let mut room = SmallNetwork::new(vec![public, filtered]);
    room.run_to(10_000);
    for n in 0..2 {
        assert_eq!(usable(&room, n), [(account(0), HUNDRED, false)], "{n}");
    }
    // Node, sender, fee, and the code.
    let cases = [
        (0, 3, 100, ""),
        (0, 3, 99, "chain_pool.unpaid"),
        (0, 4, 0, "chain_pool.unpaid"),
        (1, 3, 0, "chain_pool.unpaid"),
        (1, 4, 0, ""),
    ];
    for (amount, (n, from, fee, code)) in (1..).zip(cases) {
        let payment = paying(&room, from, 5, amount, fee);
        room.submit(n, vec![payment]);
        room.settle();
        let outcome = room.nodes[n].outcomes.pop().unwrap();
        let refused = outcome.map_or_else(|rejection| rejection.code, |_| "");
        assert_eq!(refused, code, "{n} {from} {fee}");
    }
    // The customer's payment travels with the child block that pays for it.
    room.run_to(100_000);
    assert_eq!(room.balance(0, 5, 2), EACH + 1 + 5);
    assert!(room.same_tip());
    for n in 0..2 {
        assert_eq!(room.nodes[n].penalties, [], "{n}");
    }
}

#[test]
fn payment_without_fee_is_refused_where_no_bundler_is_known() {
    let mut room = SmallNetwork::new(vec![Settings::default()]);
    room.run_to(1_000);
    for (fee, code) in [(0, "chain_pool.unpaid"), (1, "")] {
        let payment = paying(&room, 3, 5, 1, fee);
        room.submit(0, vec![payment]);
        room.settle();
        let outcome = room.nodes[0].outcomes.pop().unwrap();
        assert_eq!(outcome.map_or_else(|no| no.code, |_| ""), code, "{fee}");
    }
}
