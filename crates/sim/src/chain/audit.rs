//! The rules that must hold at the end of a run.

use std::collections::{BTreeMap, HashSet};

use chain::block::CheckedBlock;
use chain::core::{equivocations, limits};
use chain::port::{Reads, Table};
use chain::state::{
    Fault, MemoryStore, Overlay, Pruned, apply_block, carried_block, prune, read, rows,
};
use chain::{ChainId, Genesis, Height, TxId};

use super::Scenario;
use super::plan::{ACCOUNTS, key, public};
use super::world::World;

/// Tables that are equal on every node with the same chain. The table of bodies is not among them, because a transaction may be
/// signed in more than one way.
const SAME: [Table; 8] = [
    Table::Headers,
    Table::ByHash,
    Table::TxIndex,
    Table::AccountTxs,
    Table::Balances,
    Table::Held,
    Table::Leases,
    Table::Lessors,
];

/// Rows that one sweep of the pruning looks at: more than a run has.
const ROWS_MAX: usize = 1_000_000;
/// Maximum number of sweeps until nothing is left to prune.
const SWEEPS_MAX: usize = 4;

/// Checks all rules and records the violations.
pub(super) fn audit(world: &mut World) {
    let mut tips = BTreeMap::new();
    for n in 0..world.nodes.len() {
        let node = &world.nodes[n];
        let Some(core) = &node.core else {
            world.violated(format!("node {n} is down"));
            continue;
        };
        let figures = core.figures();
        let tip = (figures.tip.height, figures.tip.hash);
        tips.entry(tip).or_insert_with(Vec::new).push(n);
        world.tally.forks += figures.forks;
        world.tally.deepest_fork = world.tally.deepest_fork.max(figures.deepest_fork);
        world.tally.deep_branches += figures.deep_branches;
        if figures.failed_forgings > 0 {
            world.violated(format!(
                "node {n} forged {} blocks that break a rule: {:?}",
                figures.failed_forgings, figures.last_bad
            ));
        }
    }
    if tips.len() != 1 {
        world.violated(format!("{} tips: {tips:?}", tips.len()));
        return;
    }
    evidence(world);
    let confirmed = same_as_never_forked(world);
    supply(world);
    accepted(world, &confirmed);
}

/// Checks that a fresh node which applies only the winning chain has the same rows. Returns the ids of the chain's transactions.
fn same_as_never_forked(world: &mut World) -> HashSet<TxId> {
    let mut confirmed = HashSet::new();
    let fast: Vec<[u8; 32]> = match world.plan.scenario {
        Scenario::FastClock { stake_tenths, .. } => {
            (0..stake_tenths).map(|n| public(&key(n))).collect()
        }
        _ => Vec::new(),
    };
    let genesis = world.plan.genesis.clone();
    let store = world.nodes[0].store.clone();
    let fresh = MemoryStore::new();
    let Ok(mut overlay) = Overlay::open(fresh.clone(), &genesis) else {
        world.violated("a fresh store does not open".into());
        return confirmed;
    };
    let height = read::tip(&store).map_or(Height::GENESIS, |(height, _)| height);
    world.tally.blocks = u64::from(height.get());
    for height in Height::FIRST.through(height) {
        let Ok(Some(block)) = carried_block(&store, &genesis, height) else {
            world.violated(format!("block {height} is not there"));
            return confirmed;
        };
        let forged_fast = fast.contains(&block.header.forger);
        world.tally.fast_blocks += u64::from(forged_fast);
        for carried in block.transactions() {
            if !confirmed.insert(carried.id) {
                world.violated(format!("{} is there twice", carried.id));
            }
        }
        let block = CheckedBlock::from_store(block);
        if let Err(fault) = apply_block(&mut overlay, &genesis, &block) {
            world.violated(format!("block {height} does not apply: {fault}"));
            return confirmed;
        }
    }
    world.tally.transactions = confirmed.len() as u64;
    fresh.commit(overlay.take_batch());
    overlay.committed();
    let nodes = world.nodes.iter().map(|node| &node.store);
    let stores: Vec<MemoryStore> = nodes.chain([&fresh]).cloned().collect();
    for store in stores {
        if let Err(fault) = prune_all(&store, &genesis) {
            world.violated(format!("a store cannot be pruned: {fault}"));
        }
    }
    for table in SAME {
        let expected = fresh.rows(table);
        for n in 0..world.nodes.len() {
            if world.nodes[n].store.rows(table) != expected {
                world.violated(format!(
                    "node {n}: table {table:?} differs from that of a replay of the chain"
                ));
            }
        }
    }
    confirmed
}

/// Deletes all rows that are no longer needed. Nodes delete them gradually, each at its own time.
fn prune_all(store: &MemoryStore, genesis: &Genesis) -> Result<(), Fault> {
    let mut overlay = Overlay::open(store.clone(), genesis)?;
    let mut before = Pruned::load(&overlay)?;
    for _ in 0..SWEEPS_MAX {
        let after = prune(&mut overlay, genesis, None, ROWS_MAX)?;
        if after == before {
            break;
        }
        before = after;
    }
    store.commit(overlay.take_batch());
    Ok(())
}

/// Checks that nodes keep evidence against attackers only, and that every node keeps some if a forger equivocates at each of its
/// turns.
fn evidence(world: &mut World) {
    let attackers = public(&key(ACCOUNTS - 1));
    let expected = matches!(world.plan.scenario, Scenario::Equivocation { .. });
    for n in 0..world.nodes.len() {
        let kept = equivocations(&world.nodes[n].store, None, limits::EQUIVOCATIONS_MAX);
        let Ok(kept) = kept else {
            world.violated(format!("node {n} cannot read its evidence"));
            continue;
        };
        world.tally.evidence += kept.len() as u64;
        if expected && kept.is_empty() {
            world.violated(format!("node {n} keeps no evidence"));
        }
        for one in &kept {
            let proved = one.verify(&world.plan.genesis.hash);
            let is_of_attackers = world.plan.adversaries > 0 && one.first.forger == attackers;
            if proved.is_err() || !is_of_attackers {
                let forger = one.first.forger_account();
                world.violated(format!(
                    "node {n} keeps evidence against {forger}: {proved:?}"
                ));
            }
        }
    }
}

/// Checks that the balances of each token add up to its supply at genesis.
fn supply(world: &mut World) {
    let store = world.nodes[0].store.clone();
    let mut sums: BTreeMap<ChainId, u64> = BTreeMap::new();
    for (key, value) in store.rows(Table::Balances) {
        let chain = ChainId(*key.last().expect("a key of a balance"));
        *sums.entry(chain).or_default() += rows::read_minor_units(&value).expect("a balance").get();
    }
    for (id, chain) in &world.plan.genesis.clone().chains {
        // A token without balances has a sum of 0.
        let sum = sums.get(id).copied().unwrap_or(0);
        if sum != chain.supply.get() {
            world.violated(format!("chain {id}: {sum} of {}", chain.supply));
        }
    }
}

/// Checks that each transaction accepted from a client is on the chain or has left the pool with a reason.
fn accepted(world: &mut World, confirmed: &HashSet<TxId>) {
    for n in 0..world.nodes.len() {
        for id in std::mem::take(&mut world.nodes[n].accepted) {
            if confirmed.contains(&id) {
                continue;
            }
            if world.left(n, &id).is_some() {
                world.tally.left += 1;
                continue;
            }
            let status: Vec<_> = world
                .nodes
                .iter()
                .map(|node| node.core.as_ref()?.pool().status(&id))
                .collect();
            let row = world.nodes[n].store.get(Table::Pool, &id.0);
            let row = row.is_ok_and(|row| row.is_some());
            world.violated(format!(
                "node {n} accepted {id}, which is in no block and in no pool: pools {status:?}, row kept {row}"
            ));
        }
    }
}
