//! Transactions with files that live flows of this node have verified. The parties in a session with such a flow may have the
//! files before anything is recorded, and the files cannot be removed meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use flow::FlowId;
use ledger::TxId;
use primitives::{Decode, Encode, Hash};

use crate::pages::{after, row_page};
use crate::part::Part;
use crate::port::{Reads, StoreFailure, Table};
use crate::rows::{META_PROPOSED, meta_key, prefix_end};
use crate::writes::{Batch, RowRange, Writer};

/// Transactions with files that one flow may have verified; of more the oldest are forgotten.
pub(crate) const PROPOSALS_PER_FLOW_MAX: usize = 64;
/// Maximum number of rows, and of bytes, in one read.
const PAGE: (usize, usize) = (10_000, 1 << 20);

/// The verified proposals of live flows. Bounded by the live flows.
#[derive(Debug, Default)]
pub(crate) struct Proposals {
    of_flow: BTreeMap<FlowId, Vec<Proposal>>,
    flows: BTreeMap<TxId, BTreeSet<FlowId>>,
    /// Flows with proposals that have no row yet.
    unwritten: BTreeSet<FlowId>,
}

#[derive(Debug)]
struct Proposal {
    transaction: TxId,
    files: Vec<Hash>,
    written: bool,
}

impl Writer for Proposals {
    const ROWS: &'static [RowRange] = &[RowRange::meta(META_PROPOSED)];
}

impl Part for Proposals {
    fn end_round(&mut self, batch: &mut Batch) {
        for flow in std::mem::take(&mut self.unwritten) {
            let proposals = self.of_flow.get_mut(&flow).into_iter().flatten();
            for proposal in proposals.filter(|proposal| !proposal.written) {
                proposal.written = true;
                let row = proposal.files.to_bytes();
                batch
                    .of::<Proposals>()
                    .put(Table::Meta, key(&flow, &proposal.transaction), row);
            }
        }
    }
}

impl Proposals {
    /// Loads the rows of flows that are still live.
    pub(crate) fn open(
        reads: &dyn Reads,
        is_live: impl Fn(&FlowId) -> bool,
        batch: &mut Batch,
    ) -> Result<Self, StoreFailure> {
        let mut proposals = Self::default();
        let to = prefix_end(META_PROPOSED);
        let mut from = META_PROPOSED.to_vec();
        loop {
            let page = row_page(reads, Table::Meta, from, to.as_deref(), PAGE.0, PAGE.1)?;
            for (key, value) in &page.rows {
                match (parse(key), Vec::<Hash>::from_bytes(value)) {
                    (Some((flow, transaction)), Ok(files)) if is_live(&flow) => {
                        proposals.insert(flow, transaction, files, true);
                    }
                    _ => batch.of::<Proposals>().delete(Table::Meta, key.clone()),
                }
            }
            match page.rows.last() {
                Some((last, _)) if page.more => from = after(last),
                _ => return Ok(proposals),
            }
        }
    }

    /// Adds a transaction with files that a flow has verified.
    pub(crate) fn add(
        &mut self,
        flow: FlowId,
        transaction: TxId,
        files: Vec<Hash>,
        batch: &mut Batch,
    ) {
        let known = self.of_flow.get(&flow).map(Vec::as_slice);
        let known = known.unwrap_or_default();
        if known.iter().any(|one| one.transaction == transaction) {
            return;
        }
        let is_full = known.len() >= PROPOSALS_PER_FLOW_MAX;
        if is_full && let Some(of_flow) = self.of_flow.get_mut(&flow) {
            let oldest = of_flow.remove(0);
            self.unlink(flow, &oldest, batch);
        }
        self.insert(flow, transaction, files, false);
    }

    fn insert(&mut self, flow: FlowId, transaction: TxId, files: Vec<Hash>, written: bool) {
        self.flows.entry(transaction).or_default().insert(flow);
        if !written {
            self.unwritten.insert(flow);
        }
        self.of_flow.entry(flow).or_default().push(Proposal {
            transaction,
            files,
            written,
        });
    }

    fn unlink(&mut self, flow: FlowId, proposal: &Proposal, batch: &mut Batch) {
        if let Some(flows) = self.flows.get_mut(&proposal.transaction) {
            flows.remove(&flow);
            if flows.is_empty() {
                self.flows.remove(&proposal.transaction);
            }
        }
        if proposal.written {
            batch
                .of::<Proposals>()
                .delete(Table::Meta, key(&flow, &proposal.transaction));
        }
    }

    /// Removes the rows of a flow that has ended.
    pub(crate) fn end(&mut self, flow: FlowId, batch: &mut Batch) {
        self.unwritten.remove(&flow);
        for proposal in self.of_flow.remove(&flow).unwrap_or_default() {
            self.unlink(flow, &proposal, batch);
        }
    }

    /// Returns live flows that have verified the transaction, if it lists the file.
    pub(super) fn flows_with(&self, transaction: &TxId, hash: &Hash) -> Vec<FlowId> {
        let flows = self.flows.get(transaction).into_iter().flatten();
        let lists = |flow: &&FlowId| {
            let mut proposals = self.of_flow.get(flow).into_iter().flatten();
            proposals.any(|one| one.transaction == *transaction && one.files.contains(hash))
        };
        flows.filter(lists).copied().collect()
    }

    /// Returns whether a live flow has verified a transaction that lists a file.
    pub(crate) fn holds(&self, hash: &Hash) -> bool {
        let mut all = self.of_flow.values().flatten();
        all.any(|proposal| proposal.files.contains(hash))
    }
}

/// Returns `proposed/` + flow id 16 + transaction id 32.
fn key(flow: &FlowId, transaction: &TxId) -> Vec<u8> {
    let rest = [flow.as_bytes().as_slice(), transaction.as_bytes()].concat();
    meta_key(META_PROPOSED, &rest)
}

fn parse(key: &[u8]) -> Option<(FlowId, TxId)> {
    let rest = key.strip_prefix(META_PROPOSED)?;
    let (flow, transaction) = rest.split_first_chunk::<16>()?;
    Some((
        FlowId(*flow),
        TxId::from_array(transaction.try_into().ok()?),
    ))
}
