//! Properties of random chains with random payments, leases and child blocks, by random forgers.

use std::collections::HashMap;

use chain::block::{CarriedBlock, CarriedEntry, CheckedBlock};
use chain::port::{Row, Table};
use chain::state::{
    Branch, Judged, Overlay, apply_block, effective_tokens, prune, state_hash, turn, undo_block,
};
use chain::{Body, ChainId, Height, Minutes};
use primitives::storage::TableSet;
use proptest::prelude::*;

use crate::state::kit::{ACCOUNTS, CHILDREN, EACH, Net, account, public, small};
use chain::genesis::ParamsOverrides;

/// SplitMix64: the same seed gives the same blocks.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    fn account(&mut self) -> usize {
        self.below(ACCOUNTS as u64) as usize
    }
}

/// The balances that accounts have left in this block.
struct Purse<'a> {
    net: &'a Net,
    spent: HashMap<(usize, u8), u64>,
}

impl Purse<'_> {
    fn left(&self, who: usize, chain: u8) -> u64 {
        let balance = self.net.overlay.balance(&account(who), ChainId(chain));
        balance.unwrap().get() - self.spent.get(&(who, chain)).copied().unwrap_or(0)
    }

    fn spend(&mut self, who: usize, chain: u8, amount: u64) -> bool {
        // Account 0 stays rich and never leases its balance away. A chain without any possible forger would test nothing.
        let kept = if who == 0 { EACH / 2 } else { 0 };
        if self.left(who, chain).saturating_sub(kept) < amount {
            return false;
        }
        *self.spent.entry((who, chain)).or_default() += amount;
        true
    }
}

/// Returns a random valid body. Some payments take nearly the whole balance, so that stakes fall to nothing and rise again.
pub fn body(net: &Net, dice: &mut Dice) -> Vec<CarriedEntry> {
    let mut purse = Purse {
        net,
        spent: HashMap::new(),
    };
    let mut entries = Vec::new();
    let payment = |dice: &mut Dice, purse: &mut Purse<'_>, chain: u8| {
        let (from, to) = (dice.account(), dice.account());
        let fee = match chain {
            1 => 100,
            // A payment to oneself must pay a fee.
            _ => dice.below(20).max(u64::from(from == to)),
        };
        let left = purse.left(from, chain).saturating_sub(fee);
        let amount = match dice.below(6) {
            0 => left,
            _ => left / 16 + 1,
        };
        let good = amount > 0 && purse.spend(from, chain, amount + fee);
        good.then(|| net.payment(from, to, chain, amount, fee))
    };
    for _ in 0..dice.below(4) {
        entries.extend(payment(dice, &mut purse, 1).map(Net::entry));
    }
    if dice.below(4) == 0 {
        let (from, to) = (dice.account(), dice.account());
        if from != to && from != 0 && purse.spend(from, 1, 100) {
            let blocks = 3 + dice.below(12) as u32;
            entries.push(Net::entry(net.lease(from, to, blocks)));
        }
    }
    for chain in 2..=CHILDREN + 1 {
        let bundler = dice.account();
        let count = dice.below(5);
        let mut children: Vec<_> = (0..count)
            .filter_map(|_| payment(dice, &mut purse, chain))
            .collect();
        children.sort_by_key(|child| child.id);
        children.dedup_by_key(|child| child.id);
        if !children.is_empty() && purse.spend(bundler, 1, 10 * children.len() as u64) {
            entries.push(net.bundle(bundler, children));
        }
    }
    entries.sort_by_key(|entry| entry.transaction.id);
    entries.dedup_by_key(|entry| entry.transaction.id);
    entries
}

/// Returns a random valid block by a random forger.
pub fn block(net: &mut Net, dice: &mut Dice) -> CarriedBlock {
    let turns: Vec<_> = (0..ACCOUNTS)
        .filter_map(|n| Some((n, turn(&net.overlay, &net.genesis, &public(n)).unwrap()?)))
        .collect();
    let (forger, time) = turns[dice.below(turns.len() as u64) as usize];
    net.clock = time;
    net.block_by(forger, time, body(net, dice))
}

pub fn grow(net: &mut Net, dice: &mut Dice, blocks: u64) -> Vec<CarriedBlock> {
    (0..blocks)
        .map(|_| {
            let block = block(net, dice);
            net.apply(&block).unwrap();
            net.commit();
            block
        })
        .collect()
}

pub fn all_rows(net: &Net) -> Vec<Vec<Row>> {
    Table::ALL
        .iter()
        .map(|table| net.store.rows(*table))
        .collect()
}

fn hash(net: &Net) -> primitives::Hash {
    let hash = state_hash(&net.store, &net.genesis).unwrap();
    hash.unwrap().state
}

pub fn stakes(net: &Net) -> Vec<u64> {
    (0..ACCOUNTS)
        .map(|n| {
            effective_tokens(&net.overlay, &net.genesis, &account(n))
                .unwrap()
                .get()
        })
        .collect()
}

fn supply(net: &Net, chain: u8) -> u64 {
    let rows = net.store.rows(Table::Balances);
    rows.iter()
        .filter(|(key, _)| key[16] == chain)
        .map(|(_, value)| u64::from_be_bytes(value.as_slice().try_into().unwrap()))
        .sum()
}

proptest! {
    #![proptest_config(properties::config!(64))]

    #[test]
    fn what_is_applied_and_taken_back_leaves_every_row_as_it_was(seed: u64, blocks in 1u64..40) {
        let mut net = Net::new();
        let mut dice = Dice(seed);
        let mut seen = vec![(all_rows(&net), hash(&net), stakes(&net))];
        let mut grown = Vec::new();
        for _ in 0..blocks {
            grown.extend(grow(&mut net, &mut dice, 1));
            seen.push((all_rows(&net), hash(&net), stakes(&net)));
            for chain in 1..=CHILDREN + 1 {
                prop_assert_eq!(supply(&net, chain), EACH * ACCOUNTS as u64, "chain {}", chain);
            }
        }
        seen.pop();
        while let Some((rows, hash_before, stakes_before)) = seen.pop() {
            let undone = undo_block(&mut net.overlay, &net.genesis).unwrap();
            net.commit();
            prop_assert_eq!(&*undone, grown.last().unwrap());
            grown.pop();
            prop_assert_eq!(&all_rows(&net), &rows);
            prop_assert_eq!(hash(&net), hash_before);
            prop_assert_eq!(stakes(&net), stakes_before);
        }
    }

    #[test]
    fn after_a_reorganisation_a_node_is_as_if_it_had_never_seen_the_other_branch(
        seed: u64, common in 0u64..30, lost in 1u64..12, won in 1u64..20,
    ) {
        let mut net = Net::new();
        let mut dice = Dice(seed);
        let trunk = grow(&mut net, &mut dice, common);
        let mut other = Net::new();
        for block in &trunk {
            other.apply(block).unwrap();
        }
        other.commit();
        grow(&mut net, &mut dice, lost);
        let winning = grow(&mut other, &mut dice, won);
        // Its headers pass before any block is undone, as far as the bound reaches.
        let mut branch = Branch::at(&net.overlay, &net.genesis, Height::new(common as u32)).unwrap();
        let bound = net.genesis.params.lease_delay_blocks as usize;
        for (place, block) in winning.iter().enumerate().take(bound + 1) {
            let judged = branch.push(&net.overlay, &net.genesis, &block.header, block.hash).unwrap();
            let expected = if place < bound { Judged::Counted } else { Judged::Unbounded };
            prop_assert_eq!(judged, expected, "header {}", place);
        }
        if winning.len() <= bound {
            prop_assert_eq!(branch.tip(), other.overlay.tip());
        }
        for _ in 0..lost {
            undo_block(&mut net.overlay, &net.genesis).unwrap();
        }
        for block in &winning {
            net.apply(block).unwrap();
        }
        net.commit();
        prop_assert_eq!(all_rows(&net), all_rows(&other));
        prop_assert_eq!(hash(&net), hash(&other));
        prop_assert_eq!(stakes(&net), stakes(&other));
        // The caches agree with a newly opened store.
        let fresh = Overlay::open(net.store.clone(), &net.genesis).unwrap();
        for block in trunk.iter().chain(&winning) {
            for carried in block.transactions() {
                prop_assert!(fresh.contains(&carried.id).unwrap());
                prop_assert!(net.overlay.contains(&carried.id).unwrap());
            }
        }
        net.overlay = fresh;
        prop_assert_eq!(stakes(&net), stakes(&other));
    }

    #[test]
    fn pruning_changes_neither_the_state_nor_who_may_forge(seed: u64, budget in 1usize..60, kept in 0u32..20) {
        let params = ParamsOverrides { deadline_minutes_max: Some(Minutes::new(1)), ..small() };
        let mut net = Net::with(params.clone());
        let mut dice = Dice(seed);
        let mut whole = Net::with(params);
        for _ in 0..70 {
            let block = block(&mut whole, &mut dice);
            whole.apply(&block).unwrap();
            whole.commit();
            net.apply(&block).unwrap();
            prune(&mut net.overlay, &net.genesis, Some(kept), budget).unwrap();
            net.commit();
            prop_assert_eq!(hash(&net), hash(&whole));
            prop_assert_eq!(stakes(&net), stakes(&whole));
        }
        let cached = stakes(&net);
        net.overlay = Overlay::open(net.store.clone(), &net.genesis).unwrap();
        prop_assert_eq!(stakes(&net), cached);
        // Every block within twice the rollback limit can still be undone, and no other.
        for _ in 0..2 * net.genesis.params.rollback_blocks_max {
            undo_block(&mut net.overlay, &net.genesis).unwrap();
            undo_block(&mut whole.overlay, &whole.genesis).unwrap();
            prop_assert_eq!(stakes(&net), stakes(&whole));
        }
        let too_deep = undo_block(&mut net.overlay, &net.genesis).unwrap_err();
        prop_assert!(too_deep.to_string().contains("chain_block.too_deep"), "{}", too_deep);
        if budget > 30 {
            for table in [Table::Held, Table::Undo, Table::Bodies, Table::TxIndex, Table::AccountTxs] {
                let (kept, all) = (net.store.rows(table).len(), whole.store.rows(table).len());
                prop_assert!(kept < all, "{:?}: {} of {}", table, kept, all);
            }
        }
    }

    #[test]
    fn any_part_of_a_block_is_a_valid_block(seed: u64, dropped: u64) {
        let mut net = Net::new();
        let mut dice = Dice(seed);
        grow(&mut net, &mut dice, 5);
        let full = block(&mut net, &mut dice);
        let mut dice = Dice(dropped);
        let mut part = Vec::new();
        for entry in &full.body {
            if dice.below(3) == 0 {
                continue;
            }
            let mut entry = entry.clone();
            if let Body::ChildBlock { .. } = entry.transaction.transaction.body {
                entry.children.retain(|_| dice.below(3) > 0);
                if entry.children.is_empty() {
                    continue;
                }
                let bundler = (0..ACCOUNTS).find(|n| account(*n) == entry.transaction.sender);
                entry = net.bundle(bundler.unwrap(), entry.children);
            }
            part.push(entry);
        }
        let forger = (0..ACCOUNTS).find(|n| public(*n) == full.header.forger);
        let block = net.block_by(forger.unwrap(), full.header.time, part);
        let block = CheckedBlock::from_store(block);
        apply_block(&mut net.overlay, &net.genesis, &block).unwrap();
    }
}
