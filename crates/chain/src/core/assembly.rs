//! Assembles the bodies of announced blocks from the pool and from the parts that peers send.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use primitives::Hash;

use super::chain_end::BodyFault;
use super::held::{Held, Waiting};
use super::limits::{ASSEMBLY_ATTEMPTS_MAX, MISSING_MAX, PATIENCE_BODIES_MS, PATIENCE_MS, points};
use super::questions::Purpose;
use super::{Core, PeerId};
use crate::block::{CarriedBlock, CarriedEntry};
use crate::message::{Listed, QUESTION_IDS_MAX, Question};
use crate::pool::{ChildBlock, Pool};
use crate::port::{Reads, StoreFailure, Table};
use crate::transaction::{Body, Carried};
use crate::{Header, Transaction, TxId};

/// Maximum number of peers remembered as having announced a block.
const SOURCES_MAX: usize = 8;

/// An announced block whose body is incomplete.
#[derive(Debug)]
pub(super) struct Assembly {
    pub(super) header: Header,
    pub(super) hash: Hash,
    /// The parent transactions' ids. Empty if the whole body is fetched.
    ids: Vec<TxId>,
    /// Peers that announced it.
    sources: Vec<PeerId>,
    /// Peers that were asked and did not help.
    failed: BTreeSet<PeerId>,
    attempts: u32,
    asking: bool,
    /// Transactions from peers, with valid signatures.
    fetched: HashMap<TxId, Arc<Carried>>,
    lists: HashMap<TxId, Vec<TxId>>,
}

/// The progress of an assembly.
enum Progress {
    Whole(CarriedBlock),
    Lacks(Question, Purpose, u64),
}

impl Assembly {
    pub(super) fn new(header: Header, hash: Hash, ids: Vec<TxId>, from: PeerId) -> Self {
        Self {
            header,
            hash,
            ids,
            sources: vec![from],
            failed: BTreeSet::new(),
            attempts: 0,
            asking: false,
            fetched: HashMap::new(),
            lists: HashMap::new(),
        }
    }

    /// Records another peer that has the block.
    pub(super) fn also_from(&mut self, peer: PeerId) {
        if self.sources.len() < SOURCES_MAX && !self.sources.contains(&peer) {
            self.sources.push(peer);
        }
    }

    fn find<'a>(&'a self, pool: &'a Pool, id: &TxId) -> Option<&'a Arc<Carried>> {
        pool.get(id).or_else(|| self.fetched.get(id))
    }

    fn progress(&self, pool: &Pool) -> Progress {
        if self.ids.is_empty() && self.header.parent_count > 0 {
            return self.lacks_body();
        }
        let (mut body, mut parents, mut children) = (Vec::new(), Vec::new(), Vec::new());
        for id in &self.ids {
            let Some(transaction) = self.find(pool, id) else {
                parents.push(*id);
                continue;
            };
            let mut carried = Vec::new();
            if matches!(transaction.transaction.body, Body::ChildBlock { .. }) {
                let list = match pool.child_block(id) {
                    Some(block) => block.ids(),
                    None => match self.lists.get(id) {
                        Some(list) => list.as_slice(),
                        None => {
                            parents.push(*id);
                            continue;
                        }
                    },
                };
                carried.reserve(list.len());
                for child in list {
                    match self.find(pool, child) {
                        Some(child) => carried.push(child.clone()),
                        None => children.push(*child),
                    }
                }
            }
            body.push(CarriedEntry {
                transaction: transaction.clone(),
                children: carried,
            });
        }
        if parents.len().max(children.len()) > MISSING_MAX.min(QUESTION_IDS_MAX) {
            return self.lacks_body();
        }
        let block = self.hash;
        if !parents.is_empty() {
            let question = Question::Parents {
                block,
                ids: parents,
            };
            return Progress::Lacks(question, Purpose::Parents(block), PATIENCE_MS);
        }
        if !children.is_empty() {
            children.sort_unstable();
            children.dedup();
            let question = Question::Transactions {
                block,
                ids: children,
            };
            return Progress::Lacks(question, Purpose::Children(block), PATIENCE_MS);
        }
        Progress::Whole(CarriedBlock {
            header: self.header.clone(),
            hash: self.hash,
            body,
        })
    }

    fn lacks_body(&self) -> Progress {
        let question = Question::Bodies(vec![self.hash]);
        Progress::Lacks(question, Purpose::Body(self.hash), PATIENCE_BODIES_MS)
    }
}

impl<R: Reads<Table>> Core<R> {
    pub(super) fn assembly_of(&mut self, hash: &Hash) -> Option<&mut Assembly> {
        self.assemblies
            .iter_mut()
            .find(|assembly| assembly.hash == *hash)
    }

    fn drop_assembly(&mut self, hash: &Hash) -> Option<Assembly> {
        let at = self.assemblies.iter().position(|one| one.hash == *hash)?;
        Some(self.assemblies.remove(at))
    }

    /// Assembles the available parts. Requests the missing ones, or passes the block on when it is complete.
    pub(super) fn assemble(&mut self, hash: &Hash) -> Result<(), StoreFailure> {
        let Some(at) = self.assemblies.iter().position(|one| one.hash == *hash) else {
            return Ok(());
        };
        if self.assemblies[at].asking {
            return Ok(());
        }
        match self.assemblies[at].progress(&self.pool) {
            Progress::Whole(block) => {
                self.assemblies.remove(at);
                self.whole(block)
            }
            Progress::Lacks(question, purpose, patience_ms) => {
                self.ask_for_parts(at, &question, purpose, patience_ms);
                Ok(())
            }
        }
    }

    /// Asks the next peer that may have the parts: first those that announced the block, then others. If all have failed, the
    /// block is given up. If it matters, the next status of a peer brings it back.
    fn ask_for_parts(
        &mut self,
        at: usize,
        question: &Question,
        purpose: Purpose,
        patience_ms: u64,
    ) {
        let assembly = &self.assemblies[at];
        let better = |peer: &PeerId| {
            let status = self.peers.get(peer).and_then(|peer| peer.status);
            status.is_some_and(|status| status.difficulty >= assembly.header.difficulty)
        };
        let others = self.peers.iter().map(|(id, _)| *id).filter(better);
        let candidate = assembly
            .sources
            .iter()
            .copied()
            .chain(others)
            .find(|peer| !assembly.failed.contains(peer) && self.may_ask(peer));
        let tried = assembly.attempts >= ASSEMBLY_ATTEMPTS_MAX;
        match candidate {
            Some(peer) if !tried => {
                let assembly = &mut self.assemblies[at];
                assembly.attempts += 1;
                assembly.asking = true;
                self.ask(peer, purpose, question, patience_ms);
            }
            _ => {
                self.assemblies.remove(at);
            }
        }
    }

    /// Records that a peer did not help, and continues.
    pub(super) fn part_failed(&mut self, peer: PeerId, hash: &Hash) -> Result<(), StoreFailure> {
        if let Some(assembly) = self.assembly_of(hash) {
            assembly.asking = false;
            assembly.failed.insert(peer);
        }
        self.assemble(hash)
    }

    /// Handles parent transactions, with the id lists of child blocks.
    pub(super) fn parents_came(
        &mut self,
        peer: PeerId,
        hash: &Hash,
        listed: Vec<Listed>,
    ) -> Result<(), StoreFailure> {
        let mut transactions = Vec::with_capacity(listed.len());
        let mut lists = Vec::new();
        for Listed { transaction, ids } in listed {
            let carried = Arc::new(Carried::new(&self.genesis.hash, transaction));
            if matches!(carried.transaction.body, Body::ChildBlock { .. }) {
                match ChildBlock::new(carried.clone(), ids) {
                    Ok(block) => lists.push((carried.id, block.ids().to_vec())),
                    Err(rejection) => {
                        self.penalise(peer, points::WRONG_ANSWER, rejection.code);
                        return self.part_failed(peer, hash);
                    }
                }
            }
            transactions.push(carried);
        }
        let Some(assembly) = self.assembly_of(hash) else {
            return Ok(());
        };
        // Keep only the requested transactions, whose ids are in the block.
        transactions.retain(|carried| assembly.ids.binary_search(&carried.id).is_ok());
        lists.retain(|(id, _)| assembly.ids.binary_search(id).is_ok());
        assembly.lists.extend(lists);
        self.parts_came(peer, hash, transactions)
    }

    /// Handles transactions that child blocks carry.
    pub(super) fn children_came(
        &mut self,
        peer: PeerId,
        hash: &Hash,
        transactions: Vec<Transaction>,
    ) -> Result<(), StoreFailure> {
        let carried = transactions
            .into_iter()
            .map(|transaction| Arc::new(Carried::new(&self.genesis.hash, transaction)))
            .collect();
        self.parts_came(peer, hash, carried)
    }

    fn parts_came(
        &mut self,
        peer: PeerId,
        hash: &Hash,
        carried: Vec<Arc<Carried>>,
    ) -> Result<(), StoreFailure> {
        if carried.is_empty() {
            return self.part_failed(peer, hash);
        }
        let signed: Vec<_> = carried.iter().map(|one| one.signed_message()).collect();
        let verdicts = self.checker.check_batch(&signed);
        let all_hold = verdicts.iter().all(|holds| *holds);
        if let Some(assembly) = self.assembly_of(hash) {
            assembly.asking = false;
            for (one, holds) in carried.into_iter().zip(verdicts) {
                if holds {
                    assembly.fetched.insert(one.id, one);
                }
            }
        }
        if all_hold {
            return self.assemble(hash);
        }
        self.penalise(peer, points::BAD_SIGNATURE, "chain_tx.signature");
        self.part_failed(peer, hash)
    }

    /// Handles the whole body of an announced block.
    pub(super) fn body_came(
        &mut self,
        peer: PeerId,
        hash: &Hash,
        bytes: &[u8],
    ) -> Result<(), StoreFailure> {
        let Some(assembly) = self.assembly_of(hash) else {
            return Ok(());
        };
        let header = assembly.header.clone();
        match self.read_body(header, *hash, bytes) {
            Ok(block) => {
                self.drop_assembly(hash);
                self.whole(block)
            }
            Err(BodyFault::Sender(code)) => {
                self.penalise(peer, points::WRONG_ANSWER, code);
                self.part_failed(peer, hash)
            }
            Err(BodyFault::Block(_)) => {
                self.drop_assembly(hash);
                Ok(())
            }
        }
    }

    /// Accepts a complete block, or holds it until its time.
    pub(super) fn whole(&mut self, block: CarriedBlock) -> Result<(), StoreFailure> {
        let due_ms = u64::from(block.header.time) * 1_000;
        if due_ms > self.now_ms {
            self.hold(Held {
                hash: block.hash,
                due_ms,
                what: Waiting::Whole(Box::new(block)),
            });
            return Ok(());
        }
        self.accept(block)
    }
}
