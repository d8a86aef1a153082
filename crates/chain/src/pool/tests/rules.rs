//! Tests of the single rules.

use super::*;
use crate::Height;

fn settings() -> PoolSettings {
    PoolSettings {
        transactions_max: 4,
        bytes_max: 4 * 149,
        per_sender_max: 3,
        patience_seconds: Some(Seconds::new(30)),
        ..PoolSettings::default()
    }
}

#[test]
fn the_order_is_fee_rate_then_arrival() {
    let mut pool = Pool::new(PoolSettings::default());
    let fees = [200, 500, 200, 900];
    let ids: Vec<TxId> = (0u8..)
        .zip(fees)
        .map(|(from, fee)| {
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
    assert_eq!(order(&pool, 1), [ids[3], ids[1], ids[0], ids[2]]);
}

#[test]
fn what_is_refused_has_a_code() {
    let mut pool = Pool::new(settings());
    let first = Pay {
        amount: 400,
        fee: 100,
        ..Pay::default()
    };
    let cases: &[(&str, Pay, u64, Result<(), &str>)] = &[
        ("covered", first.clone(), 500, Ok(())),
        ("again", first.clone(), 500, Err("chain_pool.known")),
        (
            "pending counts",
            Pay {
                amount: 2,
                fee: 1,
                ..first.clone()
            },
            502,
            Err("chain_pool.insufficient_balance"),
        ),
        (
            "covered to the last unit",
            Pay {
                amount: 1,
                fee: 1,
                ..first.clone()
            },
            502,
            Ok(()),
        ),
        (
            "another chain has its own balance",
            Pay {
                chain: 2,
                ..first.clone()
            },
            500,
            Ok(()),
        ),
        (
            "the sender has enough here",
            Pay {
                chain: 3,
                ..first.clone()
            },
            500,
            Err("chain_pool.sender_full"),
        ),
        (
            "amount and fee overflow",
            Pay {
                from: 3,
                amount: u64::MAX,
                ..first.clone()
            },
            u64::MAX,
            Err("chain_pool.insufficient_balance"),
        ),
        (
            "one minute's deadline is over",
            Pay {
                from: 3,
                minutes: 0,
                ..first
            },
            500,
            Ok(()),
        ),
    ];
    for (name, pay, balance, expected) in cases {
        let outcome = put(&mut pool, pay, *balance).map(drop);
        assert_eq!(outcome, *expected, "{name}");
    }
    let late = Pay {
        from: 4,
        time: 0,
        minutes: 1,
        ..Pay::default()
    }
    .carried();
    let outcome = pool.insert(late, at(61), &mut all_have(500)).unwrap();
    assert_eq!(outcome.unwrap_err().code, "chain_pool.expired");
}

#[test]
fn a_balance_is_looked_up_before_a_signature_is_checked() {
    let mut pool = Pool::new(settings());
    let pay = Pay {
        from: 1,
        fee: 100,
        ..Pay::default()
    };
    let carried = pay.carried();
    let debit = carried.transaction.debit().unwrap().get();
    for (balance, expected) in [
        (debit, None),
        (debit - 1, Some("chain_pool.insufficient_balance")),
        (0, Some("chain_pool.insufficient_balance")),
    ] {
        let mut balances = |_, _| Ok(MinorUnits::new(balance));
        let checked = pool.check(&carried, at(0), &mut balances).unwrap();
        assert_eq!(checked.err().map(|no| no.code), expected, "{balance}");
    }
    // With another one of the same sender in the pool, the balance has to cover both.
    put(&mut pool, &Pay { fee: 101, ..pay }, 2 * debit + 1).unwrap();
    let mut balances = |_, _| Ok(MinorUnits::new(2 * debit));
    let checked = pool.check(&carried, at(0), &mut balances).unwrap();
    assert_eq!(checked.unwrap_err().code, "chain_pool.insufficient_balance");
}

#[test]
fn a_full_pool_takes_who_pays_more_and_names_the_fee_for_others() {
    let mut pool = Pool::new(settings());
    let ids: Vec<TxId> = (1u8..=4)
        .map(|from| {
            let pay = Pay {
                from,
                fee: 100 * u64::from(from),
                ..Pay::default()
            };
            put(&mut pool, &pay, 1_000).unwrap().id
        })
        .collect();
    let low = Pay {
        from: 5,
        fee: 100,
        ..Pay::default()
    }
    .carried();
    let mut rich = |_, _| Ok(MinorUnits::new(1_000));
    let refused = pool.check(&low, at(0), &mut rich).unwrap().unwrap_err();
    assert_eq!(refused.code, "chain_pool.full");
    assert!(
        refused
            .detail
            .ends_with("a fee of 101 minor units of chain 1 would be accepted"),
        "{}",
        refused.detail
    );
    put(
        &mut pool,
        &Pay {
            from: 5,
            fee: 101,
            ..Pay::default()
        },
        1_000,
    )
    .unwrap();
    assert_eq!(reasons(&mut pool), [(ids[0], "chain_pool.evicted")]);
}

#[test]
fn a_long_message_makes_room_by_its_bytes_or_not_at_all() {
    let mut pool = Pool::new(settings());
    for from in 1..=4 {
        put(
            &mut pool,
            &Pay {
                from,
                fee: 100 * u64::from(from),
                ..Pay::default()
            },
            10_000,
        )
        .unwrap();
    }
    let long = Pay {
        from: 5,
        fee: 500,
        message: 200,
        ..Pay::default()
    };
    // It would have to replace three, and pays less for each byte than the third.
    assert_eq!(
        put(&mut pool, &long, 10_000).unwrap_err(),
        "chain_pool.full"
    );
    assert_eq!(pool.figures().transactions, 4);
    assert_eq!(reasons(&mut pool), []);
    put(&mut pool, &Pay { fee: 5_000, ..long }, 10_000).unwrap();
    assert_eq!(reasons(&mut pool).len(), 3);
    assert!(pool.figures().bytes <= settings().bytes_max);
    let huge = Pay {
        from: 6,
        fee: 90_000,
        message: 500,
        ..Pay::default()
    };
    assert_eq!(
        put(&mut pool, &huge, 100_000).unwrap_err(),
        "chain_pool.full"
    );
}

#[test]
fn the_chain_that_takes_most_room_gives_it_up() {
    let mut pool = Pool::new(settings());
    let dear: Vec<TxId> = (1..=4)
        .map(|from| {
            put(
                &mut pool,
                &Pay {
                    from,
                    fee: 900,
                    ..Pay::default()
                },
                1_000,
            )
            .unwrap()
            .id
        })
        .collect();
    // A cheap transaction of another chain is accepted, because fees of different tokens cannot be compared.
    let cheap = put(
        &mut pool,
        &Pay {
            chain: 2,
            fee: 1,
            ..Pay::default()
        },
        1_000,
    )
    .unwrap();
    assert_eq!(reasons(&mut pool), [(dear[3], "chain_pool.evicted")]);
    assert!(pool.contains(&cheap.id));
    put(
        &mut pool,
        &Pay {
            chain: 2,
            from: 3,
            fee: 1,
            ..Pay::default()
        },
        1_000,
    )
    .unwrap();
    // Half of the room is the other chain's share. A third transaction must pay more than those there.
    assert_eq!(
        put(
            &mut pool,
            &Pay {
                chain: 2,
                from: 4,
                fee: 1,
                ..Pay::default()
            },
            1_000
        )
        .unwrap_err(),
        "chain_pool.full"
    );
}

#[test]
fn deadlines_are_kept_to_the_second() {
    let mut pool = Pool::new(PoolSettings::default());
    let one = put(
        &mut pool,
        &Pay {
            minutes: 1,
            ..Pay::default()
        },
        1_000,
    )
    .unwrap();
    let two = put(
        &mut pool,
        &Pay {
            minutes: 2,
            ..Pay::default()
        },
        1_000,
    )
    .unwrap();
    assert_eq!(pool.next_expiry(), Some(at(61)));
    pool.expire(at(60));
    assert_eq!(reasons(&mut pool), []);
    pool.expire(at(61));
    assert_eq!(reasons(&mut pool), [(one.id, "chain_pool.expired")]);
    pool.expire(at(1_000));
    assert_eq!(reasons(&mut pool), [(two.id, "chain_pool.expired")]);
    assert_eq!(pool.next_expiry(), None);
}

#[test]
fn an_order_of_the_operator_and_lost_anchors_leave_reasons() {
    let mut pool = Pool::new(PoolSettings::default());
    let anchored = put(
        &mut pool,
        &Pay {
            anchor: 5,
            ..Pay::default()
        },
        1_000,
    )
    .unwrap();
    let other = put(
        &mut pool,
        &Pay {
            from: 3,
            ..Pay::default()
        },
        1_000,
    )
    .unwrap();
    pool.drop_lost_anchors(Height::new(5), |_| false);
    assert_eq!(reasons(&mut pool), []);
    pool.drop_lost_anchors(Height::new(4), |anchor| anchor.height.is_genesis());
    assert_eq!(
        reasons(&mut pool),
        [(anchored.id, "chain_pool.anchor_lost")]
    );
    pool.clear();
    assert_eq!(reasons(&mut pool), [(other.id, "chain_pool.cleared")]);
    assert_eq!(pool.figures(), PoolFigures::default());
}

#[test]
fn lost_anchor_takes_its_child_blocks_along() {
    let mut pool = Pool::new(PoolSettings::default());
    let pay = |anchor| Pay {
        chain: 2,
        amount: 1 + u64::from(anchor),
        anchor,
        ..Pay::default()
    };
    let lost = put(&mut pool, &pay(5), 1_000).unwrap();
    let kept = put(&mut pool, &pay(0), 1_000).unwrap();
    let carrier = child_block(4, 2, 100, 0, &[lost.id, kept.id]);
    let inserted = pool.insert_child_block(carrier.clone(), at(0), &mut all_have(1_000));
    assert_eq!(inserted, Ok(Ok(())));
    pool.drop_lost_anchors(Height::new(4), |_| false);
    let left = [lost.id, carrier.transaction().id];
    let reason = "chain_pool.anchor_lost";
    assert_eq!(reasons(&mut pool), left.map(|id| (id, reason)));
    assert!(pool.contains(&kept.id));
}

#[test]
fn a_store_that_fails_changes_nothing() {
    let failure = || StoreFailure {
        kind: crate::port::FailureKind::Access,
        code: "store.test",
        message: String::new(),
        hint: "",
    };
    let mut pool = Pool::new(PoolSettings::default());
    let mut broken = |_, _| Err(failure());
    let pay = Pay::default();
    assert_eq!(
        pool.insert(pay.carried(), at(0), &mut broken),
        Err(failure())
    );
    assert_eq!(pool.figures(), PoolFigures::default());
    put(&mut pool, &pay, 1_000).unwrap();
    let foreign = Pay {
        amount: 7,
        ..Pay::default()
    }
    .carried();
    pool.block_added(&block(vec![plain(&foreign)]));
    assert_eq!(pool.settle(at(0), &mut broken), Err(failure()));
    assert!(!pool.is_settled());
}

#[test]
fn an_account_finds_its_own() {
    let mut pool = Pool::new(PoolSettings::default());
    let own: Vec<TxId> = [(1, 100), (2, 100), (2, 300)]
        .map(|(chain, fee)| {
            put(
                &mut pool,
                &Pay {
                    chain,
                    fee,
                    ..Pay::default()
                },
                1_000,
            )
            .unwrap()
            .id
        })
        .to_vec();
    put(
        &mut pool,
        &Pay {
            from: 2,
            ..Pay::default()
        },
        1_000,
    )
    .unwrap();
    let found: Vec<TxId> = pool
        .of_account(account(1), 10)
        .iter()
        .map(|one| one.id)
        .collect();
    assert_eq!(found, own);
    assert_eq!(pool.of_account(account(1), 2).len(), 2);
    assert_eq!(pool.waiting_on(ChainId(2)), 2);
    let all: Vec<TxId> = pool.after(None).map(|one| one.id).collect();
    assert!(all.is_sorted() && all.len() > 2);
    for (at, id) in all.iter().enumerate() {
        let rest: Vec<TxId> = pool.after(Some(*id)).map(|one| one.id).collect();
        assert_eq!(rest, all[at + 1..]);
    }
}
