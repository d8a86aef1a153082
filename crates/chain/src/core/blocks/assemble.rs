//! Rebuilds the bodies of announced blocks from the pool and from the parts that peers send. (The forger chooses a body in
//! [`crate::forge`].)

use std::sync::Arc;
use std::time::Duration;

use primitives::Hash;

use super::assembly::Progress;
use super::faults::BodyFault;
use super::parts_answer::PartsAnswer;
use super::pending::{PendingBlock, PendingStage};
use crate::block::CheckedBlock;
use crate::core::limits::{ASSEMBLY_ATTEMPTS_MAX, SECOND_CHANCES_MAX, points};
use crate::core::peers::Purpose;
use crate::core::{Core, PeerId};
use crate::message::{Listed, Question};
use crate::pool::ChildBlock;
use crate::port::{Reads, StoreFailure, Table};
use crate::transaction::{Body, Carried};
use crate::{Transaction, TxId};

impl<R: Reads<Table>> Core<R> {
    /// Assembles the available parts. Requests the missing ones, or passes the block on when it is complete.
    pub(in crate::core) fn assemble(&mut self, hash: &Hash) -> Result<(), StoreFailure> {
        let Some(assembly) = self.assemblies.get(hash).filter(|one| !one.asking) else {
            return Ok(());
        };
        match assembly.progress(&self.pool) {
            Progress::Whole(block) => {
                self.assemblies.remove(hash);
                self.body_complete(block)
            }
            Progress::Lacks(question, purpose, patience) => {
                self.ask_for_parts(hash, &question, purpose, patience);
                Ok(())
            }
        }
    }

    /// Asks the next peer that may have the parts: first those that announced the block, then others. If all have failed, the
    /// block is given up. If it matters, the next status of a peer brings it back.
    fn ask_for_parts(
        &mut self,
        hash: &Hash,
        question: &Question,
        purpose: Purpose,
        patience: Duration,
    ) {
        let Some(assembly) = self.assemblies.get(hash) else {
            return;
        };
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
            .find(|peer| !assembly.failed_peers.contains(peer) && self.can_ask(peer));
        let tried = assembly.attempts >= ASSEMBLY_ATTEMPTS_MAX;
        match candidate {
            Some(peer) if !tried => {
                if let Some(assembly) = self.assemblies.get_mut(hash) {
                    assembly.attempts += 1;
                    assembly.asking = true;
                }
                self.ask(peer, purpose, question, patience);
            }
            _ => self.assemblies.remove(hash),
        }
    }

    /// Records that a peer sent nothing useful, and asks the next one.
    pub(in crate::core) fn part_failed(
        &mut self,
        peer: PeerId,
        hash: &Hash,
    ) -> Result<(), StoreFailure> {
        if let Some(assembly) = self.assemblies.get_mut(hash) {
            assembly.asking = false;
            assembly.failed_peers.insert(peer);
        }
        self.assemble(hash)
    }

    /// Handles parent transactions, with the id lists of child blocks. `asked` are the requested ids.
    pub(in crate::core) fn parents_received(
        &mut self,
        peer: PeerId,
        hash: &Hash,
        asked: &[TxId],
        listed: Vec<Listed>,
    ) -> Result<(), StoreFailure> {
        let mut answer = PartsAnswer::new(asked);
        let mut lists = Vec::new();
        for Listed { transaction, ids } in listed {
            let carried = Arc::new(Carried::new(&self.genesis.hash, transaction));
            if !answer.add(&carried, 32 * ids.len()) {
                return self.wrong_parts(peer, hash);
            }
            if matches!(carried.transaction.body, Body::ChildBlock { .. }) {
                match ChildBlock::new(carried.clone(), ids) {
                    Ok(block) => lists.push((carried.id, block.ids().to_vec())),
                    Err(rejection) => {
                        self.penalise(peer, points::WRONG_ANSWER, rejection.code);
                        return self.part_failed(peer, hash);
                    }
                }
            }
        }
        if let Some(assembly) = self.assemblies.get_mut(hash) {
            assembly.lists.extend(lists);
        }
        self.parts_received(peer, hash, answer)
    }

    /// Handles transactions that child blocks carry. `asked` are the requested ids.
    pub(in crate::core) fn children_received(
        &mut self,
        peer: PeerId,
        hash: &Hash,
        asked: &[TxId],
        transactions: Vec<Transaction>,
    ) -> Result<(), StoreFailure> {
        let mut answer = PartsAnswer::new(asked);
        for transaction in transactions {
            let carried = Arc::new(Carried::new(&self.genesis.hash, transaction));
            if !answer.add(&carried, 0) {
                return self.wrong_parts(peer, hash);
            }
        }
        self.parts_received(peer, hash, answer)
    }

    /// Handles an answer with parts that were not requested. None of them is used.
    fn wrong_parts(&mut self, peer: PeerId, hash: &Hash) -> Result<(), StoreFailure> {
        self.wrong_answer(peer);
        self.part_failed(peer, hash)
    }

    /// Adds requested parts to a block. If the peer does not seem to have the rest, the next one is asked, so that no peer can delay a
    /// block by one nearly useless answer after the other. A peer that sent some parts may be assembling the block itself, or have reached
    /// the work that it does for us. So the block has [`SECOND_CHANCES_MAX`] in all for such peers.
    fn parts_received(
        &mut self,
        peer: PeerId,
        hash: &Hash,
        answer: PartsAnswer,
    ) -> Result<(), StoreFailure> {
        if !self.assemblies.contains(hash) {
            return Ok(());
        }
        let (mut lacks_rest, brought) = (answer.lacks_rest(), !answer.parts.is_empty());
        let mut parts = answer.parts;
        // Gossip may have brought some of them in the meantime.
        parts.retain(|one| !self.pool.contains(&one.id));
        let signed = parts.iter().map(|one| one.signed_message());
        let verdicts = self.checker.check_all(signed, parts.len());
        let all_hold = verdicts.iter().all(|holds| *holds);
        if let Some(assembly) = self.assemblies.get_mut(hash) {
            assembly.asking = false;
            if lacks_rest && brought && assembly.second_chances < SECOND_CHANCES_MAX {
                assembly.second_chances += 1;
                lacks_rest = false;
            }
            for (one, holds) in parts.into_iter().zip(verdicts) {
                if holds {
                    assembly.fetched.insert(one.id, one);
                }
            }
        }
        if !all_hold {
            self.penalise(peer, points::BAD_SIGNATURE, "chain_tx.signature");
        }
        if all_hold && !lacks_rest {
            return self.assemble(hash);
        }
        self.part_failed(peer, hash)
    }

    /// Handles the whole body of an announced block.
    pub(in crate::core) fn body_received(
        &mut self,
        peer: PeerId,
        hash: &Hash,
        bytes: &[u8],
    ) -> Result<(), StoreFailure> {
        let Some(assembly) = self.assemblies.get_mut(hash) else {
            return Ok(());
        };
        let header = assembly.header.clone();
        match self.read_body(header, *hash, bytes) {
            Ok(block) => {
                self.assemblies.remove(hash);
                self.body_complete(block)
            }
            Err(BodyFault::Sender(code)) => {
                self.penalise(peer, points::WRONG_ANSWER, code);
                self.part_failed(peer, hash)
            }
            Err(BodyFault::Block(_)) => {
                self.assemblies.remove(hash);
                Ok(())
            }
        }
    }

    /// Accepts a complete block, or holds it until its time.
    pub(in crate::core) fn body_complete(
        &mut self,
        block: CheckedBlock,
    ) -> Result<(), StoreFailure> {
        let due = block.header.time.chain_time();
        if due > self.now {
            self.add_pending(PendingBlock {
                hash: block.hash,
                due,
                stage: PendingStage::Early(Box::new(block)),
            });
            return Ok(());
        }
        self.accept_block(block)
    }
}
