//! The audit of files: participants have the files of their transactions.

use std::collections::{BTreeMap, BTreeSet};

use kernel::files::FileRow;
use kernel::port::Table;
use ledger::{ContractExecutor, SignedTransaction};
use primitives::{Decode, Hash};

use crate::auditor::{Auditor, holder};
use crate::membership::{Membership, NODES, SHORT};
use crate::node::Node;

/// Returns the files that a transaction lists.
fn files_of(membership: &Membership, signed: &SignedTransaction) -> Vec<Hash> {
    let listed = signed.wire().attachments().iter();
    let files = listed.filter(|hash| membership.contracts().descriptor(hash).is_none());
    files.copied().collect()
}

/// Returns whether a node participates in an output of a transaction.
fn takes_part(
    membership: &Membership,
    nodes: &[Node],
    signed: &SignedTransaction,
    node: usize,
) -> bool {
    let outputs = signed.wire().outputs().iter();
    let facts = outputs.filter_map(|state| membership.contracts().describe(state).ok());
    let mut participants = facts.flat_map(|facts| facts.participants);
    participants.any(|key| holder(membership, nodes, &key) == Some(node))
}

impl Auditor {
    /// Checks a node that claims to have a transaction: if it participates, it has the files durably.
    pub(crate) fn check_files_of(
        &mut self,
        membership: &Membership,
        nodes: &[Node],
        node: usize,
        signed: &SignedTransaction,
    ) {
        let files = files_of(membership, signed);
        if files.is_empty() || !takes_part(membership, nodes, signed, node) {
            return;
        }
        let rows = nodes[node].disk.durable().rows(Table::Attachments);
        for hash in files {
            self.expect(rows.contains_key(hash.as_bytes().as_slice()), || {
                let id = signed.id();
                format!(
                    "{} takes part in {id} and lacks its file {hash}",
                    SHORT[node]
                )
            });
        }
    }

    /// Checks the files at the end. Participants have their files, the references match the ledger, and each file with a row is
    /// on the disk.
    pub(crate) fn check_files(
        &mut self,
        membership: &Membership,
        nodes: &[Node],
        whole: &[BTreeSet<Hash>; NODES],
    ) {
        for (node, short) in SHORT.iter().enumerate() {
            let durable = nodes[node].disk.durable();
            let mut expected: BTreeMap<Hash, u64> = BTreeMap::new();
            let mut references: BTreeSet<Vec<u8>> = BTreeSet::new();
            for row in durable.rows(Table::Ledger).values() {
                let Ok((_, signed)) = kernel::decode_row(row) else {
                    continue;
                };
                self.check_files_of(membership, nodes, node, &signed);
                for hash in files_of(membership, &signed) {
                    *expected.entry(hash).or_default() += 1;
                    let key = [hash.as_bytes().as_slice(), signed.id().as_bytes()].concat();
                    references.insert(key);
                }
            }
            let rows = durable.rows(Table::FileRefs);
            let same = rows.len() == references.len();
            self.expect(
                same && rows.keys().all(|key| references.contains(key)),
                || format!("{short}: the rows of references to files do not match its ledger"),
            );
            for (key, value) in durable.rows(Table::Attachments) {
                let hash = Hash::from_slice(key).expect("the key of a file is its hash");
                let refs = FileRow::from_bytes(value).map(|row| row.refs).ok();
                // A file that no transaction names has no references.
                let counted = expected.get(&hash).copied().unwrap_or_default();
                self.expect(refs == Some(counted), || {
                    format!("{short}: the row of file {hash} counts {refs:?} references, expected {counted}")
                });
                self.expect(whole[node].contains(&hash), || {
                    format!("{short}: file {hash} has a row but is not on the disk")
                });
            }
        }
    }
}
