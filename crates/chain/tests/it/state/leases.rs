//! Leases begin after the delay, follow one another, and end.

use chain::port::Table;
use chain::state::leases::{LESSORS_MAX, leased_stake_min, leases_of};
use chain::state::read::header;
use chain::state::{Branch, Judged, effective_tokens, turn};
use chain::{ChainId, Height, WholeTokens};

use chain::genesis::ParamsOverrides;

use crate::state::kit::{EACH, Net, account, public, small};

fn tokens(net: &Net, who: usize) -> u64 {
    effective_tokens(&net.overlay, &net.genesis, &account(who))
        .unwrap()
        .get()
}

#[test]
fn a_lease_counts_for_the_lessee_from_the_delay_on_and_until_its_end() {
    let mut net = Net::new();
    let lease = net.lease(1, 2, 5);
    net.forge(vec![Net::entry(lease)]);
    assert_eq!(net.height(), 1);
    // With a delay of 12 and a length of 5, the lease covers the blocks of heights 13 to 17.
    let whole = EACH / 10_000;
    for height in 2..25 {
        let leased = (13..18).contains(&height);
        assert_eq!(tokens(&net, 1) == 0, leased, "{height}");
        assert_eq!(tokens(&net, 2) > whole + whole / 2, leased, "{height}");
        net.forge_empty(1);
    }
}

/// Returns whether a lease of an account to another one covers a height.
fn leased_at(net: &Net, who: usize, to: usize, height: u32) -> bool {
    let row = leases_of(&net.overlay, &account(who)).unwrap();
    row.is_some_and(|row| {
        row.leases()
            .any(|lease| lease.to == account(to) && lease.covers(Height::new(height)))
    })
}

#[test]
fn a_second_lease_follows_the_first_and_a_third_replaces_the_second() {
    let mut net = Net::new();
    // The first lease covers heights 13 to 22.
    net.forge(vec![Net::entry(net.lease(1, 2, 10))]);
    // The second one, to account 3, would cover heights 23 to 27. One to account 4 replaces it.
    net.forge(vec![Net::entry(net.lease(1, 3, 5))]);
    net.forge(vec![Net::entry(net.lease(1, 4, 6))]);
    for height in 4..40 {
        assert_eq!(leased_at(&net, 1, 2, height), (13..23).contains(&height));
        assert!(!leased_at(&net, 1, 3, height));
        let to_fourth = (23..29).contains(&height);
        assert_eq!(leased_at(&net, 1, 4, height), to_fourth, "{height}");
        assert_eq!(tokens(&net, 1) == 0, (13..29).contains(&height), "{height}");
        assert_eq!(
            tokens(&net, 3),
            tokens(&net, 5),
            "nobody leases to the third"
        );
        net.forge_empty(1);
    }
    net.commit();
    // All leases have ended. No row is left.
    assert_eq!(net.store.rows(Table::Leases), []);
    assert_eq!(net.store.rows(Table::Lessors), []);
}

#[test]
fn what_is_leased_to_one_who_leases_out_stays_with_him() {
    let mut net = Net::new();
    let both = vec![
        Net::entry(net.lease(1, 2, 20)),
        Net::entry(net.lease(2, 3, 20)),
    ];
    net.forge(both);
    net.forge_empty(15);
    // The first account's balance counts for the second, and the second's own for the third.
    let whole = EACH / 10_000;
    let about = |n: u64| (n * whole - whole / 10)..=(n * whole + whole / 10);
    assert_eq!(tokens(&net, 1), 0);
    assert!(about(1).contains(&tokens(&net, 2)), "{}", tokens(&net, 2));
    assert!(about(2).contains(&tokens(&net, 3)), "{}", tokens(&net, 3));
}

#[test]
fn a_lease_to_one_with_as_many_lessors_as_there_may_be_costs_its_fee_and_has_no_effect() {
    let mut net = Net::new();
    let full = LESSORS_MAX.to_be_bytes();
    net.overlay.put(Table::Lessors, account(2).0, full);
    let applied = net.forge(vec![
        Net::entry(net.lease(1, 2, 10)),
        Net::entry(net.lease(3, 4, 10)),
    ]);
    let paid = |who: usize| {
        let of = (account(who), ChainId::PARENT);
        let touched = applied
            .touched()
            .iter()
            .find(|t| (t.account, t.chain) == of);
        touched.map(|touched| touched.debit.get())
    };
    assert_eq!((paid(1), paid(3)), (Some(100), Some(100)));
    assert_eq!(leases_of(&net.overlay, &account(1)).unwrap(), None);
    assert!(leases_of(&net.overlay, &account(3)).unwrap().is_some());
}

#[test]
fn further_lessors_need_stake_that_doubles() {
    let stake = |lessors| leased_stake_min(&Net::new().genesis, lessors).get() / 10_000;
    let expected = [(0, 10), (63, 10), (64, 20), (128, 40), (1_023, 327_680)];
    for (lessors, tokens) in expected {
        assert_eq!(stake(lessors), tokens, "{lessors}");
    }
    // With 896 lessors the minimum is 163,840 tokens, and each account has 100,000.
    for (lessors, taken) in [(832, true), (896, false)] {
        let mut net = Net::new();
        let count = u32::to_be_bytes(lessors);
        net.overlay.put(Table::Lessors, account(2).0, count);
        net.forge(vec![Net::entry(net.lease(1, 2, 10))]);
        let row = leases_of(&net.overlay, &account(1)).unwrap();
        assert_eq!(row.is_some(), taken, "{lessors}");
    }
}

#[test]
fn a_lessor_that_has_paid_its_stake_away_renews_nothing() {
    // The least that a lessor must hold, in tokens. Without one the rule is that of earlier networks.
    for (least, is_renewed) in [(10, false), (0, true)] {
        let mut net = Net::with(ParamsOverrides {
            lease_renewal_tokens_min: Some(WholeTokens::new(least)),
            ..small()
        });
        // Heights 13 to 22.
        net.forge(vec![Net::entry(net.lease(1, 2, 10))]);
        net.forge(vec![Net::entry(net.payment(1, 3, 1, EACH - 50_000, 100))]);
        net.forge(vec![Net::entry(net.lease(1, 2, 10))]);
        net.forge_empty(22);
        assert_eq!(leased_at(&net, 1, 2, 23), is_renewed, "{least}");
    }
    // One that holds the least of a first place renews, however many lessors there are.
    let mut net = Net::with(ParamsOverrides {
        lease_renewal_tokens_min: Some(WholeTokens::new(10)),
        ..small()
    });
    net.forge(vec![Net::entry(net.lease(1, 2, 10))]);
    let full = LESSORS_MAX.to_be_bytes();
    net.overlay.put(Table::Lessors, account(2).0, full);
    net.forge(vec![Net::entry(net.lease(1, 2, 10))]);
    net.forge_empty(22);
    assert!(leased_at(&net, 1, 2, 23));
}

#[test]
fn coins_that_have_just_come_lease_nothing() {
    let mut net = Net::new();
    // The account's balance is too low for a while, and then as high as before.
    net.forge(vec![Net::entry(net.payment(1, 3, 1, EACH - 50_000, 100))]);
    net.forge(vec![Net::entry(net.payment(3, 1, 1, EACH - 50_000, 100))]);
    net.forge(vec![Net::entry(net.lease(1, 2, 10))]);
    assert_eq!(leases_of(&net.overlay, &account(1)).unwrap(), None);
    // The window of 20 blocks no longer contains the low balance.
    net.forge_empty(20);
    net.forge(vec![Net::entry(net.lease(1, 2, 10))]);
    assert!(leases_of(&net.overlay, &account(1)).unwrap().is_some());
}

/// A regression test found by random chains. A branch was refused because it replaced a lease that was to follow, and the lessor
/// then forged itself.
#[test]
fn a_branch_may_replace_the_lease_that_follows_and_its_lessor_forges_again() {
    let mut net = Net::new();
    // Heights 13 to 22 to account 2, then 23 to 30 to account 3.
    net.forge(vec![Net::entry(net.lease(1, 2, 10))]);
    net.forge(vec![Net::entry(net.lease(1, 3, 8))]);
    net.forge_empty(18);
    let mut branch = Branch::at(&net.overlay, &net.genesis, Height::new(20)).unwrap();
    // Above the common block it goes to account 4 instead, after the delay, at height 33.
    let replacing = net.block(vec![Net::entry(net.lease(1, 4, 8))]);
    net.apply(&replacing).unwrap();
    net.forge_empty(3);
    let time = turn(&net.overlay, &net.genesis, &public(1)).unwrap();
    let own = net.block_by(1, time.unwrap(), Vec::new());
    net.apply(&own).unwrap();
    for height in 21..=25 {
        let row = header(&net.overlay, Height::new(height)).unwrap().unwrap();
        let pushed = branch.push(&net.overlay, &net.genesis, &row.header, row.hash);
        assert!(
            matches!(pushed, Ok(Judged::Counted)),
            "{height}: {pushed:?}"
        );
    }
    assert_eq!(branch.tip(), net.overlay.tip());
}
