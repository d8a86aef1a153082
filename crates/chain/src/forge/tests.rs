//! Tests of forging.

use std::sync::Arc;

use primitives::Hash;

use super::*;
use crate::block::{CarriedBlock, Header, root_of};
use crate::pool::tests::{Pay, account, all_have, at, block, child_block, genesis, plain, put};
use crate::pool::{ChildBlock, Pool, PoolSettings};
use crate::{Carried, ChainId, Height, MinorUnits, Params, Seconds, TxId, key_of_passphrase};

fn params() -> Params {
    Params {
        parent_transactions_max: 4,
        child_transactions_max: 3,
        child_block_bytes_max: 149 * 3,
        block_bytes_max: 149 * 6,
        clock_drift_seconds: Seconds::new(5),
        anchor_depth_min: 10,
        ..Params::loadtest()
    }
}

fn pool() -> Pool {
    Pool::new(PoolSettings {
        per_bundler_max: 9,
        ..PoolSettings::default()
    })
}

/// Makes child payments and a child block that carries them.
fn bundled(pool: &mut Pool, chain: u8, from: &[u8], fee: u64) -> Arc<ChildBlock> {
    let ids: Vec<TxId> = from
        .iter()
        .map(|from| {
            let pay = Pay {
                chain,
                from: *from,
                ..Pay::default()
            };
            let known = pay.carried().id;
            put(pool, &pay, 1_000).map_or(known, |carried| carried.id)
        })
        .collect();
    let made = child_block(7, chain, fee, 0, &ids);
    pool.insert_child_block(made.clone(), at(0), &mut all_have(1_000_000))
        .unwrap()
        .unwrap();
    made
}

fn chosen(pool: &Pool) -> Vec<TxId> {
    let candidate = choose_body(pool, &params(), Height::new(20), at(10));
    let parents = candidate.body.iter();
    parents.map(|entry| entry.transaction.id).collect()
}

fn sorted(ids: &[TxId]) -> Vec<TxId> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids
}

#[test]
fn an_empty_pool_gives_an_empty_body() {
    let candidate = choose_body(&pool(), &params(), Height::new(1), at(1));
    assert!(candidate.body.is_empty());
    assert_eq!(
        (candidate.body_bytes, candidate.child_count, candidate.fees),
        (0, 0, MinorUnits::ZERO)
    );
    assert_eq!(candidate.root, Hash::ZERO);
}

#[test]
fn parent_transactions_go_by_fee_rate_and_stand_by_id() {
    let mut pool = pool();
    let ids: Vec<TxId> = (1u8..=6)
        .map(|from| {
            let fee = 100 * u64::from(from);
            put(
                &mut pool,
                &Pay {
                    from,
                    fee,
                    ..Pay::default()
                },
                1_000,
            )
            .unwrap()
            .id
        })
        .collect();
    assert_eq!(chosen(&pool), sorted(&ids[2..]));
}

#[test]
fn a_transaction_stands_where_its_own_fields_let_it() {
    let cases: &[(&str, Pay, bool)] = &[
        (
            "of now",
            Pay {
                time: 10,
                ..Pay::default()
            },
            true,
        ),
        (
            "within the drift",
            Pay {
                time: 15,
                ..Pay::default()
            },
            true,
        ),
        (
            "beyond it",
            Pay {
                time: 16,
                ..Pay::default()
            },
            false,
        ),
        (
            "to the last second",
            Pay {
                time: 0,
                minutes: 1,
                ..Pay::default()
            },
            true,
        ),
        (
            "anchored at genesis",
            Pay {
                anchor: 0,
                ..Pay::default()
            },
            true,
        ),
        (
            "anchored deep enough",
            Pay {
                anchor: 10,
                ..Pay::default()
            },
            true,
        ),
        (
            "anchored too high",
            Pay {
                anchor: 11,
                ..Pay::default()
            },
            false,
        ),
    ];
    for (name, pay, expected) in cases {
        let carried = pay.carried();
        assert_eq!(
            may_stand(&carried, &params(), Height::new(20), at(10)),
            *expected,
            "{name}"
        );
        let mut pool = pool();
        put(&mut pool, pay, 1_000).unwrap();
        assert_eq!(chosen(&pool).len(), usize::from(*expected), "{name}");
    }
    let over = Pay {
        minutes: 1,
        ..Pay::default()
    }
    .carried();
    assert!(
        may_stand(&over, &params(), Height::new(20), at(60))
            && !may_stand(&over, &params(), Height::new(20), at(61))
    );
}

#[test]
fn the_best_child_block_of_each_chain_goes_before_parent_transactions() {
    let mut pool = pool();
    let payment = put(
        &mut pool,
        &Pay {
            fee: 900,
            ..Pay::default()
        },
        1_000,
    )
    .unwrap();
    bundled(&mut pool, 2, &[1], 10);
    let better = bundled(&mut pool, 2, &[1, 2], 20);
    let other = bundled(&mut pool, 3, &[1], 5);
    // The two child blocks have 3 * 149 and 2 * 184 bytes. Another payment does not fit into 6 * 149.
    assert_eq!(chosen(&pool), sorted(&[better.id(), other.id()]));
    let candidate = choose_body(&pool, &params(), Height::new(20), at(10));
    assert_eq!(candidate.child_count, 3);
    assert_eq!(candidate.fees, MinorUnits::new(25));
    assert_eq!(candidate.body_bytes, 3 * 149 + 2 * 184);
    let roomy = Params {
        block_bytes_max: 1_000,
        ..params()
    };
    let candidate = choose_body(&pool, &roomy, Height::new(20), at(10));
    assert!(
        candidate
            .body
            .iter()
            .any(|entry| entry.transaction.id == payment.id)
    );
}

#[test]
fn a_child_block_that_can_not_stand_gives_way_to_the_next_best() {
    let spoils: &[fn(&mut Pool)] = &[
        // A transaction that it carries is gone.
        |pool| {
            let id = Pay {
                chain: 2,
                from: 3,
                ..Pay::default()
            }
            .carried()
            .id;
            pool.remove(&id, "chain_pool.cleared");
        },
        // A transaction has lost its cover, and the pool has not been settled yet.
        |pool| {
            let foreign = Pay {
                chain: 2,
                from: 3,
                amount: 999,
                ..Pay::default()
            };
            pool.block_added(&block(vec![plain(&foreign.carried())]));
        },
        // The same, after settling.
        |pool| {
            let foreign = Pay {
                chain: 2,
                from: 3,
                amount: 999,
                ..Pay::default()
            };
            pool.block_added(&block(vec![plain(&foreign.carried())]));
            pool.settle(at(0), &mut all_have(0)).unwrap();
        },
    ];
    for (at, spoil) in spoils.iter().enumerate() {
        let mut pool = pool();
        let good = bundled(&mut pool, 2, &[1, 2], 10);
        let best = bundled(&mut pool, 2, &[1, 3], 20);
        assert_eq!(chosen(&pool), [best.id()], "{at}");
        spoil(&mut pool);
        assert_eq!(chosen(&pool), [good.id()], "{at}");
    }
}

#[test]
fn where_the_best_is_too_long_for_what_is_left_a_shorter_one_goes() {
    let mut pool = pool();
    let first = bundled(&mut pool, 2, &[1, 2], 200);
    let long = bundled(&mut pool, 3, &[1, 2, 3], 90);
    let short = bundled(&mut pool, 3, &[1], 10);
    let tight = |bytes| {
        let limits = Params {
            block_bytes_max: bytes,
            ..params()
        };
        let candidate = choose_body(&pool, &limits, Height::new(20), at(10));
        let ids = candidate.body.iter().map(|entry| entry.transaction.id);
        ids.collect::<Vec<_>>()
    };
    let (two, three, one) = (184 + 298, 184 + 447, 184 + 149);
    assert_eq!(tight(two + three), sorted(&[first.id(), long.id()]));
    assert_eq!(tight(two + three - 1), sorted(&[first.id(), short.id()]));
    assert_eq!(tight(two + one - 1), [first.id()]);
    assert_eq!(tight(100), []);
}

#[test]
fn a_block_of_transactions_that_carry_too_many_or_too_long_ones_is_left_out() {
    let mut pool = pool();
    bundled(&mut pool, 2, &[1, 2, 3, 4], 100);
    assert_eq!(chosen(&pool), []);
    let long = put(
        &mut pool,
        &Pay {
            chain: 3,
            message: 400,
            ..Pay::default()
        },
        1_000,
    )
    .unwrap();
    let made = child_block(7, 3, 50, 0, &[long.id]);
    pool.insert_child_block(made, at(0), &mut all_have(1_000))
        .unwrap()
        .unwrap();
    assert_eq!(chosen(&pool), []);
}

fn header(forger: [u8; 32]) -> Header {
    Header {
        height: Height::new(20),
        time: at(10),
        previous: genesis(),
        forger,
        generation: Hash::ZERO,
        base_target: crate::pos::BaseTarget::new(1),
        difficulty: 1,
        parent_count: 0,
        child_count: 0,
        body_bytes: 0,
        root: Hash::ZERO,
        signature: [0; 64],
    }
}

#[test]
fn a_sealed_block_says_what_it_holds() {
    let mut pool = pool();
    put(&mut pool, &Pay::default(), 1_000).unwrap();
    bundled(&mut pool, 2, &[1, 2], 10);
    let key = key_of_passphrase("0");
    let forger = chain_key(&key).unwrap();
    let candidate = choose_body(&pool, &params(), Height::new(20), at(10));
    let sealed: CarriedBlock = seal(candidate.clone(), header(forger), &genesis(), &key).unwrap();
    let said = &sealed.header;
    assert_eq!((said.parent_count, said.child_count), (2, 2));
    assert_eq!(said.body_bytes as usize, sealed.body_bytes().len());
    assert_eq!(said.root, sealed.root());
    assert_eq!(sealed.hash, said.hash(&genesis()));
    let mut checker = primitives::SignatureChecker::new();
    assert!(checker.check(&said.signed_message(sealed.hash)));
    let children = &sealed
        .body
        .iter()
        .find(|entry| !entry.children.is_empty())
        .unwrap()
        .children;
    let ids: Vec<TxId> = children
        .iter()
        .map(|child: &Arc<Carried>| child.id)
        .collect();
    assert_eq!(root_of(&sorted(&ids)), root_of(&ids), "children ascend");
    let other = seal(candidate.clone(), header([1; 32]), &genesis(), &key);
    assert_eq!(other.unwrap_err().code, "chain_forge.wrong_key");
    let foreign = primitives::KeyPair::from_seed(primitives::Scheme::EcdsaP256, [1; 32]);
    let other = seal(candidate, header(forger), &genesis(), &foreign);
    assert_eq!(other.unwrap_err().code, "chain_forge.wrong_key");
    let pending = pool.pending_debit(account(7), ChainId::PARENT);
    assert_eq!(pending, MinorUnits::new(10));
}
