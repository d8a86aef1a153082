//! The rows about the node's folder, and their comparison with the folder at a start.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{ContractName, ContractRegistry, NetworkMap, PartyId};
use primitives::{Decode, Domain, Encode, Hash, Seed};

use super::audit_mark::AuditMark;
use crate::context::Context;
use crate::identity::Identity;
use crate::open_error::OpenError;
use crate::port::{Reads, StoreFailure, Table, WriteBatch, damaged};
use crate::rows::{
    META_AUDITED, META_EPOCH, META_LACKING, META_MEMBER, meta_key, peer_of, prefix_end, seq_of,
};
use crate::writes::{Batch, RowRange, Writer};

/// Maximum number of members that a store remembers. A network has fewer.
const MEMBERS_MAX: usize = 100_000;
/// Maximum number of missing contracts that a store remembers.
const CONTRACTS_MAX: usize = 1_000;

/// The contents of the node's folder at a start, apart from the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderContents {
    /// The number of unconsumed states in the vault's view, for each contract by name.
    pub view_states: BTreeMap<String, u64>,
    /// The position of the audit log. `None` if the folder has no log, or an empty one.
    pub audit: Option<AuditMark>,
}

/// The differences between the folder and the store's record of it. The node starts in spite of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderReport {
    /// Contracts that this program lacks, with the number of their unconsumed states. The node keeps these states and can neither
    /// show nor use them.
    pub unusable_states: BTreeMap<String, u64>,
    /// The audit log is not the one of the last start, or it is shorter.
    pub is_audit_log_lost: bool,
}

/// The part that remembers the folder. A kernel is opened with it.
#[derive(Debug)]
pub struct FolderRecord {
    /// The number that names this store to the peers; never 0.
    epoch: u64,
    report: FolderReport,
}

impl Writer for FolderRecord {
    const ROWS: &'static [RowRange] = &[
        RowRange::meta(META_AUDITED),
        RowRange::meta(META_EPOCH),
        RowRange::meta(META_LACKING),
        RowRange::meta(META_MEMBER),
    ];
}

impl FolderRecord {
    /// Compares the contents of a node's folder with the store's record of it. Returns the record for this start, and the rows that
    /// bring the store's record up to date.
    ///
    /// The rows must be durable before the node changes anything else in its folder: opening the view may delete states that only
    /// the rows remember then. They are not part of a round, because a round with rows begins a life of the data
    /// ([`crate::integrity`]), and a node that fails at each start must not use up its lives.
    ///
    /// # Errors
    /// The store can't be read, or a member that it remembers is not in the network.
    pub fn compare(
        contents: &FolderContents,
        identity: &Identity,
        entropy: &Seed,
        reads: &dyn Reads,
    ) -> Result<(Self, WriteBatch), OpenError> {
        let known = members(reads)?;
        let lost = known
            .iter()
            .find(|(id, _)| identity.network.node(id).is_none());
        if let Some((id, name)) = lost {
            let (id, name) = (*id, name.clone());
            return Err(OpenError::MemberLost { id, name });
        }
        let new = new_members(&known, &identity.network);
        let before = unusable(reads)?;
        let unusable_states = unusable_now(&before, contents, &identity.contracts);
        let is_audit_log_lost = is_audit_log_lost(contents.audit.as_ref(), reads)?;
        let stored = stored_epoch(reads)?;
        let epoch = stored.unwrap_or_else(|| draw_epoch(entropy));
        assert!(epoch > 0, "the epoch of a store is never 0");

        let mut batch = Batch::default();
        let mut rows = batch.of::<FolderRecord>();
        for (id, name) in new {
            rows.put(Table::Meta, member_key(&id), name.into_bytes());
        }
        for name in before.keys() {
            if !unusable_states.contains_key(name) {
                rows.delete(Table::Meta, unusable_key(name));
            }
        }
        for (name, states) in &unusable_states {
            if before.get(name) != Some(states) {
                rows.put(Table::Meta, unusable_key(name), states.to_be_bytes());
            }
        }
        if stored.is_none() {
            rows.put(Table::Meta, META_EPOCH, epoch.to_be_bytes());
        }
        // The row of a lost log stays until the new log says that it begins anew.
        if let Some(mark) = contents.audit.as_ref().filter(|_| !is_audit_log_lost) {
            rows.put(Table::Meta, META_AUDITED, mark.to_bytes());
        }
        let report = FolderReport {
            unusable_states,
            is_audit_log_lost,
        };
        Ok((Self { epoch, report }, batch.finish()))
    }

    /// Returns the number that names this store to its peers, drawn when the store was new.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the differences found at the start.
    #[must_use]
    pub fn report(&self) -> &FolderReport {
        &self.report
    }

    /// Records the position of the audit log.
    pub(crate) fn on_audited(&self, mark: &AuditMark, context: &mut Context) {
        let mut rows = context.rows::<FolderRecord>();
        rows.put(Table::Meta, META_AUDITED, mark.to_bytes());
    }
}

/// Returns the members that the store remembers, with their names.
///
/// # Errors
/// The store can't be read.
pub fn members(reads: &dyn Reads) -> Result<Vec<(PartyId, String)>, StoreFailure> {
    let to = prefix_end(META_MEMBER);
    let rows = reads.scan(Table::Meta, META_MEMBER, to.as_deref(), MEMBERS_MAX)?;
    let rows = rows.into_iter().map(|(key, name)| {
        let id = peer_of(&key[META_MEMBER.len()..]);
        let name = String::from_utf8(name).ok();
        id.zip(name)
            .ok_or_else(|| damaged("a member of the network"))
    });
    rows.collect()
}

/// Returns the batch that deletes a member's row. The node must be stopped.
#[must_use]
pub fn forget_member(id: &PartyId) -> WriteBatch {
    let mut batch = Batch::default();
    batch
        .of::<FolderRecord>()
        .delete(Table::Meta, member_key(id));
    batch.finish()
}

fn new_members(known: &[(PartyId, String)], network: &NetworkMap) -> Vec<(PartyId, String)> {
    let known: BTreeSet<_> = known.iter().map(|(id, _)| id).collect();
    let new = network.nodes().filter(|(id, _)| !known.contains(id));
    new.map(|(id, info)| (*id, info.party.name.to_string()))
        .collect()
}

/// Returns the contracts that the program lacks: of the states recorded at earlier starts, and of those in the view. A view that
/// was rebuilt lacks the states, so the record counts as well.
fn unusable_now(
    before: &BTreeMap<String, u64>,
    contents: &FolderContents,
    contracts: &ContractRegistry,
) -> BTreeMap<String, u64> {
    let mut found = before.clone();
    found.extend(contents.view_states.clone());
    found.retain(|name, _| {
        let name = ContractName::new(name);
        !name.is_ok_and(|name| contracts.current(&name).is_some())
    });
    found
}

fn unusable(reads: &dyn Reads) -> Result<BTreeMap<String, u64>, StoreFailure> {
    let to = prefix_end(META_LACKING);
    let rows = reads.scan(Table::Meta, META_LACKING, to.as_deref(), CONTRACTS_MAX)?;
    let rows = rows.into_iter().map(|(key, states)| {
        let name = String::from_utf8(key[META_LACKING.len()..].to_vec()).ok();
        name.zip(seq_of(&states))
            .ok_or_else(|| damaged("a contract that the program lacks"))
    });
    rows.collect()
}

fn is_audit_log_lost(found: Option<&AuditMark>, reads: &dyn Reads) -> Result<bool, StoreFailure> {
    let Some(row) = reads.get(Table::Meta, META_AUDITED)? else {
        return Ok(false);
    };
    Ok(match (AuditMark::from_bytes(&row), found) {
        (_, None) => true,
        (Ok(known), Some(found)) => !found.follows(&known),
        // Earlier releases recorded only that there was a log, by an empty row.
        (Err(_), Some(_)) => !row.is_empty(),
    })
}

fn stored_epoch(reads: &dyn Reads) -> Result<Option<u64>, StoreFailure> {
    let Some(row) = reads.get(Table::Meta, META_EPOCH)? else {
        return Ok(None);
    };
    let epoch = seq_of(&row).filter(|epoch| *epoch > 0);
    epoch
        .map(Some)
        .ok_or_else(|| damaged("the number that names the store"))
}

/// Draws the epoch of a new store from the entropy of this start. The label keeps it apart from the other draws. 0 is reserved, so it
/// becomes 1.
fn draw_epoch(entropy: &Seed) -> u64 {
    let hash = Hash::of(Domain::Derive, &[b"epoch", entropy.expose()]);
    let first = hash.as_bytes().first_chunk::<8>();
    u64::from_be_bytes(*first.expect("a hash is longer")).max(1)
}

fn member_key(id: &PartyId) -> Vec<u8> {
    meta_key(META_MEMBER, id.as_bytes())
}

fn unusable_key(contract: &str) -> Vec<u8> {
    meta_key(META_LACKING, contract.as_bytes())
}
