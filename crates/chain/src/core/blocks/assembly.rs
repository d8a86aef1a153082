//! An announced block whose body is incomplete.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use primitives::Hash;

use crate::block::{CarriedBlock, CarriedEntry, CheckedBlock, root_of};
use crate::core::PeerId;
use crate::core::fork_choice::Equivocation;
use crate::core::limits::{ASSEMBLIES_MAX, MISSING_MAX, PATIENCE, PATIENCE_BODIES};
use crate::core::part::Part;
use crate::core::peers::Purpose;
use crate::message::{QUESTION_IDS_MAX, Question};
use crate::pool::Pool;
use crate::state::Point;
use crate::transaction::{Body, Carried};
use crate::{Header, TxId};

/// Maximum number of peers remembered as having announced a block.
const SOURCES_MAX: usize = 8;

/// An announced block whose body is incomplete.
#[derive(Debug)]
pub(in crate::core) struct Assembly {
    pub(super) header: Header,
    pub(super) hash: Hash,
    /// The parent transactions' ids. Empty if the whole body is fetched.
    pub(super) ids: Vec<TxId>,
    /// Peers that announced it.
    pub(super) sources: Vec<PeerId>,
    /// Peers that were asked and sent nothing useful.
    pub(super) failed_peers: BTreeSet<PeerId>,
    pub(super) attempts: u32,
    /// Peers that were asked again after an answer with some parts but not all.
    pub(super) second_chances: u32,
    pub(super) asking: bool,
    /// Transactions from peers, with valid signatures.
    pub(super) fetched: HashMap<TxId, Arc<Carried>>,
    pub(super) lists: HashMap<TxId, Vec<TxId>>,
}

/// The progress of an assembly.
pub(super) enum Progress {
    Whole(CheckedBlock),
    /// The question for the missing parts, its purpose, and the patience with the peer.
    Lacks(Question, Purpose, Duration),
}

impl Assembly {
    pub(in crate::core) fn new(header: Header, hash: Hash, ids: Vec<TxId>, from: PeerId) -> Self {
        Self {
            header,
            hash,
            ids,
            sources: vec![from],
            failed_peers: BTreeSet::new(),
            attempts: 0,
            second_chances: 0,
            asking: false,
            fetched: HashMap::new(),
            lists: HashMap::new(),
        }
    }

    /// Records another peer that has the block.
    pub(in crate::core) fn add_source(&mut self, peer: PeerId) {
        if self.sources.len() < SOURCES_MAX && !self.sources.contains(&peer) {
            self.sources.push(peer);
        }
    }

    fn find<'a>(&'a self, pool: &'a Pool, id: &TxId) -> Option<&'a Arc<Carried>> {
        pool.get(id).or_else(|| self.fetched.get(id))
    }

    pub(super) fn progress(&self, pool: &Pool) -> Progress {
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
            let purpose = Purpose::Parents(block, parents.clone());
            let question = Question::Parents {
                block,
                ids: parents,
            };
            return Progress::Lacks(question, purpose, PATIENCE);
        }
        if !children.is_empty() {
            children.sort_unstable();
            children.dedup();
            let purpose = Purpose::Children(block, children.clone());
            let question = Question::Transactions {
                block,
                ids: children,
            };
            return Progress::Lacks(question, purpose, PATIENCE);
        }
        // The header was checked when it was announced, and each transaction by the pool or on arrival.
        Progress::Whole(CheckedBlock::from_checked_parts(CarriedBlock {
            header: self.header.clone(),
            hash: self.hash,
            body,
        }))
    }

    fn lacks_body(&self) -> Progress {
        let question = Question::Bodies(vec![self.hash]);
        Progress::Lacks(question, Purpose::Body(self.hash), PATIENCE_BODIES)
    }
}

/// Returns whether the ids match the header's commitment or were left out.
pub(in crate::core) fn lists(header: &Header, ids: &[TxId]) -> bool {
    (ids.is_empty() && header.parent_count > 0)
        || (ids.len() == header.parent_count as usize && root_of(ids) == header.root)
}

/// The announced blocks that are being assembled, each hash once.
#[derive(Debug, Default)]
pub(in crate::core) struct Assemblies {
    all: Vec<Assembly>,
}

impl Assemblies {
    pub(in crate::core) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns whether a block is being assembled.
    pub(in crate::core) fn contains(&self, hash: &Hash) -> bool {
        self.get(hash).is_some()
    }

    pub(super) fn get(&self, hash: &Hash) -> Option<&Assembly> {
        self.all.iter().find(|one| one.hash == *hash)
    }

    pub(super) fn get_mut(&mut self, hash: &Hash) -> Option<&mut Assembly> {
        self.all.iter_mut().find(|one| one.hash == *hash)
    }

    pub(in crate::core) fn headers(&self) -> impl Iterator<Item = &Header> {
        self.all.iter().map(|one| &one.header)
    }

    /// Adds an assembly. If there is no room, the one with the least work is dropped, regardless of its waiting time. Returns false
    /// if the new one has the least work, or if a block of the same forger on the same parent is already being assembled.
    pub(super) fn add(&mut self, assembly: Assembly) -> bool {
        let is_rival = |header: &Header| Equivocation::are_rivals(header, &assembly.header);
        if self.headers().any(is_rival) {
            return false;
        }
        if self.all.len() >= ASSEMBLIES_MAX {
            let merit = |one: &Assembly| (one.header.difficulty, Reverse(one.hash));
            let worst = (0..self.all.len()).min_by_key(|at| merit(&self.all[*at]));
            match worst {
                Some(worst) if merit(&self.all[worst]) < merit(&assembly) => {
                    self.all.remove(worst);
                }
                _ => return false,
            }
        }
        assert!(!self.contains(&assembly.hash), "a block is assembled once");
        self.all.push(assembly);
        assert!(self.all.len() <= ASSEMBLIES_MAX, "{}", self.all.len());
        true
    }

    pub(super) fn remove(&mut self, hash: &Hash) {
        self.all.retain(|one| one.hash != *hash);
    }

    pub(in crate::core) fn clear(&mut self) {
        self.all.clear();
    }
}

impl Part for Assemblies {
    /// Keeps the blocks that follow the tip, and those that compete with it.
    fn tip_moved(&mut self, tip: &Point) {
        self.all
            .retain(|one| one.header.previous == tip.hash || one.header.height == tip.height);
    }
}
