//! Answers to peers' questions, within each peer's budget.

use primitives::Hash;

use crate::block::{CarriedBlock, CheckedBlock};
use crate::core::blocks::SideBlocks;
use crate::core::limits::{
    ANSWER_BYTES, SERVED_BYTES_PER_LOOK, SERVED_DECODED_FACTOR, SERVED_WORK_MAX, points,
};
use crate::core::{Action, Core, PeerId, Ticket};
use crate::message::{Answer, HEADERS_MAX, IDS_MAX, Listed, Question};
use crate::port::{Reads, StoreFailure, Table};
use crate::state::{carried_block, read};
use crate::transaction::Body;
use crate::{Transaction, TxId};

/// The cost of an answer so far, counted in bytes. Lookups and reads may cost far more than the data that is found and sent.
#[derive(Debug, Default)]
struct Work(usize);

impl Work {
    fn add(&mut self, bytes: usize) {
        // Work beyond the range is more than enough.
        self.0 = self.0.saturating_add(bytes);
    }

    fn look(&mut self) {
        self.add(SERVED_BYTES_PER_LOOK);
    }

    fn is_enough(&self) -> bool {
        self.0 >= SERVED_WORK_MAX
    }
}

/// Returns a parent transaction of a block, with its list if it is a child block.
fn listed_in(block: &CarriedBlock, id: &TxId) -> Option<Listed> {
    let at = block
        .body
        .binary_search_by_key(id, |entry| entry.transaction.id);
    let entry = block.body.get(at.ok()?)?;
    Some(Listed {
        transaction: entry.transaction.transaction.clone(),
        ids: entry.children.iter().map(|child| child.id).collect(),
    })
}

impl<R: Reads<Table>> Core<R> {
    pub(in crate::core) fn serve(
        &mut self,
        peer: PeerId,
        ticket: Ticket,
        bytes: &[u8],
    ) -> Result<(), StoreFailure> {
        let now = self.now;
        let serving = &mut self.serving_budget;
        let served = self
            .peers
            .get_mut(&peer)
            .is_some_and(|peer| serving.may_serve(&mut peer.serving, now));
        let mut work = Work::default();
        let answer = match Question::read(bytes) {
            Ok(question) if served => self.answer_to(peer, question, &mut work)?,
            Ok(_) => Answer::Busy,
            Err(rejection) => {
                self.penalise(peer, points::GARBAGE, rejection.code);
                Answer::Busy
            }
        };
        let bytes = answer.to_bytes();
        self.serving_budget.count(bytes.len(), work.0);
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.serving.count(bytes.len(), work.0);
        }
        self.actions.push(Action::Answer { ticket, bytes });
        Ok(())
    }

    fn answer_to(
        &mut self,
        peer: PeerId,
        question: Question,
        work: &mut Work,
    ) -> Result<Answer, StoreFailure> {
        Ok(match question {
            Question::Status(status) => {
                self.update_status(peer, status);
                Answer::Status(self.status())
            }
            Question::Headers { locator } => self.headers_after(&locator, work)?,
            Question::Bodies(hashes) => Answer::Bodies(self.bodies_of(&hashes, work)?),
            Question::Transactions { block, ids } => {
                let in_blocks = block != Hash::ZERO;
                Answer::Transactions(self.transactions_of(in_blocks, &ids, work)?)
            }
            Question::Parents { block, ids } => {
                Answer::Parents(self.parents_of(&block, &ids, work)?)
            }
            Question::PoolIds { after } => Answer::PoolIds(self.pool_ids_after(after)),
        })
    }

    /// Returns a page of ids of the pool after an id, ascending. Child blocks are included: a bundler makes no other one while
    /// its own is in its pool, so one that gossip lost would stay unknown to the forgers.
    fn pool_ids_after(&self, after: TxId) -> Vec<TxId> {
        let above = self.pool.after(Some(after)).take(IDS_MAX);
        let mut ids: Vec<TxId> = above.map(|carried| carried.id).collect();
        ids.extend(self.pool.child_block_ids_after(after));
        ids.sort_unstable();
        ids.truncate(IDS_MAX);
        ids
    }

    fn headers_after(&self, locator: &[Hash], work: &mut Work) -> Result<Answer, StoreFailure> {
        for hash in locator {
            work.look();
            if let Some(height) = self.height_of(hash)? {
                let rows = read::headers(&self.rows, height.plus_or_last(1), HEADERS_MAX)?;
                return Ok(Answer::Headers {
                    common: *hash,
                    headers: rows.into_iter().map(|row| row.header).collect(),
                });
            }
        }
        Ok(Answer::Headers {
            common: Hash::ZERO,
            headers: Vec::new(),
        })
    }

    fn bodies_of(&self, hashes: &[Hash], work: &mut Work) -> Result<Vec<Vec<u8>>, StoreFailure> {
        let (mut bodies, mut bytes) = (Vec::new(), 0);
        for hash in hashes {
            work.look();
            let row = match self.height_of(hash)? {
                Some(height) => read::header(&self.rows, height)?,
                None => None,
            };
            let is_full = |more: usize| bytes + more > ANSWER_BYTES && !bodies.is_empty();
            let found = match row {
                Some(row) if is_full(row.header.body_bytes as usize) => break,
                Some(row) => read::body_bytes(&self.rows, &row.header)?,
                None => SideBlocks::body(&self.rows, hash)?,
            };
            let Some(body) = found else {
                break;
            };
            // A side block may have been read without being used.
            work.add(body.len());
            if is_full(body.len()) {
                break;
            }
            bytes += body.len();
            bodies.push(body);
        }
        Ok(bodies)
    }

    /// Returns the requested transactions that are in the pool, or on the chain if `in_blocks` is set, in the order of the ids.
    fn transactions_of(
        &self,
        in_blocks: bool,
        ids: &[TxId],
        work: &mut Work,
    ) -> Result<Vec<Transaction>, StoreFailure> {
        let (mut found, mut bytes) = (Vec::new(), 0);
        let mut places = Vec::new();
        for (at, id) in ids.iter().enumerate() {
            if bytes >= ANSWER_BYTES || work.is_enough() {
                break;
            }
            if let Some(carried) = self.pool.get(id) {
                bytes += carried.bytes as usize;
                found.push((at, carried.transaction.clone()));
            } else if in_blocks {
                work.look();
                let place = read::place_of(&self.rows, id)?;
                places.extend(place.map(|place| (place, at)));
            }
        }
        // Read in the order of places, so that adjacent transactions are read at once.
        places.sort_unstable();
        let mut reader = read::TransactionReader::new(&self.rows);
        let looked = work.0;
        for (place, at) in places {
            if bytes >= ANSWER_BYTES || work.is_enough() {
                break;
            }
            let transaction = reader.at(place)?;
            work.0 = looked;
            work.add(reader.bytes_read());
            if let Some(transaction) = transaction {
                bytes += transaction.to_bytes().len();
                found.push((at, transaction));
            }
        }
        found.sort_unstable_by_key(|(at, _)| *at);
        Ok(found.into_iter().map(|(_, found)| found).collect())
    }

    /// Returns a block of the chain or a side block.
    fn block_of(&self, hash: &Hash, work: &mut Work) -> Result<Option<CarriedBlock>, StoreFailure> {
        work.look();
        let block = match self.height_of(hash)? {
            Some(height) => carried_block(&self.rows, &self.genesis, height)?,
            None => {
                let side = self.side_blocks.get(&self.rows, &self.genesis, hash)?;
                side.map(CheckedBlock::into_inner)
            }
        };
        let bytes = block
            .as_ref()
            .map_or(0, |block| block.header.body_bytes as usize);
        work.add(bytes * SERVED_DECODED_FACTOR);
        Ok(block)
    }

    fn parents_of(
        &self,
        hash: &Hash,
        ids: &[TxId],
        work: &mut Work,
    ) -> Result<Vec<Listed>, StoreFailure> {
        let (mut listed, mut bytes) = (Vec::new(), 0);
        // The block is read only if the pool lacks a transaction.
        let mut block = None;
        for id in ids {
            let mut one = self.listed_in_pool(id);
            if one.is_none() {
                if block.is_none() {
                    block = Some(self.block_of(hash, work)?);
                }
                one = block
                    .as_ref()
                    .and_then(|block| listed_in(block.as_ref()?, id));
            }
            let Some(one) = one else {
                continue;
            };
            bytes += one.transaction.to_bytes().len() + 32 * one.ids.len();
            listed.push(one);
            if bytes >= ANSWER_BYTES {
                break;
            }
        }
        Ok(listed)
    }

    /// Returns a parent transaction of the pool, with its list if it is a child block.
    fn listed_in_pool(&self, id: &TxId) -> Option<Listed> {
        if let Some(child_block) = self.pool.child_block(id) {
            return Some(Listed {
                transaction: child_block.transaction().transaction.clone(),
                ids: child_block.ids().to_vec(),
            });
        }
        let carried = self.pool.get(id)?;
        let bundles = matches!(carried.transaction.body, Body::ChildBlock { .. });
        (!bundles).then(|| Listed {
            transaction: carried.transaction.clone(),
            ids: Vec::new(),
        })
    }
}
