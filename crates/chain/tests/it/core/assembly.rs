//! Announced blocks whose parts peers do not deliver.

use std::sync::Arc;

use chain::block::{CarriedEntry, root_of};
use chain::core::{Settings, Verdict};
use chain::message::Gossip;
use chain::{Body, Carried, ChainId, MinorUnits, Transaction};

use crate::core::bench::{Bench, Maker, Manner};
use crate::core::branches::{core_with, payment};
use crate::core::kit::{genesis, key};

/// Returns a child block with two payments of its chain.
fn child_block() -> CarriedEntry {
    let hash = genesis().hash;
    let carried = |mut transaction: Transaction, n: usize| {
        transaction.sign(&hash, &key(n));
        Arc::new(Carried::new(&hash, transaction))
    };
    let mut children: Vec<Arc<Carried>> = [1, 2]
        .map(|amount| {
            let mut child = payment(3, amount);
            child.chain = ChainId(2);
            carried(child, 3)
        })
        .to_vec();
    children.sort_by_key(|child| child.id);
    let ids: Vec<_> = children.iter().map(|child| child.id).collect();
    let mut transaction = payment(4, 1);
    transaction.fee = MinorUnits::new(1_000);
    transaction.body = Body::ChildBlock {
        child: ChainId(2),
        count: 2,
        root: root_of(&ids),
    };
    CarriedEntry {
        transaction: carried(transaction, 4),
        children,
    }
}

/// Lets a peer gossip the parent transactions, so that only the transactions of the child block are missing.
fn gossip_parents(bench: &mut Bench, bundle: &CarriedEntry, paid: &Transaction) {
    let messages = [
        Gossip::Transactions(vec![paid.clone()]),
        Gossip::ChildBlock {
            transaction: bundle.transaction.transaction.clone(),
            ids: bundle.children.iter().map(|child| child.id).collect(),
        },
    ];
    for message in messages {
        let verdict = bench.gossip(0, message.to_bytes());
        assert_eq!(verdict, Some(Verdict::Accept), "{message:?}");
    }
}

#[test]
fn a_source_without_useful_parts_delays_a_block_by_few_answers() {
    let wrong = ["chain_peer.wrong_answer"];
    // The first source, whether the parent transactions are known, the slow answers after which the block is there at the latest, and the
    // penalties. A source that sends one part an answer is asked again twice.
    let cases: [(Manner, bool, usize, &[&str]); 4] = [
        (Manner::Useless, false, 1, &wrong),
        (Manner::Useless, true, 1, &wrong),
        (Manner::Drips, false, 4, &[]),
        (Manner::Drips, true, 2, &[]),
    ];
    let mut maker = Maker::new();
    maker.add_many(3, 0);
    let (bundle, paid) = (child_block(), payment(2, 5));
    let plain = CarriedEntry {
        transaction: Arc::new(Carried::new(&genesis().hash, paid.clone())),
        children: Vec::new(),
    };
    let block = maker.make_of(0, vec![bundle.clone(), plain]);
    let mut chain = maker.blocks.clone();
    chain.push(block.clone());
    for (manner, knows_parents, answers, penalties) in cases {
        let name = format!("{manner:?}, {knows_parents}");
        let mut bench = core_with(&maker, Settings::default());
        for (n, manner) in [(1, manner), (2, Manner::Honest)] {
            bench.connect(n, &maker.blocks, manner);
            bench.has(n, &chain);
        }
        if knows_parents {
            gossip_parents(&mut bench, &bundle, &paid);
        }
        assert_eq!(bench.announce(1, &block), Some(Verdict::Accept), "{name}");
        assert_eq!(bench.announce(2, &block), Some(Verdict::Ignore), "{name}");
        assert_eq!(bench.height(), 3, "{name}: the first source is slow");
        for _ in 0..answers {
            bench.deliver();
            bench.rounds();
        }
        assert_eq!(bench.tip(), block.hash, "{name}");
        assert_eq!(bench.penalties, penalties, "{name}");
    }
}
