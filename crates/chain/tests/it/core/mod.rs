//! Tests of cores by their events and actions.

mod assembly;
mod bench;
mod branches;
mod bundling;
mod contests;
mod downloads;
mod equivocation;
mod kit;
mod rounds;
mod served;

use chain::core::Settings;
use kit::{SmallNetwork, bundler, key};

fn forger(n: usize) -> Settings {
    Settings {
        forgers: vec![key(n)],
        bundlers: vec![bundler(n, 2), bundler(n, 3)],
        ..Settings::default()
    }
}

#[test]
fn a_node_alone_carries_payments_of_all_chains_into_blocks() {
    let mut room = SmallNetwork::new(vec![forger(0)]);
    room.run_to(10_000);
    let payments = (1..=3)
        .map(|chain| room.payment(1, 2, chain, 1_000))
        .collect();
    room.submit(0, payments);
    room.run_to(120_000);
    let node = &room.nodes[0];
    assert_eq!(node.outcomes.len(), 3);
    assert!(
        node.outcomes.iter().all(Result::is_ok),
        "{:?}",
        node.outcomes
    );
    assert!(room.tip(0).0 > 5, "{:?}", room.tip(0));
    for chain in 1..=3 {
        assert_eq!(
            room.balance(0, 2, chain),
            kit::EACH + 1_000,
            "chain {chain}"
        );
    }
    let figures = node.core.figures();
    assert_eq!((figures.pool.transactions, figures.failed_forgings), (0, 0));
}

#[test]
fn nodes_that_hear_each_other_have_one_chain() {
    let mut room = SmallNetwork::new(vec![forger(0), forger(1), forger(2), Settings::default()]);
    for second in 1..30 {
        room.run_to(second * 1_000);
        let payment = room.payment(3, 4, 1 + (second % 3) as u8, second);
        room.submit((second % 4) as usize, vec![payment]);
    }
    room.run_to(200_000);
    assert!(room.same_tip());
    assert!(room.tip(0).0 > 20, "{:?}", room.tip(0));
    for n in 0..4 {
        let node = &room.nodes[n];
        assert!(
            node.outcomes.iter().all(Result::is_ok),
            "{:?}",
            node.outcomes
        );
        assert_eq!(node.core.figures().pool.transactions, 0, "node {n}");
        assert_eq!(node.penalties, [], "node {n}");
        let got: u64 = (1..=3)
            .map(|chain| room.balance(n, 4, chain) - kit::EACH)
            .sum();
        assert_eq!(got, (1..30).sum::<u64>(), "node {n}");
    }
}

#[test]
fn halves_that_forged_apart_become_one_again() {
    let mut room = SmallNetwork::new(vec![forger(0), forger(1), forger(2), forger(3)]);
    room.run_to(30_000);
    assert!(room.same_tip());
    room.regroup(vec![0, 0, 1, 1]);
    let left = room.payment(4, 5, 1, 7);
    room.submit(0, vec![left]);
    let right = room.payment(5, 4, 2, 9);
    room.submit(3, vec![right]);
    room.run_to(60_000);
    assert_ne!(room.tip(0).1, room.tip(3).1);
    room.regroup(vec![0; 4]);
    room.run_to(120_000);
    assert!(room.same_tip(), "{:?} {:?}", room.tip(0), room.tip(3));
    for n in 0..4 {
        assert_eq!(room.balance(n, 5, 1), kit::EACH + 7, "node {n}");
        assert_eq!(room.balance(n, 4, 2), kit::EACH + 9, "node {n}");
    }
    assert!(room.nodes.iter().any(|node| node.core.figures().forks > 0));
}
