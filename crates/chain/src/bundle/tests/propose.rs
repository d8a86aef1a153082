//! Tests of the child blocks that bundlers make.

use std::sync::Arc;

use primitives::{Hash, SignatureChecker};

use super::super::*;
use crate::pool::tests::{Pay, account, all_have, at, child_block, genesis, put};
use crate::pool::{ChildBlock, Pool, PoolSettings};
use crate::{
    AccountId, Anchor, ChainId, Height, MinorUnits, Minutes, Params, Percent, TxId,
    key_of_passphrase,
};

/// One parent token has 100 units, and a carried transaction costs 10.
fn params() -> Params {
    Params {
        child_block_fee_per_transaction: MinorUnits::new(10),
        child_transactions_max: 3,
        child_block_bytes_max: 149 * 4,
        block_bytes_max: 149 * 9,
        anchor_depth_min: 1,
        ..Params::loadtest()
    }
}

fn rules() -> BundlerRules {
    BundlerRules {
        child: ChainId(2),
        rate_min: BundlerRate::new(1_000),
        overpay_percent: Percent::ZERO,
        total_fee_max: None,
        senders: vec![],
        recipients: vec![],
        purpose: String::new(),
    }
}

/// Pays the fee that the rules require: a tenth of a token at 1,000.
fn pay(from: u8) -> Pay {
    Pay {
        chain: 2,
        from,
        fee: 100,
        ..Pay::default()
    }
}

const RICH: Means = Means {
    balance: MinorUnits::new(1_000_000),
    spent: MinorUnits::ZERO,
};

fn propose_with(pool: &Pool, rules: BundlerRules, means: Means) -> Proposal {
    let (genesis, params) = (genesis(), params());
    let scene = Scene {
        genesis: &genesis,
        params: &params,
        parent_decimals: 2,
        height: Height::new(5),
        now: crate::ChainTime::from_ms(10_000),
        anchor: Anchor::at(Height::GENESIS, &genesis),
    };
    let bundler = Bundler {
        key: key_of_passphrase("0"),
        rules,
    };
    propose(pool, &bundler, means, &BundleSettings::default(), &scene).unwrap()
}

fn made(proposal: Proposal) -> Arc<ChildBlock> {
    match proposal {
        Proposal::Make(block) => block,
        Proposal::Skip(why) => panic!("skipped: {why:?}"),
    }
}

fn bundler() -> AccountId {
    crate::AccountId::of_key(&crate::forge::chain_key(&key_of_passphrase("0")).unwrap())
}

fn pool_of(pays: &[Pay]) -> (Pool, Vec<TxId>) {
    let mut pool = Pool::new(PoolSettings::default());
    let ids = pays
        .iter()
        .map(|pay| put(&mut pool, pay, 1_000_000).unwrap().id);
    let ids = ids.collect();
    (pool, ids)
}

fn ids_of(block: &ChildBlock, ids: &[TxId]) -> Vec<usize> {
    (0..ids.len())
        .filter(|at| block.ids().contains(&ids[*at]))
        .collect()
}

#[test]
fn a_child_block_is_signed_and_pays_for_each_that_it_carries() {
    let (pool, ids) = pool_of(&[pay(1), pay(2)]);
    let block = made(propose_with(&pool, rules(), RICH));
    assert_eq!(ids_of(&block, &ids), [0, 1]);
    assert_eq!(block.fee().get(), 20);
    let again = ChildBlock::new(block.transaction().clone(), block.ids().to_vec());
    assert_eq!(again.as_ref(), Ok(&*block));
    assert_eq!(block.transaction().sender, bundler());
    let transaction = &block.transaction().transaction;
    assert_eq!(transaction.time, at(10));
    assert_eq!(transaction.deadline_minutes, Minutes::new(10));
    assert!(SignatureChecker::new().check(&block.transaction().signed_message()));
    let dear = BundlerRules {
        overpay_percent: Percent::new(55),
        rate_min: BundlerRate::new(1),
        ..rules()
    };
    assert_eq!(made(propose_with(&pool, dear, RICH)).fee().get(), 31);
}

#[test]
fn what_is_carried_follows_the_rules() {
    let rate = |rate_min, overpay_percent| BundlerRules {
        rate_min: BundlerRate::new(rate_min),
        overpay_percent: Percent::new(overpay_percent),
        ..rules()
    };
    let purpose = |text: &str| BundlerRules {
        purpose: text.into(),
        ..rules()
    };
    let cases: &[(&str, Pay, BundlerRules, bool)] = &[
        ("the rate is met", pay(1), rate(1_000, 0), true),
        ("a unit more is not", pay(1), rate(1_001, 0), false),
        (
            "what is paid above the least counts",
            pay(1),
            rate(910, 10),
            false,
        ),
        ("met with it", pay(1), rate(909, 10), true),
        ("for nothing", Pay { fee: 0, ..pay(1) }, rate(0, 0), true),
        (
            "a rate beyond all fees",
            Pay {
                fee: 1 << 60,
                ..pay(1)
            },
            rate(u64::MAX, 100),
            false,
        ),
        (
            "its sender",
            pay(1),
            BundlerRules {
                senders: vec![account(1)],
                ..rules()
            },
            true,
        ),
        (
            "another sender",
            pay(1),
            BundlerRules {
                senders: vec![account(3)],
                ..rules()
            },
            false,
        ),
        (
            "its recipient",
            pay(1),
            BundlerRules {
                recipients: vec![account(2)],
                ..rules()
            },
            true,
        ),
        (
            "another recipient",
            pay(1),
            BundlerRules {
                recipients: vec![account(3)],
                ..rules()
            },
            false,
        ),
        (
            "its purpose",
            Pay {
                message: 3,
                ..pay(1)
            },
            purpose("mm"),
            true,
        ),
        (
            "another purpose",
            Pay {
                message: 3,
                ..pay(1)
            },
            purpose("mn"),
            false,
        ),
        ("no message", pay(1), purpose("m"), false),
        ("another chain", Pay { chain: 3, ..pay(1) }, rules(), false),
        // Until second 60, which is within ten block times of 5 seconds.
        (
            "expires too soon",
            Pay {
                minutes: 1,
                time: 0,
                ..pay(1)
            },
            rules(),
            true,
        ),
        (
            "of the near future",
            Pay { time: 25, ..pay(1) },
            rules(),
            true,
        ),
        (
            "of the far future",
            Pay { time: 26, ..pay(1) },
            rules(),
            false,
        ),
        (
            "anchored too high",
            Pay {
                anchor: 5,
                ..pay(1)
            },
            rules(),
            false,
        ),
    ];
    for (name, pay, rules, carried) in cases {
        let mut pool = Pool::new(PoolSettings::default());
        put(&mut pool, pay, u64::MAX).unwrap();
        let proposal = propose_with(&pool, rules.clone(), RICH);
        let expected = Proposal::Skip(Skipped::NothingWaits);
        assert_eq!(proposal != expected, *carried, "{name}");
    }
}

#[test]
fn what_expires_within_the_margin_is_left_alone() {
    let genesis = genesis();
    let (pool, _) = pool_of(&[Pay {
        minutes: 1,
        ..pay(1)
    }]);
    for (now_ms, carried) in [
        (10_000, true),
        (10_999, true),
        (11_000, false),
        (60_000, false),
    ] {
        let params = params();
        let scene = Scene {
            genesis: &genesis,
            params: &params,
            parent_decimals: 2,
            height: Height::new(5),
            now: crate::ChainTime::from_ms(now_ms),
            anchor: Anchor::default(),
        };
        let bundler = Bundler {
            key: key_of_passphrase("0"),
            rules: rules(),
        };
        let proposal = propose(&pool, &bundler, RICH, &BundleSettings::default(), &scene);
        let makes = matches!(proposal, Ok(Proposal::Make(_)));
        assert_eq!(makes, carried, "{now_ms}");
    }
}

#[test]
fn limits_of_the_network_bound_it_and_the_best_fees_go_first() {
    let pays: Vec<Pay> = (1u8..=5)
        .map(|from| Pay {
            fee: 100 + u64::from(from),
            ..pay(from)
        })
        .collect();
    let (pool, ids) = pool_of(&pays);
    assert_eq!(
        ids_of(&made(propose_with(&pool, rules(), RICH)), &ids),
        [2, 3, 4]
    );
    // A transaction of 449 bytes leaves no room for another one.
    let (pool, ids) = pool_of(&[
        Pay {
            message: 298,
            fee: 900,
            ..pay(1)
        },
        pay(2),
    ]);
    assert_eq!(ids_of(&made(propose_with(&pool, rules(), RICH)), &ids), [0]);
}

#[test]
fn it_spends_no_more_than_it_may() {
    let (mut pool, _) = pool_of(&[pay(1), pay(2), pay(3)]);
    let limit = |total| BundlerRules {
        total_fee_max: Some(MinorUnits::new(total)),
        ..rules()
    };
    let means = |balance, spent| Means {
        balance: MinorUnits::new(balance),
        spent: MinorUnits::new(spent),
    };
    let cases: &[(&str, BundlerRules, Means, usize)] = &[
        ("enough", limit(30), means(30, 0), 3),
        ("a limit", limit(29), means(30, 0), 2),
        ("partly spent", limit(29), means(30, 10), 1),
        ("spent", limit(29), means(30, 20), 0),
        ("overspent", limit(29), means(30, 90), 0),
        ("a balance", rules(), means(19, 0), 1),
        ("none", rules(), means(9, 0), 0),
    ];
    for (name, rules, means, count) in cases {
        let block = match propose_with(&pool, rules.clone(), *means) {
            Proposal::Make(block) => block.ids().len(),
            Proposal::Skip(why) => {
                assert_eq!(why, Skipped::MeansUsedUp, "{name}");
                0
            }
        };
        assert_eq!(block, *count, "{name}");
    }
    // The bundler's waiting child block and the account's other pending payments count.
    let own = made(propose_with(&pool, limit(10), RICH));
    pool.insert_child_block(own, at(10), &mut all_have(1_000))
        .unwrap()
        .unwrap();
    let used_up = Proposal::Skip(Skipped::MeansUsedUp);
    assert_eq!(propose_with(&pool, limit(19), RICH), used_up);
    assert_eq!(propose_with(&pool, rules(), means(19, 0)), used_up);
    assert_eq!(made(propose_with(&pool, limit(40), RICH)).ids().len(), 3);
}

#[test]
fn it_makes_none_beside_one_that_is_as_good() {
    let (mut pool, ids) = pool_of(&[pay(1), pay(2), pay(3)]);
    let rival = |fee, ids: &[TxId]| child_block(7, 2, fee, 0, ids);
    let good = rival(25, &ids);
    pool.insert_child_block(good.clone(), at(10), &mut all_have(1_000))
        .unwrap()
        .unwrap();
    // Its own child block would pay 30, which is less than a quarter more.
    let skipped = Proposal::Skip(Skipped::AsGoodIsHere(good.id()));
    assert_eq!(propose_with(&pool, rules(), RICH), skipped);
    let more = BundlerRules {
        overpay_percent: Percent::new(5),
        rate_min: BundlerRate::new(1),
        ..rules()
    };
    assert_eq!(made(propose_with(&pool, more, RICH)).fee().get(), 32);
}

#[test]
fn one_that_no_block_can_have_is_no_rival() {
    let (mut pool, ids) = pool_of(&[pay(1), pay(2), Pay { chain: 3, ..pay(3) }]);
    let rivals = [
        child_block(7, 2, 900, 0, &[ids[0], TxId([9; 32])]),
        child_block(8, 2, 900, 0, &[ids[0], ids[2]]),
        child_block(9, 2, 900, 100, &ids[..1]),
    ];
    for rival in rivals {
        pool.insert_child_block(rival, at(10), &mut all_have(1_000))
            .unwrap()
            .unwrap();
    }
    assert_eq!(made(propose_with(&pool, rules(), RICH)).ids().len(), 2);
}

#[test]
fn the_fee_that_wallets_are_told_is_enough() {
    for (rate_min, overpay_percent, decimals) in
        [(1, 0, 8), (7, 13, 2), (999, 1, 0), (u64::MAX / 2, 9, 8)]
    {
        let (rate_min, overpay_percent) =
            (BundlerRate::new(rate_min), Percent::new(overpay_percent));
        let own = BundlerRules {
            rate_min,
            overpay_percent,
            ..rules()
        };
        let key = key_of_passphrase("0");
        let rates = SignedRates::new(&key, &own, at(0), &Hash::ZERO).unwrap();
        let told = rates.fee(&params(), decimals);
        assert!(told >= rate_min.fee(overpay_percent, &params(), decimals));
    }
}
