//! Measures the cost of operations: `cargo test --release -p chain --lib pool_cost -- --ignored --nocapture`.

use std::time::Instant;

use super::*;
use crate::forge::choose_body;
use crate::{Height, Params};

const COUNT: u32 = 100_000;

fn each(what: &str, count: usize, started: Instant) {
    let spent = started.elapsed();
    println!(
        "{what:40} {:8.3} us each, {:8.2} ms",
        spent.as_secs_f64() * 1e6 / count as f64,
        spent.as_secs_f64() * 1e3
    );
}

#[test]
#[ignore = "prints times without asserting them: make slow"]
fn pool_cost_with_100_000_transactions() {
    let all: Vec<_> = (0..COUNT)
        .map(|number| {
            Pay {
                chain: (number % 5 + 1) as u8,
                from: (number % 10) as u8,
                amount: u64::from(number),
                fee: 149 + u64::from(number % 7),
                time: number / 1_000,
                ..Pay::default()
            }
            .carried()
        })
        .collect();
    // The baseline of the machine: two short hashes and 149 bytes written.
    let started = Instant::now();
    let again: Vec<_> = all
        .iter()
        .map(|carried| Carried::new(&genesis(), carried.transaction.clone()))
        .collect();
    each("(made: hash, id, account)", again.len(), started);
    drop(again);

    let mut pool = Pool::new(PoolSettings {
        per_bundler_max: 8,
        ..PoolSettings::default()
    });
    let started = Instant::now();
    for carried in &all {
        pool.insert(carried.clone(), at(100), &mut all_have(u64::MAX / 2))
            .unwrap()
            .unwrap();
    }
    each("insert", all.len(), started);

    let params = Params::loadtest();
    let started = Instant::now();
    for chain in 2..=5 {
        let ids: Vec<TxId> = pool
            .waiting(ChainId(chain))
            .take(5_000)
            .map(|one| one.id)
            .collect();
        let block = child_block(11, chain, 5_000_000, 100, &ids);
        pool.insert_child_block(block, at(100), &mut all_have(u64::MAX / 2))
            .unwrap()
            .unwrap();
    }
    each("child blocks: 4 of 5,000, a transaction", 20_000, started);

    let started = Instant::now();
    let candidate = choose_body(&pool, &params, Height::new(1), at(101));
    let chosen = candidate.body.len() + candidate.child_count as usize;
    each(&format!("assemble {chosen}"), chosen, started);

    let added = block(candidate.body);
    let started = Instant::now();
    pool.block_added(&added);
    pool.settle(at(101), &mut all_have(u64::MAX / 2)).unwrap();
    each("block added", chosen, started);

    let started = Instant::now();
    pool.block_popped(&added, at(102));
    pool.settle(at(102), &mut all_have(u64::MAX / 2)).unwrap();
    each("block popped", chosen, started);

    let left = pool.figures().transactions;
    let started = Instant::now();
    pool.expire(at(u32::MAX));
    each("expire", left, started);
    assert_eq!(pool.figures(), PoolFigures::default());
}
