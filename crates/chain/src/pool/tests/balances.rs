//! Tests of accounts whose balance changes from outside, and of blocks that are rolled back.

use super::*;

fn settings() -> PoolSettings {
    PoolSettings {
        patience_seconds: Some(Seconds::new(30)),
        ..PoolSettings::default()
    }
}

#[test]
fn a_debit_from_outside_parks_who_came_last_and_a_credit_brings_it_back() {
    let mut pool = Pool::new(settings());
    let pays = [(300, 100), (300, 200)].map(|(amount, fee)| Pay {
        amount,
        fee,
        ..Pay::default()
    });
    let ids = pays.map(|pay| put(&mut pool, &pay, 1_000).unwrap().id);
    let foreign = Pay {
        amount: 500,
        time: 7,
        ..Pay::default()
    }
    .carried();
    pool.block_added(&block(vec![plain(&foreign)]));
    assert!(!pool.is_settled());
    assert_eq!(order(&pool, 1), [], "nobody may have what is not settled");
    pool.settle(at(10), &mut all_have(501)).unwrap();
    assert_eq!(order(&pool, 1), [ids[0]]);
    assert_eq!(pool.status(&ids[1]), Some(PoolStatus::Parked));
    assert_eq!(pool.figures().parked, 1);
    let credit = Pay {
        from: 7,
        to: 1,
        amount: 400,
        ..Pay::default()
    }
    .carried();
    pool.block_added(&block(vec![plain(&credit)]));
    pool.settle(at(20), &mut all_have(901)).unwrap();
    assert_eq!(order(&pool, 1), [ids[1], ids[0]]);
    assert_eq!(reasons(&mut pool), []);
    let pending = pool.pending_debit(account(1), ChainId::PARENT);
    assert_eq!(pending, MinorUnits::new(900));
}

#[test]
fn patience_ends_with_a_reason() {
    let mut pool = Pool::new(settings());
    let pay = put(&mut pool, &Pay::default(), 1_000).unwrap();
    let foreign = Pay {
        amount: 999,
        ..Pay::default()
    }
    .carried();
    pool.block_added(&block(vec![plain(&foreign)]));
    pool.settle(at(10), &mut all_have(1)).unwrap();
    pool.expire(at(39));
    assert!(pool.contains(&pay.id));
    pool.expire(at(40));
    assert_eq!(
        reasons(&mut pool),
        [(pay.id, "chain_pool.insufficient_balance")]
    );
}

#[test]
fn what_depends_on_a_payment_of_a_lost_branch_waits_for_it() {
    let mut pool = Pool::new(settings());
    let gift = Pay {
        from: 7,
        to: 1,
        amount: 500,
        ..Pay::default()
    }
    .carried();
    let funded = block(vec![plain(&gift)]);
    pool.block_added(&funded);
    let spending = put(
        &mut pool,
        &Pay {
            amount: 300,
            ..Pay::default()
        },
        500,
    )
    .unwrap();
    pool.block_popped(&funded, at(5));
    pool.settle(at(5), &mut |who, _| {
        let balance = if who == account(7) { 1_000 } else { 0 };
        Ok(MinorUnits::new(balance))
    })
    .unwrap();
    assert_eq!(order(&pool, 1), [gift.id]);
    pool.block_added(&funded);
    pool.settle(at(6), &mut all_have(500)).unwrap();
    assert_eq!(order(&pool, 1), [spending.id]);
    assert_eq!(reasons(&mut pool), []);
}

#[test]
fn popped_transactions_go_first_in_their_order() {
    let mut pool = Pool::new(PoolSettings::default());
    let early: Vec<_> = (1..=3)
        .map(|from| {
            Pay {
                from,
                ..Pay::default()
            }
            .carried()
        })
        .collect();
    let popped = block(early.iter().map(plain).collect());
    let late = put(
        &mut pool,
        &Pay {
            from: 4,
            ..Pay::default()
        },
        1_000,
    )
    .unwrap();
    pool.block_popped(&popped, at(0));
    pool.settle(at(0), &mut all_have(1_000)).unwrap();
    let expected: Vec<TxId> = popped
        .transactions()
        .map(|one| one.id)
        .chain([late.id])
        .collect();
    assert_eq!(order(&pool, 1), expected);
}

#[test]
fn in_a_full_pool_a_popped_transaction_takes_the_place_of_a_later_one_that_pays_the_same() {
    let mut pool = Pool::new(PoolSettings {
        transactions_max: 2,
        ..settings()
    });
    let early = Pay {
        from: 7,
        ..Pay::default()
    };
    let popped = block(vec![plain(&early.carried())]);
    let waiting = [3, 4].map(|from| {
        let pay = Pay {
            from,
            ..Pay::default()
        };
        put(&mut pool, &pay, 1_000).unwrap().id
    });
    pool.block_popped(&popped, at(0));
    assert_eq!(reasons(&mut pool), [(waiting[1], "chain_pool.evicted")]);
    assert_eq!(order(&pool, 1), [early.carried().id, waiting[0]]);
}

#[test]
fn what_was_accepted_before_a_restart_waits_for_its_balance() {
    let mut pool = Pool::new(settings());
    let carried = Pay::default().carried();
    pool.restore(carried.clone(), at(0)).unwrap();
    pool.settle(at(0), &mut all_have(0)).unwrap();
    assert_eq!(pool.status(&carried.id), Some(PoolStatus::Parked));
    let again = pool.restore(carried.clone(), at(0));
    assert_eq!(again.unwrap_err().code, "chain_pool.known");
    let gift = Pay {
        from: 7,
        to: 1,
        ..Pay::default()
    };
    pool.block_added(&block(vec![plain(&gift.carried())]));
    pool.settle(at(0), &mut all_have(1_000)).unwrap();
    assert_eq!(order(&pool, 1), [carried.id]);
}

#[test]
fn patience_follows_the_block_time_or_the_setting() {
    let usual = |block_seconds| {
        let chosen = PoolSettings::default().for_blocks_of(Seconds::new(block_seconds));
        chosen.patience_seconds().get()
    };
    assert_eq!([2, 5, 10, 60].map(usual), [120, 120, 200, 1_200]);
    let own = settings().for_blocks_of(Seconds::new(60));
    assert_eq!(own.patience_seconds(), Seconds::new(30));
}
