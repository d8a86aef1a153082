//! Bundlers of many nodes: what they ask for is known to all, and they do not do each other's work.

use chain::ChainId;
use chain::bundle::SignedRates;
use chain::core::{Event, Notice, Settings};
use chain::message::Gossip;
use primitives::KeyPair;

use crate::kit::{Room, bundler, key, peer};

fn bundles_for(n: usize, rate_min: u64) -> Settings {
    let mut bundler = bundler(n, 2);
    bundler.rules.rate_min = rate_min;
    Settings {
        forgers: vec![key(n)],
        bundlers: vec![bundler],
        ..Settings::default()
    }
}

fn rates_of(key: &KeyPair, room: &Room, time: u32) -> SignedRates {
    let rules = bundler(0, 2).rules;
    SignedRates::new(key, &rules, time, &room.genesis.hash).unwrap()
}

#[test]
fn everybody_knows_what_bundlers_ask_for_the_cheapest_first() {
    let settings = [30, 10, 20].into_iter().enumerate();
    let mut nodes: Vec<Settings> = settings.map(|(n, rate)| bundles_for(n, rate)).collect();
    nodes.push(Settings::default());
    let mut room = Room::new(nodes);
    room.run_to(10_000);
    for (n, node) in room.nodes.iter().enumerate() {
        let rates: Vec<u64> = node
            .core
            .rates(ChainId(2))
            .iter()
            .map(|known| known.rate)
            .collect();
        assert_eq!(rates, [10, 20, 30], "node {n}");
        assert!(node.core.rates(ChainId(3)).is_empty());
        assert_eq!(node.penalties, []);
    }
    // Whoever stops is forgotten after a while.
    room.regroup(vec![0, 1, 2, 3]);
    room.run_to(900_000);
    assert!(room.nodes[3].core.rates(ChainId(2)).is_empty());
    assert_eq!(room.nodes[0].core.rates(ChainId(2)).len(), 1);
}

#[test]
fn rates_that_nobody_signed_count_against_who_brings_them() {
    let mut room = Room::new(vec![Settings::default(), Settings::default()]);
    room.run_to(100_000);
    let good = rates_of(&key(1), &room, 100);
    let mut forged = rates_of(&key(2), &room, 100);
    forged.rate += 1;
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
fn bundlers_take_turns() {
    let mut room = Room::new((0..4).map(|n| bundles_for(n, 0)).collect());
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
