//! Work that exceeds one round continues in the next ones, and a crash in between leaves a chain that can continue.

use std::sync::Arc;

use chain::block::CarriedBlock;
use chain::core::{Event, OrderDone, Settings, Verdict, limits::ROUND_BYTES, removal_reason};
use chain::message::{Announcement, Gossip};
use chain::port::{Reads, Table, WriteBatch};
use chain::{Anchor, Body, Genesis, Height, MinorUnits, Transaction};
use primitives::Hash;

use crate::core::bench::{Bench, Maker, Manner};
use crate::core::branches::payment;
use crate::core::kit::{ACCOUNTS, account, genesis, key, peer, slow};

/// Returns payments with long messages, of about 1,160 bytes each.
pub fn heavy(from: usize, count: u64, first: u64) -> Vec<Transaction> {
    let heavy = |n| {
        let mut transaction = payment(from, n);
        transaction.body = Body::Payment {
            to: account(1),
            amount: MinorUnits::new(first + n),
            message: vec![b'x'; 1_000],
        };
        transaction
    };
    (0..count).map(heavy).collect()
}

/// Returns a chain of twenty blocks of two megabytes each. Blocks from a store are not checked for their signatures.
pub fn heavy_chain() -> Maker {
    let mut maker = Maker::new();
    for block in 0..20 {
        maker.add(0, heavy(2, 1_800, block * 10_000));
    }
    let bytes: usize = maker
        .blocks
        .iter()
        .map(|block| block.header.body_bytes as usize)
        .sum();
    assert!(bytes > 2 * ROUND_BYTES, "{bytes}");
    maker
}

#[test]
fn blocks_beside_the_chain_join_and_are_taken_back_a_part_in_each_round() {
    let maker = heavy_chain();
    let mut bench = Bench::new(Settings::default());
    bench.run_to(5_000);
    // This pending transaction refers to a block that joins in a later round.
    let mut waiting = payment(3, 5);
    waiting.anchor = Anchor::at(Height::new(12), &maker.blocks[11].hash);
    waiting.sign(&genesis().hash, &key(3));
    let id = waiting.id(&genesis().hash);
    let mut batch = WriteBatch::default();
    batch.put(Table::Pool, id.0, waiting.to_bytes());
    bench.store.commit(batch);
    bench.reopen_with(&maker.blocks);
    assert!((1..20).contains(&bench.height()), "{}", bench.height());
    // A pool that is not restored yet cannot be emptied.
    bench.tell_only(Event::ClearPool { ticket: 9 });
    bench.round();
    let busy = bench.orders.pop().and_then(Result::err);
    assert!(busy.is_some_and(|busy| busy.code == "chain_order.busy"));
    // Killed before the last round.
    assert!((1..20).contains(&bench.height()), "{}", bench.height());
    bench.restart();
    assert_eq!(bench.tip(), maker.blocks[19].hash);
    assert!(bench.core.pool().contains(&id));
    assert_eq!(removal_reason(&bench.store, &id), Ok(None));

    // Killed in the middle of an order. The blocks that were rolled back join again, and the order can be repeated.
    let (ticket, height) = (1, 0);
    bench.tell_only(Event::PopOff {
        ticket,
        height: Height::new(height),
    });
    bench.round();
    assert!((1..20).contains(&bench.height()), "{}", bench.height());
    bench.tell_only(Event::PopOff {
        ticket,
        height: Height::new(height),
    });
    bench.round();
    let busy = bench.orders.pop().and_then(Result::err);
    assert!(busy.is_some_and(|busy| busy.code == "chain_order.busy"));
    bench.restart();
    assert_eq!(bench.tip(), maker.blocks[19].hash);
    let order = Event::Trust {
        ticket,
        height: Height::new(3),
        hash: Hash::plain(b"another"),
    };
    bench.tell(order);
    let trusted = bench.orders.pop().expect("an order is answered");
    assert_eq!(trusted, Ok(OrderDone::Trusted { rolled_back: 18 }));
    bench.restart();
    assert_eq!(bench.height(), 2, "what contradicts it does not join again");
    bench.tell(Event::PopOff {
        ticket,
        height: Height::new(height),
    });
    let popped = bench.orders.pop().expect("an order is answered");
    assert_eq!(popped, Ok(OrderDone::RolledBack { blocks: 2 }));
    assert_eq!(bench.height(), 0);
    assert!(
        bench.batch_bytes_max < 3 * ROUND_BYTES,
        "{}",
        bench.batch_bytes_max
    );
}

#[test]
fn a_transaction_that_a_block_of_the_same_round_includes_does_not_enter_the_pool() {
    let paid = payment(2, 5);
    let id = paid.id(&genesis().hash);
    let gossiped = Event::Gossip {
        peer: peer(1),
        message: 1,
        bytes: Gossip::Transactions(vec![paid.clone()]).to_bytes(),
    };
    let submitted = Event::Submit {
        ticket: 2,
        transactions: vec![paid.clone()],
    };
    for event in [gossiped, submitted] {
        let mut maker = Maker::new();
        maker.add(0, vec![paid.clone()]);
        maker.add_many(2, 0);
        let mut bench = Bench::new(Settings::default());
        bench.run_to(1_000);
        bench.connect(0, &maker.blocks, Manner::Slow);
        while !bench.asked.contains("bodies") {
            bench.deliver();
            bench.rounds();
        }
        assert_eq!(bench.height(), 0);
        bench.tell_only(event);
        bench.deliver();
        assert_eq!(bench.height(), 3, "the blocks join within the round");
        bench.rounds();
        assert!(!bench.core.pool().contains(&id));
        assert_eq!(bench.store.get(Table::Pool, &id.0), Ok(None));
        assert!(bench.outcomes.iter().all(|outcome| *outcome == Ok(id)));
        assert_eq!(bench.penalties, [""; 0]);
    }
}

#[test]
fn what_is_held_waits_for_a_change_of_branch_that_takes_several_rounds() {
    let genesis = slow();
    let signed = |mut transaction: Transaction, n: usize| {
        transaction.anchor = Anchor::at(Height::GENESIS, &genesis.hash);
        transaction.sign(&genesis.hash, &key(n));
        transaction
    };
    let shared: Vec<_> = heavy(2, 8_000, 0)
        .into_iter()
        .map(|transaction| signed(transaction, 2))
        .collect();
    let (before, [worse, mut better]) = a_draw(&genesis, |amount| {
        let mut all = shared.clone();
        all.push(signed(payment(3, amount), 3));
        all
    });
    let height = before.blocks.len();
    let next = better.add(0, Vec::new());
    let mut bench = Bench::on(genesis.clone(), Settings::default());
    let time = better.blocks[height].header.time.get();
    bench.run_to(time - 8);
    bench.connect(0, &before.blocks, Manner::Honest);
    bench.run_to(time - 2);
    assert_eq!(bench.height() as usize, height);
    bench.has(
        0,
        &[worse.blocks[height].clone(), better.blocks[height].clone()],
    );
    for block in [&worse.blocks[height], &better.blocks[height]] {
        assert_eq!(
            announce_without_ids(&mut bench, block),
            Some(Verdict::Accept)
        );
    }
    assert_eq!(
        bench.announce(0, &next),
        None,
        "it waits for its predecessor"
    );
    assert_eq!(
        bench.height() as usize,
        height,
        "all are ahead of the clock"
    );
    bench.run_to(time);
    assert_eq!(bench.tip(), better.blocks[height].hash);
    bench.run_to(next.header.time.get());
    assert_eq!(bench.tip(), next.hash);
}

/// Returns a chain after which two forgers have their turns in the same second and the next block comes soon. Adds a block of
/// each: the better one, with the smaller hash, is last.
fn a_draw(genesis: &Arc<Genesis>, body: impl Fn(u64) -> Vec<Transaction>) -> (Maker, [Maker; 2]) {
    for place in 0..ACCOUNTS {
        let mut before = Maker::on(genesis.clone());
        for _ in 0..30 {
            let times = [0, 1].map(|place| before.make(place, Vec::new()).header.time.get());
            if times[0] == times[1] {
                let mut both = [0, 1].map(|place| {
                    let mut maker = before.fork(before.blocks.len());
                    maker.add(place, body(place as u64 + 1));
                    maker
                });
                let height = before.blocks.len();
                both.sort_by_key(|maker| std::cmp::Reverse(maker.blocks[height].hash));
                if both[1].make(0, Vec::new()).header.time.get() <= times[0] + 8 {
                    return (before, both);
                }
            }
            before.add(place, Vec::new());
        }
    }
    panic!("there is such a chain");
}

fn announce_without_ids(bench: &mut Bench, block: &CarriedBlock) -> Option<Verdict> {
    let message = Gossip::Block(Announcement {
        header: block.header.clone(),
        ids: Vec::new(),
    });
    bench.gossip(0, message.to_bytes())
}
