//! Tests of child blocks in the pool.

use super::*;

fn with_children(pool: &mut Pool, count: u8) -> Vec<Arc<Carried>> {
    (1..=count)
        .map(|from| {
            put(
                pool,
                &Pay {
                    chain: 2,
                    from,
                    ..Pay::default()
                },
                1_000,
            )
            .unwrap()
        })
        .collect()
}

fn ids(children: &[Arc<Carried>]) -> Vec<TxId> {
    children.iter().map(|child| child.id).collect()
}

fn offer(pool: &mut Pool, block: &Arc<ChildBlock>) -> Result<(), &'static str> {
    pool.insert_child_block(block.clone(), at(0), &mut all_have(1_000))
        .unwrap()
        .map_err(|rejection| rejection.code)
}

fn offers(pool: &Pool) -> Vec<(TxId, bool)> {
    let offers = pool.child_blocks(ChainId(2));
    offers
        .map(|offer| (offer.block.id(), offer.complete))
        .collect()
}

#[test]
fn a_list_must_be_the_one_that_the_child_block_commits_to() {
    let ids = [TxId([1; 32]), TxId([2; 32])];
    let good = child_block(7, 2, 10, 0, &ids);
    let make = |ids: Vec<TxId>| ChildBlock::new(good.transaction().clone(), ids);
    assert!(make(ids.to_vec()).is_ok());
    for wrong in [
        vec![],
        vec![ids[0]],
        vec![ids[1], ids[0]],
        vec![ids[0], ids[0]],
        vec![ids[0], TxId([3; 32])],
    ] {
        assert_eq!(make(wrong).unwrap_err().code, "chain_pool.wrong_list");
    }
    let payment = Pay::default().carried();
    assert_eq!(
        ChildBlock::new(payment, vec![]).unwrap_err().code,
        "chain_pool.wrong_list"
    );
    let mut pool = Pool::new(PoolSettings::default());
    let outcome = pool
        .insert(good.transaction().clone(), at(0), &mut all_have(1_000))
        .unwrap();
    assert_eq!(outcome.unwrap_err().code, "chain_pool.wrong_list");
}

#[test]
fn it_is_complete_while_all_it_carries_is_ready() {
    let mut pool = Pool::new(PoolSettings::default());
    let children = with_children(&mut pool, 2);
    let late = Pay {
        chain: 2,
        from: 5,
        ..Pay::default()
    };
    let mut carried = ids(&children);
    carried.push(late.carried().id);
    let block_7 = child_block(7, 2, 10, 0, &carried);
    offer(&mut pool, &block_7).unwrap();
    assert_eq!(offers(&pool), [(block_7.id(), false)]);
    assert_eq!(pool.missing_of(&block_7), [late.carried().id]);
    put(&mut pool, &late, 1_000).unwrap();
    assert_eq!(offers(&pool), [(block_7.id(), true)]);
    assert_eq!(pool.status(&carried[0]), Some(PoolStatus::Bundled));
    // A debit from outside leaves one of them without cover.
    let foreign = Pay {
        chain: 2,
        amount: 9,
        ..Pay::default()
    }
    .carried();
    pool.block_added(&block(vec![plain(&foreign)]));
    pool.settle(at(0), &mut all_have(0)).unwrap();
    assert_eq!(offers(&pool), [(block_7.id(), false)]);
}

#[test]
fn what_is_listed_goes_before_an_unlisted_payment_of_the_same_account() {
    // The account can pay one of the two.
    let pay = |to| Pay {
        chain: 2,
        to,
        amount: 600,
        ..Pay::default()
    };
    let (ours, theirs) = (pay(3), pay(4));
    let ids = [ours.carried().id, theirs.carried().id];
    let status = |pool: &Pool| ids.map(|id| pool.status(&id));
    let mut pool = Pool::new(PoolSettings::default());
    put(&mut pool, &ours, 1_000).unwrap();
    let refused = put(&mut pool, &theirs, 1_000).map(drop);
    assert_eq!(refused, Err("chain_pool.insufficient_balance"));

    // A bundler that heard of the other one first lists it.
    let block_7 = child_block(7, 2, 10, 0, &ids[1..]);
    offer(&mut pool, &block_7).unwrap();
    put(&mut pool, &theirs, 1_000).unwrap();
    assert_eq!(offers(&pool), [(block_7.id(), true)]);
    assert_eq!(
        status(&pool),
        [Some(PoolStatus::Parked), Some(PoolStatus::Bundled)]
    );

    // A second bundler lists the first one: transactions that are already listed stay.
    let block_8 = child_block(8, 2, 10, 0, &ids[..1]);
    offer(&mut pool, &block_8).unwrap();
    assert_eq!(offers(&pool), [(block_7.id(), true), (block_8.id(), false)]);

    // Without the first child block nothing lists their payment, so it gives way when the second one comes again.
    pool.remove(&block_7.id(), "chain_pool.cleared");
    pool.remove(&block_8.id(), "chain_pool.cleared");
    offer(&mut pool, &block_8).unwrap();
    assert_eq!(offers(&pool), [(block_8.id(), true)]);
    assert_eq!(
        status(&pool),
        [Some(PoolStatus::Bundled), Some(PoolStatus::Parked)]
    );

    // Nor does a debit outside the pool park a listed transaction.
    put(
        &mut pool,
        &Pay {
            amount: 1,
            ..pay(5)
        },
        1_000,
    )
    .unwrap();
    pool.block_added(&block(vec![plain(
        &Pay {
            amount: 9,
            ..pay(6)
        }
        .carried(),
    )]));
    pool.settle(at(0), &mut all_have(750)).unwrap();
    assert_eq!(offers(&pool), [(block_8.id(), true)]);
}

#[test]
fn a_listed_payment_that_its_account_cannot_pay_parks_nothing() {
    let mut pool = Pool::new(PoolSettings::default());
    let small = Pay {
        chain: 2,
        ..Pay::default()
    };
    let large = Pay {
        amount: 2_000,
        ..small.clone()
    };
    let id = put(&mut pool, &small, 1_000).unwrap().id;
    let block_7 = child_block(7, 2, 10, 0, &[large.carried().id]);
    offer(&mut pool, &block_7).unwrap();
    let refused = put(&mut pool, &large, 1_000).map(drop);
    assert_eq!(refused, Err("chain_pool.insufficient_balance"));
    assert_eq!(pool.status(&id), Some(PoolStatus::Ready));
}

#[test]
fn transactions_of_another_chain_never_complete_it() {
    let mut pool = Pool::new(PoolSettings::default());
    let other = put(
        &mut pool,
        &Pay {
            chain: 3,
            ..Pay::default()
        },
        1_000,
    )
    .unwrap();
    let wrong = child_block(7, 2, 10, 0, &[other.id]);
    offer(&mut pool, &wrong).unwrap();
    assert_eq!(offers(&pool), [(wrong.id(), false)]);
    pool.remove(&other.id, "chain_pool.cleared");
    put(
        &mut pool,
        &Pay {
            chain: 3,
            ..Pay::default()
        },
        1_000,
    )
    .unwrap();
    assert_eq!(offers(&pool), [(wrong.id(), false)]);
}

#[test]
fn forgers_are_shown_the_greater_fee_then_the_greater_count_then_who_came_first() {
    let mut pool = Pool::new(PoolSettings {
        per_bundler_max: 9,
        ..PoolSettings::default()
    });
    let carried = ids(&with_children(&mut pool, 3));
    let blocks = [
        child_block(7, 2, 10, 0, &carried[..1]),
        child_block(7, 2, 10, 1, &carried[..1]),
        child_block(7, 2, 10, 2, &carried[..2]),
        child_block(7, 2, 11, 3, &carried[..1]),
    ];
    for block in &blocks {
        offer(&mut pool, block).unwrap();
    }
    let best: Vec<TxId> = offers(&pool).iter().map(|(id, _)| *id).collect();
    let expected = [3, 2, 0, 1].map(|at: usize| blocks[at].id());
    assert_eq!(best, expected);
}

#[test]
fn limits_make_way_only_for_who_pays_more() {
    let mut pool = Pool::new(PoolSettings {
        child_blocks_max: 2,
        per_bundler_max: 1,
        carried_max: 4,
        ..PoolSettings::default()
    });
    let carried = ids(&with_children(&mut pool, 4));
    let first = child_block(7, 2, 10, 0, &carried[..2]);
    let other = child_block(8, 2, 20, 0, &carried[..1]);
    type Case<'a> = (&'a str, Arc<ChildBlock>, Result<(), &'a str>, &'a [TxId]);
    let cases: &[Case<'_>] = &[
        ("the first", first.clone(), Ok(()), &[]),
        (
            "the same again",
            first.clone(),
            Err("chain_pool.known"),
            &[],
        ),
        (
            "one a bundler",
            child_block(7, 2, 10, 1, &carried[..2]),
            Err("chain_pool.child_blocks_full"),
            &[],
        ),
        ("a second bundler", other.clone(), Ok(()), &[]),
        (
            "two a chain",
            child_block(6, 2, 10, 0, &carried[..1]),
            Err("chain_pool.child_blocks_full"),
            &[],
        ),
        (
            "who pays more than the worst",
            child_block(6, 2, 15, 0, &carried[..3]),
            Ok(()),
            &[first.id()],
        ),
        (
            "too many carried",
            child_block(5, 2, 17, 0, &carried),
            Err("chain_pool.child_blocks_full"),
            &[],
        ),
        (
            "a bundler's better one",
            child_block(8, 2, 21, 5, &carried[..1]),
            Ok(()),
            &[other.id()],
        ),
        (
            "no means",
            child_block(5, 2, 1_001, 0, &carried[..1]),
            Err("chain_pool.insufficient_balance"),
            &[],
        ),
    ];
    for (name, block, expected, gone) in cases {
        assert_eq!(offer(&mut pool, block), *expected, "{name}");
        let left: Vec<TxId> = reasons(&mut pool).iter().map(|(id, _)| *id).collect();
        assert_eq!(left, *gone, "{name}");
    }
    assert_eq!(pool.figures().child_blocks, 2);
    assert_eq!(pool.figures().transactions, 4);
}

#[test]
fn a_block_takes_its_own_child_block_and_drops_those_that_share_with_it() {
    let mut pool = Pool::new(PoolSettings::default());
    let children = with_children(&mut pool, 4);
    let carried = ids(&children);
    let taken = child_block(7, 2, 10, 0, &carried[..2]);
    let shares = child_block(8, 2, 10, 0, &carried[1..3]);
    let apart = child_block(6, 2, 10, 0, &carried[2..]);
    for block in [&taken, &shares, &apart] {
        offer(&mut pool, block).unwrap();
    }
    pool.block_added(&block(vec![carrying(&taken, &children[..2])]));
    assert_eq!(reasons(&mut pool), [(shares.id(), "chain_pool.superseded")]);
    assert_eq!(offers(&pool), [(apart.id(), true)]);
    assert_eq!(order(&pool, 2), carried[2..]);
}

#[test]
fn a_popped_child_block_comes_back_with_what_it_carries() {
    let mut pool = Pool::new(PoolSettings::default());
    let children = with_children(&mut pool, 2);
    let taken = child_block(7, 2, 10, 0, &ids(&children));
    offer(&mut pool, &taken).unwrap();
    let added = block(vec![carrying(&taken, &children)]);
    pool.block_added(&added);
    assert_eq!(pool.figures(), PoolFigures::default());
    pool.block_popped(&added, at(0));
    pool.settle(at(0), &mut all_have(1_000)).unwrap();
    assert_eq!(offers(&pool), [(taken.id(), true)]);
    assert_eq!(order(&pool, 2).len(), 2);
    let pending = pool.pending_debit(account(7), ChainId::PARENT);
    assert_eq!(pending, MinorUnits::new(10));
    assert_eq!(reasons(&mut pool), []);
}

#[test]
fn it_expires_with_the_first_that_it_carries() {
    let mut pool = Pool::new(PoolSettings::default());
    let short = put(
        &mut pool,
        &Pay {
            chain: 2,
            minutes: 1,
            ..Pay::default()
        },
        1_000,
    )
    .unwrap();
    let long = put(
        &mut pool,
        &Pay {
            chain: 2,
            ..Pay::default()
        },
        1_000,
    )
    .unwrap();
    let carries = child_block(7, 2, 10, 0, &[short.id, long.id]);
    offer(&mut pool, &carries).unwrap();
    pool.expire(at(61));
    let expired = "chain_pool.expired";
    assert_eq!(
        reasons(&mut pool),
        [(short.id, expired), (carries.id(), expired)]
    );
    assert_eq!(pool.status(&long.id), Some(PoolStatus::Ready));
}

#[test]
fn those_that_lack_something_make_way_for_one_that_does_not() {
    let mut pool = Pool::new(PoolSettings {
        child_blocks_max: 2,
        per_bundler_max: 1,
        ..PoolSettings::default()
    });
    let carried = ids(&with_children(&mut pool, 2));
    let lacking = child_block(7, 2, 50, 0, &[carried[0], TxId([9; 32])]);
    let dear = child_block(8, 2, 60, 0, &carried[..1]);
    offer(&mut pool, &lacking).unwrap();
    offer(&mut pool, &dear).unwrap();
    let other = child_block(6, 2, 55, 0, &[carried[0], TxId([8; 32])]);
    let full = Err("chain_pool.child_blocks_full");
    assert_eq!(
        offer(&mut pool, &child_block(7, 2, 10, 0, &[TxId([8; 32])])),
        full
    );
    offer(&mut pool, &child_block(6, 2, 1, 0, &carried)).unwrap();
    assert_eq!(
        reasons(&mut pool),
        [(lacking.id(), "chain_pool.superseded")]
    );
    // It pays more than the worst one, which is complete.
    offer(&mut pool, &other).unwrap();
    let mine = child_block(6, 2, 2, 0, &carried[1..]);
    offer(&mut pool, &mine).unwrap();
    assert_eq!(offers(&pool), [(dear.id(), true), (mine.id(), true)]);
}
