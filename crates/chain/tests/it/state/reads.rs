//! The API's queries of the rows, compared with the blocks themselves, and garbage in rows.

use chain::block::CarriedBlock;
use chain::port::Table;
use chain::state::rows::{
    HeaderRow, LeaseRow, Place, read_account_txs, read_held_key, read_tip, read_undo,
};
use chain::state::{carried_block, read};
use chain::{AccountId, Body, ChainId, Height, MinorUnits, Transaction};
use proptest::prelude::*;

use crate::state::kit::{ACCOUNTS, CHILDREN, Net, account};
use crate::state::random::{Dice, grow};

/// Returns places and transactions of all blocks, oldest first.
fn all(blocks: &[CarriedBlock]) -> Vec<(Place, Transaction, AccountId)> {
    let mut found = Vec::new();
    for block in blocks {
        let height = block.header.height;
        let mut offset = 0;
        for carried in block.transactions() {
            let place = Place { height, offset };
            found.push((place, carried.transaction.clone(), carried.sender));
            offset += carried.bytes;
        }
    }
    found
}

fn concerns(who: AccountId, transaction: &Transaction, sender: AccountId) -> bool {
    let to = match transaction.body {
        Body::Payment { to, .. } | Body::Lease { to, .. } => Some(to),
        Body::ChildBlock { .. } => None,
    };
    sender == who || to == Some(who)
}

proptest! {
    #![proptest_config(properties::config!(64))]

    #[test]
    fn an_accounts_transactions_come_newest_first_page_by_page(seed: u64, blocks in 1u64..30, page in 1usize..7) {
        let mut net = Net::new();
        let blocks = grow(&mut net, &mut Dice(seed), blocks);
        let all = all(&blocks);
        for who in 0..ACCOUNTS {
            for chain in std::iter::once(None).chain((1..=CHILDREN + 1).map(|id| Some(ChainId(id)))) {
                let mut expected: Vec<Place> = all
                    .iter()
                    .filter(|(_, tx, sender)| {
                        concerns(account(who), tx, *sender) && chain.is_none_or(|id| id == tx.chain)
                    })
                    .map(|(place, ..)| *place)
                    .collect();
                expected.reverse();
                let mut found = Vec::new();
                loop {
                    let before = found.last().copied();
                    let places =
                        read::account_transactions(&net.store, &account(who), chain, before, page).unwrap();
                    prop_assert!(places.len() <= page);
                    let full = places.len() == page;
                    found.extend(places);
                    if !full {
                        break;
                    }
                }
                prop_assert_eq!(found, expected);
            }
        }
        for (place, transaction, _) in &all {
            let id = transaction.id(&net.genesis.hash);
            prop_assert_eq!(read::place_of(&net.store, &id).unwrap(), Some(*place));
            let found = read::transaction_at(&net.store, *place).unwrap();
            prop_assert_eq!(found.as_ref(), Some(transaction));
        }
        for block in &blocks {
            let height = block.header.height;
            prop_assert_eq!(read::height_of(&net.store, &block.hash).unwrap(), Some(height));
            let stored = carried_block(&net.store, &net.genesis, height).unwrap();
            prop_assert_eq!(stored.as_ref(), Some(block));
        }
        let headers = read::headers(&net.store, Height::new(2), 5).unwrap();
        let expected: Vec<Height> = (2..=net.height()).take(5).map(Height::new).collect();
        prop_assert_eq!(headers.iter().map(|row| row.header.height).collect::<Vec<_>>(), expected);
        for who in 0..ACCOUNTS {
            for (chain, balance) in read::balances(&net.store, &account(who)).unwrap() {
                prop_assert_eq!(net.overlay.balance(&account(who), chain).unwrap(), balance);
            }
        }
    }

    #[test]
    fn garbage_in_rows_is_damage_and_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = HeaderRow::read(&bytes);
        let _ = LeaseRow::read(&bytes);
        let _ = Place::read(&bytes);
        let _ = read_account_txs(&bytes);
        let _ = read_held_key(&bytes);
        let _ = read_tip(&bytes);
        let _ = read_undo(&bytes);
    }

    #[test]
    fn a_damaged_row_is_damage_for_whoever_comes_across_it(seed: u64, table in 0usize..11, row: u16, at: u16, to: u8) {
        let mut net = Net::new();
        let mut dice = Dice(seed);
        grow(&mut net, &mut dice, 6);
        let tables = [
            Table::Headers, Table::Bodies, Table::ByHash, Table::TxIndex, Table::AccountTxs, Table::Balances,
            Table::Held, Table::Leases, Table::Lessors, Table::Undo, Table::Meta,
        ];
        let rows = net.store.rows(tables[table]);
        if rows.is_empty() {
            return Ok(());
        }
        let (key, mut value) = rows[usize::from(row) % rows.len()].clone();
        if value.is_empty() {
            value.push(to);
        } else {
            let at = usize::from(at) % value.len();
            value[at] = to;
            value.truncate(value.len() - usize::from(to & 1));
        }
        net.overlay.put(tables[table], key, value);
        net.commit();
        // Damage must never cause a panic.
        let Ok(mut overlay) = chain::state::Overlay::open(net.store.clone(), &net.genesis) else {
            return Ok(());
        };
        for who in 0..ACCOUNTS {
            let _ = chain::state::effective_tokens(&overlay, &net.genesis, &account(who));
            let _ = read::account_transactions(&overlay, &account(who), None, None, 50);
            let _ = overlay.balance(&account(who), ChainId::PARENT);
        }
        let _ = chain::state::prune(&mut overlay, &net.genesis, Some(1), 100);
        while chain::state::undo_block(&mut overlay, &net.genesis).is_ok() {}
    }
}

#[test]
fn a_transaction_is_found_across_pieces_of_a_body() {
    let mut net = Net::new();
    // 1,500 transactions of 149 bytes, some with messages: more than three pieces.
    let mut entries = Vec::new();
    for n in 0..1_500u64 {
        let body = Body::Payment {
            to: account(2),
            amount: MinorUnits::new(n + 1),
            message: vec![b'x'; (n % 7) as usize * 20],
        };
        entries.push(Net::entry(net.carry(net.transaction(1, 1, 100, body))));
    }
    let block = net.block(entries);
    net.apply(&block).unwrap();
    net.commit();
    assert!(net.store.rows(Table::Bodies).len() > 3);
    for (place, transaction, _) in all(std::slice::from_ref(&block)) {
        let found = read::transaction_at(&net.store, place).unwrap();
        assert_eq!(found, Some(transaction));
    }
    let nowhere = Place {
        height: Height::new(9),
        offset: 0,
    };
    assert_eq!(read::transaction_at(&net.store, nowhere).unwrap(), None);
    let beyond = Place {
        height: Height::new(1),
        offset: block.header.body_bytes + 5,
    };
    assert!(read::transaction_at(&net.store, beyond).is_err());
}
