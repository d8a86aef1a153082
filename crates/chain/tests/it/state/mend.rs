//! Damaged stores: the damage found, the repairs, and damage beyond repair.

use chain::genesis::ParamsOverrides;
use chain::port::{Table, WriteBatch};
use chain::state::rows::{META_TIP, held_key};
use chain::state::{
    Depth, Examined, MemoryStore, Overlay, examine, prune, state_hash, undo_block, verify_store,
};
use chain::{Genesis, Height, Minutes, port::Reads};
use primitives::storage::TableSet;
use proptest::prelude::*;

use crate::state::kit::{Net, account, small};
use crate::state::random::{Dice, all_rows, block, grow, stakes};

/// Returns a network with payments, a lease and a child block in blocks 1, 3 and 4. Blocks 2 and 5 are empty.
fn grown() -> Net {
    let mut net = Net::new();
    let lease = net.lease(1, 2, 50);
    net.forge(vec![
        Net::entry(lease),
        Net::entry(net.payment(3, 4, 1, 5, 100)),
    ]);
    net.forge_empty(1);
    net.forge(vec![Net::entry(net.payment(5, 6, 1, 7, 100))]);
    let child = net.payment(7, 8, 2, 9, 100);
    net.forge(vec![net.bundle(0, vec![child])]);
    net.forge_empty(1);
    net.commit();
    net
}

fn look(net: &Net) -> Examined {
    examine(net.store.clone(), &net.genesis, Depth::ALL).unwrap()
}

/// Commits a repair. Checks that the store is then sound in every respect and can be opened.
fn mended(store: &MemoryStore, genesis: &Genesis, found: Examined) -> u32 {
    let mending = found.mending.expect("it can be mended");
    store.commit(mending.batch);
    verify_store(store, genesis, u32::MAX).unwrap();
    let again = examine(store.clone(), genesis, Depth::ALL).unwrap();
    assert!(again.is_sound(), "{:?}", again.damage);
    let overlay = Overlay::open(store.clone(), genesis).unwrap();
    assert_eq!(overlay.tip().height, mending.height);
    mending.height.get()
}

/// Returns the state's hash at a height of this network.
fn hash_at(height: u32) -> primitives::Hash {
    let mut net = grown();
    while net.height() > height {
        undo_block(&mut net.overlay, &net.genesis).unwrap();
    }
    net.commit();
    let hash = state_hash(&net.store, &net.genesis).unwrap();
    hash.expect("nobody writes meanwhile").state
}

#[test]
fn a_sound_store_is_found_sound() {
    let found = look(&grown());
    assert!(found.is_sound(), "{:?}", found.damage);
    assert_eq!(
        (found.height, found.blocks, found.replayed),
        (Height::new(5), 5, 5)
    );
    assert!(found.mending.is_none() && found.beyond.is_none());
    let net = Net::new();
    assert!(look(&net).is_sound());
    let empty = examine(MemoryStore::new(), &net.genesis, Depth::ALL).unwrap();
    assert!(empty.is_sound());
    let little = Depth {
        blocks: 100,
        transactions: 1,
    };
    let found = examine(grown().store, &net.genesis, little).unwrap();
    // Block 5 has no transaction and block 4 has some, so no further block is examined.
    assert_eq!((found.blocks, found.is_sound()), (2, true));
}

#[test]
fn what_is_damaged_is_mended_or_cut_off() {
    type Break = fn(&Net) -> (Table, Vec<u8>, Option<Vec<u8>>);
    fn any(net: &Net, table: Table, at: usize) -> (Table, Vec<u8>, Option<Vec<u8>>) {
        let rows = net.store.rows(table);
        let mut rows = rows
            .into_iter()
            .filter(|(key, _)| **key != net.genesis.hash.as_bytes()[..]);
        (table, rows.nth(at).unwrap().0, None)
    }
    // The damage, and the height of the tip after the repair.
    let cases: &[(&str, u32, Break)] = &[
        ("an id", 5, |net| any(net, Table::TxIndex, 1)),
        ("a hash", 5, |net| any(net, Table::ByHash, 2)),
        ("a history", 5, |net| any(net, Table::AccountTxs, 0)),
        ("a lessor", 5, |net| any(net, Table::Lessors, 0)),
        ("a lease", 5, |net| any(net, Table::Leases, 0)),
        ("a balance", 5, |_| {
            let key = [&account(4).0[..], &[1]].concat();
            (Table::Balances, key, Some(1u64.to_be_bytes().to_vec()))
        }),
        ("a held balance", 5, |_| {
            (
                Table::Held,
                held_key(&account(6), Height::new(3)).to_vec(),
                None,
            )
        }),
        ("the tip", 5, |_| {
            (Table::Meta, META_TIP.to_vec(), Some(vec![1, 2, 3]))
        }),
        ("an undo row", 5, |_| {
            (Table::Undo, 2u32.to_be_bytes().to_vec(), None)
        }),
        ("a body", 2, |_| {
            (Table::Bodies, [0, 0, 0, 3, 0, 0].to_vec(), None)
        }),
        ("a byte of a body", 3, |net| {
            let key = vec![0, 0, 0, 4, 0, 0];
            let mut value = net.store.get(Table::Bodies, &key).unwrap().unwrap();
            value[20] ^= 1;
            (Table::Bodies, key, Some(value))
        }),
        ("a header", 2, |_| {
            (Table::Headers, 3u32.to_be_bytes().to_vec(), None)
        }),
        ("the last header", 4, |_| {
            (Table::Headers, 5u32.to_be_bytes().to_vec(), Some(vec![0]))
        }),
        ("the first header", 0, |_| {
            (Table::Headers, 1u32.to_be_bytes().to_vec(), Some(vec![0]))
        }),
        ("a waiting transaction", 5, |_| {
            (Table::Pool, vec![7; 32], Some(vec![1, 2]))
        }),
        ("a block beside the chain", 5, |_| {
            (Table::Side, vec![7; 32], Some(vec![1, 2]))
        }),
    ];
    for (name, expected, change) in cases {
        let net = grown();
        let (table, key, value) = change(&net);
        let mut batch = WriteBatch::default();
        match value {
            Some(value) => batch.put(table, key, value),
            None => batch.delete(table, key),
        }
        net.store.commit(batch);
        let found = look(&net);
        assert!(!found.is_sound(), "{name}");
        assert_eq!(found.beyond, None, "{name}: {:?}", found.damage);
        assert_eq!(mended(&net.store, &net.genesis, found), *expected, "{name}");
        let state = state_hash(&net.store, &net.genesis).unwrap().unwrap();
        assert_eq!(state.state, hash_at(*expected), "{name}");
    }
}

#[test]
fn what_was_cut_off_is_kept_beside_the_chain() {
    let net = grown();
    let mut batch = WriteBatch::default();
    batch.delete(Table::Headers, 3u32.to_be_bytes());
    net.store.commit(batch);
    mended(&net.store, &net.genesis, look(&net));
    // Blocks 4 and 5 were complete. Block 4 has one transaction that is not a child block.
    assert_eq!(net.store.rows(Table::Side).len(), 2);
    assert_eq!(net.store.rows(Table::Pool).len(), 1);
}

#[test]
fn what_nothing_can_mend_is_said() {
    let net = grown();
    let mut batch = WriteBatch::default();
    batch.delete(Table::Headers, 3u32.to_be_bytes());
    batch.delete(Table::Undo, 4u32.to_be_bytes());
    net.store.commit(batch);
    let found = look(&net);
    assert!(found.mending.is_none());
    assert_eq!(found.failure().code, "chain.store_beyond_repair");
    // The undo rows have been dropped. The remaining blocks cannot determine a balance that they do not touch.
    let mut net = pruned(1, 70, 20).0;
    net.forge_empty(1);
    net.commit();
    let (key, _) = net.store.rows(Table::Balances)[0].clone();
    let mut batch = WriteBatch::default();
    batch.delete(Table::Balances, key);
    batch.delete(Table::ByHash, net.overlay.tip().hash.as_bytes().to_vec());
    net.store.commit(batch);
    let little = Depth {
        blocks: 1,
        transactions: 1,
    };
    let found = examine(net.store.clone(), &net.genesis, little).unwrap();
    assert!(found.mending.is_none());
    assert_eq!(found.failure().code, "chain.store_beyond_repair");
}

#[test]
fn short_chain_is_rebuilt_from_genesis() {
    // No block has touched the balance, and an undo row is missing. Genesis and the blocks determine both.
    let net = grown();
    let (sound, mut batch) = (all_rows(&net), WriteBatch::default());
    batch.delete(Table::Balances, [&account(9).0[..], &[2]].concat());
    batch.put(
        Table::Balances,
        [&[7; 16][..], &[2]].concat(),
        1u64.to_be_bytes(),
    );
    batch.delete(Table::ByHash, net.overlay.tip().hash.as_bytes().to_vec());
    batch.delete(Table::Undo, 4u32.to_be_bytes());
    batch.delete(Table::Held, held_key(&account(9), Height::GENESIS));
    net.store.commit(batch);
    assert_eq!(mended(&net.store, &net.genesis, look(&net)), 5);
    assert_eq!(all_rows(&net), sound);
}

/// Returns a chain with only its newest bodies and undo rows, and a complete copy of it.
fn pruned(seed: u64, blocks: u32, kept: u32) -> (Net, Net) {
    let params = ParamsOverrides {
        deadline_minutes_max: Some(Minutes::new(1)),
        ..small()
    };
    let (mut net, mut whole) = (Net::with(params.clone()), Net::with(params));
    let mut dice = Dice(seed);
    for _ in 0..blocks {
        let block = block(&mut whole, &mut dice);
        whole.apply(&block).unwrap();
        whole.commit();
        net.apply(&block).unwrap();
        prune(&mut net.overlay, &net.genesis, Some(kept), 100).unwrap();
        net.commit();
    }
    (net, whole)
}

/// Damages the rows of the store selected by `which`: flips a bit or deletes the row.
fn harm(net: &Net, which: &[u16], flip: bool) {
    let rows: Vec<_> = Table::ALL
        .iter()
        .flat_map(|table| net.store.rows(*table).into_iter().map(|row| (*table, row)))
        .filter(|(table, (key, _))| *table != Table::Meta || key == META_TIP)
        .collect();
    for at in which {
        let (table, (key, mut value)) = rows[usize::from(*at) % rows.len()].clone();
        let mut batch = WriteBatch::default();
        match value.get_mut(usize::from(at >> 8)) {
            Some(byte) if flip => {
                *byte ^= 0x10;
                batch.put(table, key, value);
            }
            _ => batch.delete(table, key),
        }
        net.store.commit(batch);
    }
}

fn state_of(net: &Net) -> primitives::Hash {
    let hash = state_hash(&net.store, &net.genesis).unwrap();
    hash.expect("nobody writes meanwhile").state
}

/// Damages a chain of this seed. Checks that each repaired chain has the same state as the original at its height.
fn harmed_chain_is_mended_or_refused(seed: u64, blocks: u64, which: &[u16], flip: bool) {
    let mut net = Net::new();
    grow(&mut net, &mut Dice(seed), blocks);
    harm(&net, which, flip);
    let found = look(&net);
    if found.mending.is_none() {
        assert!(found.is_sound() || found.beyond.is_some());
        return;
    }
    let height = mended(&net.store, &net.genesis, found);
    let mut right = Net::new();
    grow(&mut right, &mut Dice(seed), u64::from(height));
    assert_eq!(state_of(&net), state_of(&right));
}

/// Each of these cases was once repaired incorrectly.
#[test]
fn damage_that_was_mended_wrongly_is_not_any_more() {
    type Case = (u64, u64, &'static [u16], bool);
    let cases: &[Case] = &[(5_636_615_176_197_554_762, 39, &[73, 35_027], true)];
    for (seed, blocks, which, flip) in cases {
        harmed_chain_is_mended_or_refused(*seed, *blocks, which, *flip);
    }
}

proptest! {
    #![proptest_config(properties::config!(200))]

    #[test]
    fn whatever_is_mended_is_sound(seed: u64, blocks in 1u64..40, harm in 1usize..4, which: [u16; 4], flip: bool) {
        harmed_chain_is_mended_or_refused(seed, blocks, &which[..harm], flip);
    }

    #[test]
    fn pruned_chain_is_mended_soundly_or_refused(seed: u64, blocks in 40u32..80, count in 1usize..4, which: [u16; 4], flip: bool) {
        let (net, mut whole) = pruned(seed, blocks, 20);
        harm(&net, &which[..count], flip);
        let found = look(&net);
        if found.mending.is_none() {
            prop_assert!(found.is_sound() || found.beyond.is_some());
            return Ok(());
        }
        let height = mended(&net.store, &net.genesis, found);
        // Several damages may be consistent with each other. A single one must not be repaired into another chain.
        if count == 1 {
            while whole.height() > height {
                undo_block(&mut whole.overlay, &whole.genesis).unwrap();
            }
            whole.commit();
            for table in [Table::Balances, Table::Leases, Table::Lessors] {
                prop_assert_eq!(net.store.rows(table), whole.store.rows(table));
            }
            // Held balances are pruned. The remaining rows must give the same stakes.
            let net = Net {
                overlay: Overlay::open(net.store.clone(), &net.genesis).unwrap(),
                ..net
            };
            prop_assert_eq!(stakes(&net), stakes(&whole));
        }
    }
}
