//! Effective balances: the balance that an account has held long enough, and the balances leased to it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Overlay, leases, rows};
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::{AccountId, Genesis, Height, MinorUnits, Params, WholeTokens};

/// Lease rows as they were at some block, for rows that differ from those at the tip.
pub(super) type Former = BTreeMap<(Table, Vec<u8>), Option<Vec<u8>>>;

/// The leases as they were at some block: [`Former`] takes precedence over the stored rows.
pub(super) struct LeasesAt<'a, R> {
    pub(super) overlay: &'a Overlay<R>,
    pub(super) former: &'a Former,
}

/// A lease that covers a height.
struct Covering {
    /// The lessee.
    to: AccountId,
    /// Whether it follows another lease, so that a block in between may still replace it.
    follows: bool,
}

impl<R: Reads<Table>> LeasesAt<'_, R> {
    /// Returns the account's lease that covers a height.
    fn covering(
        &self,
        lessor: &AccountId,
        height: Height,
    ) -> Result<Option<Covering>, StoreFailure> {
        let key = leases::lease_key(lessor);
        let value = match self.former.get(&(Table::Leases, key.to_vec())) {
            Some(former) => former.clone(),
            None => self.overlay.get(Table::Leases, &key)?,
        };
        let Some(value) = value else { return Ok(None) };
        let row = rows::LeaseRow::read(&value)?;
        let covering = row.leases().find(|lease| lease.covers(height));
        Ok(covering.map(|lease| Covering {
            to: lease.to,
            follows: !row.now.covers(height),
        }))
    }

    /// Returns all accounts that may have leased to an account.
    fn lessors(&self, lessee: &AccountId) -> Result<BTreeSet<AccountId>, StoreFailure> {
        let mut lessors = leases::lessors(self.overlay, lessee)?;
        for ((table, key), value) in self.former {
            let Some(lessor) = key.strip_prefix(&lessee.0[..]) else {
                continue;
            };
            let (Table::Lessors, Ok(lessor)) = (*table, lessor.try_into()) else {
                continue;
            };
            match value {
                Some(_) => lessors.insert(AccountId(lessor)),
                None => lessors.remove(&AccountId(lessor)),
            };
        }
        Ok(lessors)
    }
}

/// Returns the effective balance of an account for a block of `height`, in the parent token. This is the lowest balance at the ends of
/// those heights of the window that lie at or below `common`, or zero while the account is leased out. The same is added for
/// every account that leases to it.
///
/// With `common` directly below `height` the result is exact. With a lower one it is an upper bound, and `None` if the window
/// does not reach down to it.
pub(super) fn effective<R: Reads<Table>>(
    leases: &LeasesAt<'_, R>,
    params: &Params,
    account: &AccountId,
    height: Height,
    common: Height,
) -> Result<Option<MinorUnits>, StoreFailure> {
    // In a young chain the window begins at genesis.
    let lowest = height.minus_or_genesis(params.effective_age_blocks);
    // At or below the common block all leases are known.
    let beyond_leases = height
        .blocks_since(common)
        .is_some_and(|blocks| blocks > params.lease_delay_blocks);
    // A window that begins above the common block, and leases that began above it, give no bound.
    let exact = common.next() == Some(height);
    if !exact && (lowest > common || beyond_leases) {
        return Ok(None);
    }
    // Nothing is below genesis.
    let upper = common.min(height.minus_or_genesis(1));
    let held = |account: &AccountId| leases.overlay.held_least(account, lowest.min(upper), upper);
    let mut sum = match leases.covering(account, height)? {
        // A lease that follows may be replaced above the common block by one that begins too late to matter. The account then
        // counts for itself again.
        Some(lease) if exact || !lease.follows => MinorUnits::ZERO,
        _ => held(account)?,
    };
    for lessor in leases.lessors(account)? {
        if leases
            .covering(&lessor, height)?
            .is_some_and(|lease| lease.to == *account)
        {
            sum = sum
                .checked_add(held(&lessor)?)
                .ok_or_else(|| damaged("held balances exceed the supply"))?;
        }
    }
    Ok(Some(sum))
}

/// Returns the whole tokens of an effective balance, or none if they are below the minimum for forging.
pub(super) fn tokens(genesis: &Genesis, balance: MinorUnits) -> WholeTokens {
    let tokens = genesis.parent_tokens(balance);
    if tokens < genesis.params.effective_tokens_min {
        WholeTokens::ZERO
    } else {
        tokens
    }
}

/// Returns the effective balance of an account for the next block in whole tokens, or none if it is too low to forge.
pub fn effective_tokens<R: Reads<Table>>(
    overlay: &Overlay<R>,
    genesis: &Genesis,
    account: &AccountId,
) -> Result<WholeTokens, StoreFailure> {
    let leases = LeasesAt {
        overlay,
        former: &Former::new(),
    };
    let common = overlay.tip.height;
    let height = overlay.tip.next_height();
    let balance = effective(&leases, &genesis.params, account, height, common)?;
    Ok(tokens(
        genesis,
        balance.expect("the next block has an exact balance"),
    ))
}

/// Returns at most `max` keys that forged the last `blocks` blocks (of those in memory), latest first.
#[must_use]
pub fn recent_forgers<R>(overlay: &Overlay<R>, blocks: usize, max: usize) -> Vec<[u8; 32]> {
    let mut found = Vec::new();
    for seen in overlay.window.newest().take(blocks) {
        if found.len() >= max {
            break;
        }
        if !found.contains(&seen.forger) {
            found.push(seen.forger);
        }
    }
    found
}
