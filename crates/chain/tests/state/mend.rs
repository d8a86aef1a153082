//! Damaged stores: what is found, what is mended, what is beyond it.

use chain::port::{Table, WriteBatch};
use chain::state::rows::{META_TIP, held_key};
use chain::state::{
    Depth, Examined, MemoryStore, Overlay, examine, state_hash, undo_block, verify_store,
};
use chain::{Genesis, port::Reads};
use primitives::storage::TableSet;
use proptest::prelude::*;

use crate::kit::{Net, account};
use crate::random::{Dice, grow};

/// Payments, a lease and a child block in blocks 1, 3 and 4; blocks 2 and 5 are empty.
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

/// Commits what mends; the store must be sound in every way then, and open.
fn mended(store: &MemoryStore, genesis: &Genesis, found: Examined) -> u32 {
    let mending = found.mending.expect("it can be mended");
    store.commit(mending.batch);
    verify_store(store, genesis, u32::MAX).unwrap();
    let again = examine(store.clone(), genesis, Depth::ALL).unwrap();
    assert!(again.is_sound(), "{:?}", again.damage);
    let overlay = Overlay::open(store.clone(), genesis).unwrap();
    assert_eq!(overlay.tip().height, mending.height);
    mending.height
}

/// The state's hash at a height that the network went through.
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
    assert_eq!((found.height, found.blocks, found.replayed), (5, 5, 5));
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
    // Block 5 has none, block 4 has some: no further one.
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
    // What goes wrong, and the height of the tip after it is mended.
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
            (Table::Held, held_key(&account(6), 3).to_vec(), None)
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
    // Blocks 4 and 5 were whole; block 4 has one transaction that is no child block.
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
    // A balance that no block has touched is beyond what blocks can tell, and so is the rest then.
    let net = grown();
    let mut batch = WriteBatch::default();
    batch.delete(Table::Balances, [&account(9).0[..], &[2]].concat());
    batch.delete(Table::ByHash, net.overlay.tip().hash.as_bytes().to_vec());
    net.store.commit(batch);
    let found = look(&net);
    assert!(found.mending.is_none());
    assert_eq!(found.failure().code, "chain.store_beyond_repair");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_is_mended_is_sound(seed: u64, blocks in 1u64..40, harm in 1usize..4, which: [u16; 4], flip: bool) {
        let mut net = Net::new();
        let mut dice = Dice(seed);
        grow(&mut net, &mut dice, blocks);
        net.commit();
        let rows: Vec<_> = Table::ALL
            .iter()
            .flat_map(|table| net.store.rows(*table).into_iter().map(|row| (*table, row)))
            .filter(|(table, (key, _))| *table != Table::Meta || key == META_TIP)
            .collect();
        for at in &which[..harm] {
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
        let found = look(&net);
        if found.mending.is_some() {
            mended(&net.store, &net.genesis, found);
        } else {
            prop_assert!(found.is_sound() || found.beyond.is_some());
        }
    }
}
