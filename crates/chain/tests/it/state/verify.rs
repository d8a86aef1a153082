//! A sound store passes, and inconsistent rows are named.

use chain::port::Table;
use chain::state::{prune, undo_block, verify_store};
use chain::{Height, Minutes};
use proptest::prelude::*;

use crate::state::kit::{Net, account, small};
use crate::state::random::{Dice, grow};
use chain::genesis::ParamsOverrides;

proptest! {
    #![proptest_config(properties::config!(64))]

    #[test]
    fn a_sound_store_passes_whatever_it_has_been_through(seed: u64, blocks in 0u64..60, undone in 0usize..8) {
        let params = ParamsOverrides { deadline_minutes_max: Some(Minutes::new(1)), ..small() };
        let mut net = Net::with(params);
        let mut dice = Dice(seed);
        grow(&mut net, &mut dice, blocks);
        prune(&mut net.overlay, &net.genesis, Some(5), 300).unwrap();
        for _ in 0..undone {
            let _ = undo_block(&mut net.overlay, &net.genesis);
        }
        net.commit();
        let verified = verify_store(&net.store, &net.genesis, u32::MAX).unwrap();
        prop_assert_eq!((verified.height.get(), verified.blocks), (net.height(), net.height()));
        let some = verify_store(&net.store, &net.genesis, 3).unwrap();
        prop_assert_eq!(some.blocks, net.height().min(3));
    }
}

#[test]
fn what_does_not_fit_together_is_named() {
    let grown = || {
        let mut net = Net::new();
        let lease = net.lease(1, 2, 50);
        net.forge(vec![
            Net::entry(lease),
            Net::entry(net.payment(3, 4, 1, 5, 100)),
        ]);
        net.forge_empty(3);
        net.commit();
        net
    };
    // For each table, delete one row that no other row duplicates.
    let tables = [
        Table::Headers,
        Table::Bodies,
        Table::ByHash,
        Table::TxIndex,
        Table::Balances,
        Table::Leases,
        Table::Lessors,
        Table::Undo,
    ];
    for table in tables {
        for last in [false, true] {
            let mut net = grown();
            let rows = net.store.rows(table);
            // Verification of the blocks never reads the row of genesis.
            let rows = rows
                .iter()
                .filter(|(key, _)| **key != net.genesis.hash.as_bytes()[..]);
            let row = if last { rows.max() } else { rows.min() };
            let key = row.unwrap().0.clone();
            net.overlay.delete(table, key);
            net.commit();
            let failure = verify_store(&net.store, &net.genesis, u32::MAX).unwrap_err();
            assert_eq!(failure.code, "chain.store_damaged", "{table:?}");
        }
    }
    let mut net = grown();
    let held = chain::state::rows::held_key(&account(4), Height::new(1));
    net.overlay.put(Table::Held, held, 1u64.to_be_bytes());
    net.commit();
    let failure = verify_store(&net.store, &net.genesis, 0).unwrap_err();
    assert!(
        failure.message.contains(&account(4).to_string()),
        "{failure}"
    );
    assert!(verify_store(&grown().store, &net.genesis, u32::MAX).is_ok());
}
