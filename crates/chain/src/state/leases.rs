//! Leases: an account lends its effective balance to another for a number of blocks.
//!
//! A lease begins after the lease delay, or when the previous one ends. Each account has one current lease and one that follows.
//! A new lease replaces the one that follows. A lease is removed with the block after its last height.

use std::collections::BTreeSet;

use super::rows::{self, Lease, LeaseRow};
use super::{Overlay, rows::Former};
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::{AccountId, Genesis, Height, MinorUnits};

/// Maximum number of accounts that lease to one account. A further lease costs its fee and has no effect.
pub const LESSORS_MAX: u32 = 1_024;
/// Number of lessors of one account after which the minimum stake of a further one doubles.
pub const LESSORS_PER_DOUBLING: u32 = 64;
/// Ends of leases that are read at a time.
const PAGE: usize = 1_024;

/// Returns the key in `Leases` of an account's leases.
#[must_use]
pub fn lease_key(lessor: &AccountId) -> [u8; 17] {
    let mut key = [0; 17];
    key[1..].copy_from_slice(&lessor.0);
    key
}

/// Returns the key in `Leases` of the end of an account's lease.
#[must_use]
pub fn end_key(until: Height, lessor: &AccountId) -> [u8; 21] {
    let mut key = [1; 21];
    key[1..5].copy_from_slice(&until.to_be_bytes());
    key[5..].copy_from_slice(&lessor.0);
    key
}

/// Returns an account's leases.
pub fn leases_of(
    reads: &impl Reads<Table>,
    lessor: &AccountId,
) -> Result<Option<LeaseRow>, StoreFailure> {
    let value = reads.get(Table::Leases, &lease_key(lessor))?;
    value.map(|value| LeaseRow::read(&value)).transpose()
}

/// Returns the accounts whose current or next lease is to this account.
pub fn lessors(
    reads: &impl Reads<Table>,
    lessee: &AccountId,
) -> Result<BTreeSet<AccountId>, StoreFailure> {
    // The count's key is the lessee alone and comes before the lessors. The lessors end with the greatest account.
    let from = rows::lessor_key(lessee, &AccountId([0; 16]));
    let to = [&rows::lessor_key(lessee, &AccountId([255; 16]))[..], &[0]].concat();
    let found = reads.scan(Table::Lessors, &from, Some(&to), LESSORS_MAX as usize)?;
    found
        .into_iter()
        .map(|(key, _)| {
            let lessor = key.get(16..).and_then(|lessor| lessor.try_into().ok());
            Ok(AccountId(lessor.ok_or_else(|| {
                damaged("a lessor's key has a wrong length")
            })?))
        })
        .collect()
}

/// Returns the minimum balance that a new lessor must have held through the effective age to lease to an account with this number
/// of lessors, in the parent token.
///
/// The minimum doubles with every [`LESSORS_PER_DOUBLING`] lessors. To keep a lessor with some stake out, an attacker must have
/// held a multiple of that stake for the same time, in accounts of its own.
#[must_use]
pub fn leased_stake_min(genesis: &Genesis, lessors: u32) -> MinorUnits {
    let first = genesis.parent_minor_units(genesis.params.effective_tokens_min);
    let doublings = (lessors / LESSORS_PER_DOUBLING).min(LESSORS_MAX / LESSORS_PER_DOUBLING);
    // No account has a balance beyond 64 bits.
    MinorUnits::from_u128(first << doublings).unwrap_or(MinorUnits::MAX)
}

/// Changes lease rows and records their earlier values.
pub(super) struct Leasing<'a, R> {
    pub(super) overlay: &'a mut Overlay<R>,
    pub(super) former: &'a mut Vec<Former>,
    /// Number of changes.
    pub(super) changes: u32,
}

impl<R: Reads<Table>> Leasing<'_, R> {
    /// Ends the leases that end with a block of this height.
    pub(super) fn end(&mut self, height: Height) -> Result<(), StoreFailure> {
        let from = end_key(height, &AccountId([0; 16]));
        let to = [&end_key(height, &AccountId([255; 16]))[..], &[0]].concat();
        loop {
            let ending = self.overlay.scan(Table::Leases, &from, Some(&to), PAGE)?;
            for (key, _) in &ending {
                let lessor = key.get(5..).and_then(|lessor| lessor.try_into().ok());
                let lessor = AccountId(
                    lessor.ok_or_else(|| damaged("an end row's key has a wrong length"))?,
                );
                let row = leases_of(self.overlay, &lessor)?
                    .filter(|row| row.now.until == height)
                    .ok_or_else(|| damaged("an end row without a lease"))?;
                let next = row.next.map(|now| LeaseRow { now, next: None });
                self.replace(&lessor, Some(row), next)?;
            }
            if ending.len() < PAGE {
                return Ok(());
            }
        }
    }

    /// Applies a lease transaction in a block of this height.
    pub(super) fn lease(
        &mut self,
        genesis: &Genesis,
        height: Height,
        lessor: &AccountId,
        to: AccountId,
        blocks: u32,
    ) -> Result<(), StoreFailure> {
        let row = leases_of(self.overlay, lessor)?;
        let known = row.is_some_and(|row| row.leases().any(|lease| lease.to == to));
        let may_lease = if known {
            self.may_renew(genesis, height, lessor)?
        } else {
            self.may_lease(genesis, height, lessor, &to)?
        };
        if !may_lease {
            return Ok(());
        }
        // A lease beyond the last height never begins.
        let soonest = height.plus_or_last(genesis.params.lease_delay_blocks);
        let from = row.map_or(soonest, |row| row.now.until.max(soonest));
        let lease = Lease {
            to,
            from,
            // A lease beyond the last height never ends.
            until: from.plus_or_last(blocks),
        };
        assert!(
            height <= lease.from && lease.from <= lease.until,
            "a lease in block {height} is for later blocks: {lease:?}"
        );
        let new = match row {
            Some(LeaseRow { now, .. }) => LeaseRow {
                now,
                next: Some(lease),
            },
            None => LeaseRow {
                now: lease,
                next: None,
            },
        };
        self.replace(lessor, row, Some(new))
    }

    /// Returns whether an account may become a lessor in a block of this height.
    fn may_lease(
        &self,
        genesis: &Genesis,
        height: Height,
        lessor: &AccountId,
        to: &AccountId,
    ) -> Result<bool, StoreFailure> {
        let lessors = self.lessors_of(to)?;
        if lessors >= LESSORS_MAX {
            return Ok(false);
        }
        let held = self.held_through_age(genesis, height, lessor)?;
        Ok(held >= leased_stake_min(genesis, lessors))
    }

    /// Returns whether a lessor may lease to one of its lessees again in a block of this height. The minimum does not grow with the
    /// lessors of the lessee, so that no newcomer drives a lessor out. Without a minimum, stake that moves from account to
    /// account could take one place after another and keep them all.
    fn may_renew(
        &self,
        genesis: &Genesis,
        height: Height,
        lessor: &AccountId,
    ) -> Result<bool, StoreFailure> {
        let least = genesis.params.lease_renewal_tokens_min;
        if least.is_zero() {
            return Ok(true);
        }
        let held = self.held_through_age(genesis, height, lessor)?;
        Ok(held.get_u128() >= genesis.parent_minor_units(least))
    }

    /// Returns the least that an account held through the effective age before a block of this height.
    fn held_through_age(
        &self,
        genesis: &Genesis,
        height: Height,
        account: &AccountId,
    ) -> Result<MinorUnits, StoreFailure> {
        let last = height.previous().expect("genesis has no transactions");
        // In a young chain the window begins at genesis.
        let first = height.minus_or_genesis(genesis.params.effective_age_blocks);
        self.overlay.held_least(account, first.min(last), last)
    }

    fn lessors_of(&self, lessee: &AccountId) -> Result<u32, StoreFailure> {
        let value = self.overlay.get(Table::Lessors, &lessee.0)?;
        value.map_or(Ok(0), |value| rows::read_u32(&value))
    }

    /// Writes an account's leases, their ends, and the lessors of the lessees.
    fn replace(
        &mut self,
        lessor: &AccountId,
        old: Option<LeaseRow>,
        new: Option<LeaseRow>,
    ) -> Result<(), StoreFailure> {
        let value = new.map(|row| row.to_bytes());
        self.set(Table::Leases, lease_key(lessor).to_vec(), value)?;
        let end = |row: Option<LeaseRow>| row.map(|row| end_key(row.now.until, lessor).to_vec());
        if end(old) != end(new) {
            if let Some(key) = end(old) {
                self.set(Table::Leases, key, None)?;
            }
            if let Some(key) = end(new) {
                self.set(Table::Leases, key, Some(Vec::new()))?;
            }
        }
        let lessees = |row: Option<LeaseRow>| -> BTreeSet<AccountId> {
            row.iter()
                .flat_map(LeaseRow::leases)
                .map(|lease| lease.to)
                .collect()
        };
        let (before, after) = (lessees(old), lessees(new));
        for lessee in before.difference(&after) {
            self.link(lessee, lessor, false)?;
        }
        for lessee in after.difference(&before) {
            self.link(lessee, lessor, true)?;
        }
        Ok(())
    }

    fn link(
        &mut self,
        lessee: &AccountId,
        lessor: &AccountId,
        is: bool,
    ) -> Result<(), StoreFailure> {
        let count = self.lessors_of(lessee)?;
        let count = if is {
            count.checked_add(1)
        } else {
            count.checked_sub(1)
        };
        let count = count.ok_or_else(|| damaged("the number of lessors is wrong"))?;
        let key = rows::lessor_key(lessee, lessor).to_vec();
        self.set(Table::Lessors, key, is.then(Vec::new))?;
        let value = (count > 0).then(|| count.to_be_bytes().to_vec());
        self.set(Table::Lessors, lessee.0.to_vec(), value)
    }

    fn set(
        &mut self,
        table: Table,
        key: Vec<u8>,
        value: Option<Vec<u8>>,
    ) -> Result<(), StoreFailure> {
        let before = self.overlay.get(table, &key)?;
        self.former.push((table, key.clone(), before));
        self.overlay.write(table, key, value);
        self.changes += 1;
        Ok(())
    }
}
