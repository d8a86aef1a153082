//! Applies a block to the branch. The block is checked as a whole and then written as a whole.

use std::collections::HashMap;

use primitives::Hash;

use super::check::{BlockContext, check_transaction};
use super::leases::Leasing;
use super::rows::{self, Former, HeaderRow, Place};
use super::touched::{Touched, conserves_supply};
use super::window::BlockSummary;
use super::{BlockFault, Overlay, Point, check_header};
use crate::block::{CarriedBlock, CarriedEntry, CheckedBlock, root_of};
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::transaction::{Body, Carried};
use crate::{AccountId, ChainId, Genesis, Height, MinorUnits, TxId};

/// A block that the state has accepted, with its effects. Only [`apply_block`] returns one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedBlock {
    height: Height,
    hash: Hash,
    touched: Vec<Touched>,
    fees: MinorUnits,
}

impl AppliedBlock {
    /// Returns the block's height.
    #[must_use]
    pub fn height(&self) -> Height {
        self.height
    }

    /// Returns the block's hash.
    #[must_use]
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// Returns every account that paid or received, sorted by account and chain.
    #[must_use]
    pub fn touched(&self) -> &[Touched] {
        &self.touched
    }

    /// Returns the fees of parent transactions in the parent token, which the forger earns.
    #[must_use]
    pub fn fees(&self) -> MinorUnits {
        self.fees
    }
}

/// Applies a block after the tip, as a whole or not at all. The caller must check the clock.
pub fn apply_block<R: Reads<Table>>(
    overlay: &mut Overlay<R>,
    genesis: &Genesis,
    block: &CheckedBlock,
) -> Result<AppliedBlock, BlockFault> {
    check_header(overlay, genesis, &block.header)?;
    check_shape(genesis, block)?;
    let context = BlockContext {
        time: block.header.time,
        height: block.header.height,
    };
    for carried in block.transactions() {
        check_transaction(overlay, genesis, carried, context).map_err(|fault| {
            match fault.rejection() {
                Ok(mut rejection) => {
                    rejection.detail = format!("{}: {}", carried.id, rejection.detail);
                    BlockFault::Invalid(rejection)
                }
                Err(failure) => BlockFault::Store(failure),
            }
        })?;
    }
    let (touched, fees) = debit_then_credit(overlay, block)?;
    assert!(
        conserves_supply(&touched),
        "block {} creates or destroys tokens",
        block.hash
    );
    assert_eq!(block.header.previous, overlay.tip.hash);
    assert_eq!(Some(block.header.height), overlay.tip.height.next());
    write(overlay, genesis, block, &touched, fees)?;
    assert_eq!(overlay.tip.hash, block.hash);
    Ok(AppliedBlock {
        height: block.header.height,
        hash: block.hash,
        touched,
        fees,
    })
}

/// Checks that the body matches the header, is in order, and is within the limits.
pub fn check_shape(genesis: &Genesis, block: &CarriedBlock) -> Result<(), BlockFault> {
    let header = &block.header;
    let mismatch = |what: &str| Err(BlockFault::body("chain_block.body_mismatch", what));
    if block.root() != header.root {
        return mismatch("the root does not match the transactions");
    }
    // From here on the header commits to every fault, because the ids determine everything except signatures.
    if !ascending(block.body.iter().map(|entry| &entry.transaction)) {
        return Err(BlockFault::invalid(
            "chain_block.order",
            "the parent transactions are out of order, or one occurs twice",
        ));
    }
    let mut chains = Vec::new();
    for entry in &block.body {
        let chain = entry.transaction.transaction.chain;
        if chain != ChainId::PARENT {
            return Err(BlockFault::invalid(
                "chain_block.child_blocks",
                format!("a transaction of chain {chain} outside a child block"),
            ));
        }
        match entry.transaction.transaction.body {
            Body::ChildBlock { child, count, root } => {
                check_child_block(genesis, entry, child, count, root)?;
                if chains.contains(&child) {
                    return Err(BlockFault::invalid(
                        "chain_block.child_blocks",
                        format!("two child blocks of chain {child}"),
                    ));
                }
                chains.push(child);
            }
            _ if !entry.children.is_empty() => {
                return mismatch(
                    "child transactions follow a transaction that is not a child block",
                );
            }
            _ => {}
        }
    }
    let children: usize = block.body.iter().map(|entry| entry.children.len()).sum();
    let bytes: u64 = block.transactions().map(|tx| u64::from(tx.bytes)).sum();
    if header.parent_count as usize != block.body.len()
        || header.child_count as usize != children
        || u64::from(header.body_bytes) != bytes
    {
        return Err(BlockFault::invalid(
            "chain_block.counts",
            format!(
                "the body has {} parent and {children} child transactions in {bytes} bytes",
                block.body.len()
            ),
        ));
    }
    Ok(())
}

fn check_child_block(
    genesis: &Genesis,
    entry: &CarriedEntry,
    child: ChainId,
    count: u32,
    root: Hash,
) -> Result<(), BlockFault> {
    let ids: Vec<TxId> = entry.children.iter().map(|carried| carried.id).collect();
    if root_of(&ids) != root {
        return Err(BlockFault::body(
            "chain_block.body_mismatch",
            format!("the child block of chain {child} carries other transactions"),
        ));
    }
    if ids.len() != count as usize {
        return Err(BlockFault::invalid(
            "chain_block.counts",
            format!(
                "the child block of chain {child} carries {} transactions, expected {count}",
                ids.len()
            ),
        ));
    }
    if !ascending(entry.children.iter()) {
        return Err(BlockFault::invalid(
            "chain_block.order",
            format!("transactions of chain {child} are out of order, or one occurs twice"),
        ));
    }
    if entry
        .children
        .iter()
        .any(|carried| carried.transaction.chain != child)
    {
        return Err(BlockFault::invalid(
            "chain_block.child_blocks",
            format!("the child block of chain {child} carries another chain's transaction"),
        ));
    }
    let bytes: u64 = entry.children.iter().map(|tx| u64::from(tx.bytes)).sum();
    if bytes > u64::from(genesis.params.child_block_bytes_max) {
        return Err(BlockFault::invalid(
            "chain_block.too_large",
            format!(
                "the child block of chain {child} has {bytes} bytes, expected at most {}",
                genesis.params.child_block_bytes_max
            ),
        ));
    }
    Ok(())
}

fn ascending<'a>(transactions: impl Iterator<Item = &'a std::sync::Arc<Carried>>) -> bool {
    transactions.is_sorted_by(|a, b| a.id < b.id)
}

#[derive(Default)]
struct Flow {
    debit: MinorUnits,
    credit: MinorUnits,
}

/// Sums up debits and credits. Every account must have its debits before the block. All debits are checked before any credit is
/// added, because the credits of a block are bounded by the supply only if all debits are covered.
fn debit_then_credit<R: Reads<Table>>(
    overlay: &Overlay<R>,
    block: &CarriedBlock,
) -> Result<(Vec<Touched>, MinorUnits), BlockFault> {
    let mut flows: HashMap<(AccountId, ChainId), Flow> = HashMap::new();
    let fees = add_up(block, &mut flows).ok_or_else(|| {
        BlockFault::invalid("chain_block.overdrawn", "a sum of amounts exceeds 64 bits")
    })?;
    let mut places: Vec<_> = flows.into_iter().collect();
    places.sort_unstable_by_key(|(place, _)| *place);
    let mut rests = Vec::with_capacity(places.len());
    for ((account, chain), flow) in places {
        let before = overlay.balance(&account, chain)?;
        let debit = flow.debit;
        let rest = before.checked_sub(debit).ok_or_else(|| {
            BlockFault::invalid(
                "chain_block.overdrawn",
                format!(
                    "{account} pays {} and has {}",
                    debit.on(chain),
                    before.on(chain)
                ),
            )
        })?;
        rests.push((account, chain, before, rest, flow));
    }
    let mut touched = Vec::with_capacity(rests.len());
    for (account, chain, before, rest, flow) in rests {
        // Credits were debited elsewhere, and the supply is within half of the range. Only a damaged row can lead here.
        let after = rest
            .checked_add(flow.credit)
            .ok_or_else(|| damaged(format!("{account} exceeds the supply of chain {chain}")))?;
        touched.push(Touched {
            account,
            chain,
            before,
            after,
            debit: flow.debit,
        });
    }
    Ok((touched, fees))
}

/// Sums up the flows and the fees. Returns `None` if a sum exceeds 64 bits.
fn add_up(
    block: &CarriedBlock,
    flows: &mut HashMap<(AccountId, ChainId), Flow>,
) -> Option<MinorUnits> {
    let mut fees = MinorUnits::ZERO;
    let mut pay = |carried: &Carried| {
        let transaction = &carried.transaction;
        let flow = flows
            .entry((carried.sender, transaction.chain))
            .or_default();
        flow.debit = flow.debit.checked_add(transaction.debit()?)?;
        if let Body::Payment { to, amount, .. } = transaction.body {
            let flow = flows.entry((to, transaction.chain)).or_default();
            flow.credit = flow.credit.checked_add(amount)?;
        }
        Some(())
    };
    let mut earned = Vec::new();
    for entry in &block.body {
        pay(&entry.transaction)?;
        fees = fees.checked_add(entry.transaction.transaction.fee)?;
        let mut child_fees = MinorUnits::ZERO;
        for child in &entry.children {
            pay(child)?;
            child_fees = child_fees.checked_add(child.transaction.fee)?;
        }
        if let Some(child) = entry.children.first() {
            let bundler = (entry.transaction.sender, child.transaction.chain);
            earned.push((bundler, child_fees));
        }
    }
    earned.push(((block.header.forger_account(), ChainId::PARENT), fees));
    for (who, fees) in earned {
        if !fees.is_zero() {
            let flow = flows.entry(who).or_default();
            flow.credit = flow.credit.checked_add(fees)?;
        }
    }
    Some(fees)
}

/// Writes the rows of a block into the overlay: balances, leases, its index and its header, and the undo row with the former rows.
fn write<R: Reads<Table>>(
    overlay: &mut Overlay<R>,
    genesis: &Genesis,
    block: &CarriedBlock,
    touched: &[Touched],
    fees: MinorUnits,
) -> Result<(), StoreFailure> {
    let height = block.header.height;
    let mut former = Vec::with_capacity(touched.len());
    // Leases come first: they read rows, and a read may fail before any other row is written.
    let leases = lease(overlay, genesis, block, &mut former)?;
    for change in touched {
        if change.before == change.after {
            continue;
        }
        let key = rows::balance_key(&change.account, change.chain);
        let before = (!change.before.is_zero()).then(|| change.before.to_be_bytes().to_vec());
        former.push((Table::Balances, key.to_vec(), before));
        overlay.set_balance(&change.account, change.chain, change.after);
        if change.chain == ChainId::PARENT {
            overlay.put(
                Table::Held,
                rows::held_key(&change.account, height),
                change.after.to_be_bytes(),
            );
        }
    }
    index(overlay, block);
    let row = HeaderRow {
        header: block.header.clone(),
        hash: block.hash,
        fees,
        leases,
        children: child_counts(block),
    };
    overlay.put(Table::Headers, height.to_be_bytes(), row.to_bytes());
    overlay.put(Table::ByHash, *block.hash.as_bytes(), height.to_be_bytes());
    let body = block.body_bytes();
    for (piece, bytes) in (0..=u16::MAX).zip(body.chunks(rows::PIECE_BYTES)) {
        overlay.put(Table::Bodies, rows::body_key(height, piece), bytes);
    }
    overlay.put(Table::Undo, height.to_be_bytes(), rows::undo_value(&former));
    overlay.put(
        Table::Meta,
        rows::META_TIP,
        rows::tip_value(height, &block.hash),
    );
    overlay.window.push(height, BlockSummary::of(&row))?;
    overlay.tip = Point::of(&block.header, block.hash);
    Ok(())
}

/// Ends and begins leases, and returns the number of changed rows. If the store fails here, the caller must stop.
fn lease<R: Reads<Table>>(
    overlay: &mut Overlay<R>,
    genesis: &Genesis,
    block: &CarriedBlock,
    former: &mut Vec<Former>,
) -> Result<u32, StoreFailure> {
    let mut leasing = Leasing {
        overlay,
        former,
        changes: 0,
    };
    let height = block.header.height;
    leasing.end(height)?;
    for entry in &block.body {
        let carried = &entry.transaction;
        if let Body::Lease { to, blocks } = carried.transaction.body {
            leasing.lease(genesis, height, &carried.sender, to, blocks)?;
        }
    }
    Ok(leasing.changes)
}

fn child_counts(block: &CarriedBlock) -> Vec<(ChainId, u32)> {
    let mut counts: Vec<_> = block
        .body
        .iter()
        .filter_map(|entry| match entry.transaction.transaction.body {
            Body::ChildBlock { child, count, .. } => Some((child, count)),
            _ => None,
        })
        .collect();
    counts.sort_unstable();
    counts
}

/// Writes the rows that index the block's transactions by id and by account.
fn index<R: Reads<Table>>(overlay: &mut Overlay<R>, block: &CarriedBlock) {
    let height = block.header.height;
    for (account, mut places) in account_places(block) {
        overlay.put(
            Table::AccountTxs,
            rows::held_key(&account, height),
            rows::account_txs_value(&mut places),
        );
    }
    let mut offset = 0;
    for carried in block.transactions() {
        let place = Place { height, offset };
        overlay.put(Table::TxIndex, carried.id.0, place.to_bytes());
        overlay.recent.add(&carried.id);
        offset += carried.bytes;
    }
}

/// Returns the chains and offsets of each account's transactions in a block, as sender or recipient.
pub(super) fn account_places(block: &CarriedBlock) -> HashMap<AccountId, Vec<(ChainId, u32)>> {
    let mut places: HashMap<AccountId, Vec<(ChainId, u32)>> = HashMap::new();
    let mut offset = 0u32;
    for carried in block.transactions() {
        let place = (carried.transaction.chain, offset);
        places.entry(carried.sender).or_default().push(place);
        let to = match carried.transaction.body {
            Body::Payment { to, .. } | Body::Lease { to, .. } => to,
            Body::ChildBlock { .. } => carried.sender,
        };
        if to != carried.sender {
            places.entry(to).or_default().push(place);
        }
        offset += carried.bytes;
    }
    places
}
