//! Checks that a store's rows are consistent. Operators can request it, and a repair is judged by it.

use std::collections::BTreeMap;

use super::hash::each_row;
use super::leases::{end_key, leases_of};
use super::rows::{self, LeaseRow, Place};
use super::undo::carried_block;
use super::{Pruned, check_shape, read};
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::{AccountId, ChainId, Genesis, Height, MinorUnits};

/// The results of a verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// The tip's height.
    pub height: Height,
    /// Number of blocks with compared headers, bodies and indexes.
    pub blocks: u32,
    /// Number of transactions in them.
    pub transactions: u64,
    /// Number of balances. All were added up.
    pub balances: u64,
}

/// Compares rows: the last `blocks` blocks with their hashes, links, bodies and indexes, all balances with the supply of genesis
/// and with the held balances, and all leases with their lessors. `chain.store_damaged` names the first inconsistency.
///
/// No other process may write to the store in the meantime. Signatures are not checked again.
pub fn verify_store(
    reads: &impl Reads<Table>,
    genesis: &Genesis,
    blocks: u32,
) -> Result<Verified, StoreFailure> {
    if reads.get(Table::Meta, rows::META_GENESIS)? != Some(genesis.to_bytes()) {
        return Err(damaged("the stored genesis is not the network's"));
    }
    let mut verified = Verified::default();
    verify_blocks(reads, genesis, blocks, &mut verified)?;
    verify_balances(reads, genesis, &mut verified)?;
    verify_leases(reads)?;
    Ok(verified)
}

/// Compares all balances with the supply of genesis and with the held balances, and all leases with their ends and lessors.
pub(super) fn verify_state(
    reads: &impl Reads<Table>,
    genesis: &Genesis,
) -> Result<(), StoreFailure> {
    verify_balances(reads, genesis, &mut Verified::default())?;
    verify_leases(reads)
}

fn verify_blocks(
    reads: &impl Reads<Table>,
    genesis: &Genesis,
    blocks: u32,
    verified: &mut Verified,
) -> Result<(), StoreFailure> {
    let (tip, tip_hash) = read::tip(reads)?;
    verified.height = tip;
    let pruned = Pruned::load(reads)?;
    let mut above = tip_hash;
    for height in Height::FIRST.through(tip).rev().take(blocks as usize) {
        let no = |what: &str| damaged(format!("block {height}: {what}"));
        let row = read::header(reads, height)?.ok_or_else(|| no("the header is missing"))?;
        if row.hash != above || row.header.hash(&genesis.hash) != above {
            return Err(no(
                "the hash does not match the header, the next block or the tip",
            ));
        }
        if read::height_of(reads, &above)? != Some(height) {
            return Err(no("the index entry of its hash is missing or wrong"));
        }
        if height > pruned.undo && reads.get(Table::Undo, &height.to_be_bytes())?.is_none() {
            return Err(no("the undo rows are missing"));
        }
        above = row.header.previous;
        verified.blocks += 1;
        if height <= pruned.bodies {
            continue;
        }
        let block =
            carried_block(reads, genesis, height)?.ok_or_else(|| no("the body is missing"))?;
        check_shape(genesis, &block).map_err(|fault| no(&fault.to_string()))?;
        let mut offset = 0;
        for carried in block.transactions() {
            if read::place_of(reads, &carried.id)? != Some(Place { height, offset }) {
                let text = format!(
                    "the index entry of transaction {} is missing or wrong",
                    carried.id
                );
                return Err(no(&text));
            }
            offset += carried.bytes;
            verified.transactions += 1;
        }
    }
    let whole = verified.blocks == tip.get();
    if whole && above != genesis.hash {
        return Err(damaged("the first block does not follow genesis"));
    }
    Ok(())
}

fn verify_balances(
    reads: &impl Reads<Table>,
    genesis: &Genesis,
    verified: &mut Verified,
) -> Result<(), StoreFailure> {
    let mut sums: BTreeMap<ChainId, u128> = BTreeMap::new();
    each_row(reads, Table::Balances, |key, value| {
        let (account, chain) = key
            .split_first_chunk::<16>()
            .ok_or_else(|| damaged("a balance's key has a wrong length"))?;
        let (account, balance) = (AccountId(*account), rows::read_minor_units(value)?);
        let [chain] = *chain else {
            return Err(damaged("a balance's key has a wrong length"));
        };
        *sums.entry(ChainId(chain)).or_default() += balance.get_u128();
        verified.balances += 1;
        if ChainId(chain) == ChainId::PARENT && newest_held(reads, &account)? != balance {
            return Err(damaged(format!(
                "{account}: the newest held balance differs from the balance"
            )));
        }
        Ok(())
    })?;
    for (id, chain) in &genesis.chains {
        // A chain without balances has nothing.
        let sum = sums.remove(id).unwrap_or(0);
        if sum != chain.supply.get_u128() {
            return Err(damaged(format!(
                "chain {id}: the balances add up to {sum}, expected {}",
                chain.supply
            )));
        }
    }
    match sums.keys().next() {
        Some(id) => Err(damaged(format!(
            "there are balances of chain {id}, which does not exist"
        ))),
        None => Ok(()),
    }
}

fn newest_held(reads: &impl Reads<Table>, account: &AccountId) -> Result<MinorUnits, StoreFailure> {
    let from = rows::held_key(account, Height::LAST);
    let to = [&rows::held_key(account, Height::GENESIS)[..], &[0]].concat();
    let found = reads.scan(Table::Held, &from, Some(&to), 1)?;
    match found.first() {
        Some((_, value)) => rows::read_minor_units(value),
        None => Ok(MinorUnits::ZERO),
    }
}

fn verify_leases(reads: &impl Reads<Table>) -> Result<(), StoreFailure> {
    let mut links = 0u64;
    each_row(reads, Table::Leases, |key, value| {
        match (key.first(), key.len()) {
            (Some(0), 17) => {
                let lessor = account_of(&key[1..])?;
                let row = LeaseRow::read(value)?;
                let mut lessees: Vec<AccountId> = row.leases().map(|lease| lease.to).collect();
                lessees.sort_unstable();
                lessees.dedup();
                for lessee in lessees {
                    let link = rows::lessor_key(&lessee, &lessor);
                    if reads.get(Table::Lessors, &link)?.is_none() {
                        return Err(damaged(format!(
                            "{lessee} has no row for its lessor {lessor}"
                        )));
                    }
                    links += 1;
                }
                if reads
                    .get(Table::Leases, &end_key(row.now.until, &lessor))?
                    .is_none()
                {
                    return Err(damaged(format!("the lease of {lessor} has no end row")));
                }
            }
            (Some(1), 21) => {
                let lessor = account_of(&key[5..])?;
                let until = rows::read_height(&key[1..5])?;
                if leases_of(reads, &lessor)?.is_none_or(|row| row.now.until != until) {
                    return Err(damaged(format!("{lessor}: an end row without a lease")));
                }
            }
            _ => return Err(damaged("a lease's key has a wrong length")),
        }
        Ok(())
    })?;
    // The count of a lessee comes before its lessors.
    let mut counting: Option<(AccountId, u32)> = None;
    each_row(reads, Table::Lessors, |key, value| {
        if key.len() == 16 {
            let left = counting.replace((account_of(key)?, rows::read_u32(value)?));
            return counted(left);
        }
        // A shorter key is refused by `account_of`.
        let lessee = account_of(key.get(..16).unwrap_or_default())?;
        links = links.wrapping_sub(1);
        match &mut counting {
            Some((of, left)) if *of == lessee && *left > 0 => *left -= 1,
            _ => return Err(damaged(format!("{lessee} has a wrong number of lessors"))),
        }
        Ok(())
    })?;
    counted(counting)?;
    if links != 0 {
        return Err(damaged("there are lessors without a lease"));
    }
    Ok(())
}

fn counted(left: Option<(AccountId, u32)>) -> Result<(), StoreFailure> {
    match left {
        Some((lessee, left)) if left > 0 => {
            Err(damaged(format!("{lessee} has a wrong number of lessors")))
        }
        _ => Ok(()),
    }
}

fn account_of(bytes: &[u8]) -> Result<AccountId, StoreFailure> {
    let account = bytes.try_into().map(AccountId);
    account.map_err(|_| damaged("an account in a key has a wrong length"))
}
