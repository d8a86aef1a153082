//! Answers to peers' questions, each peer's within its budget.

use primitives::Hash;

use super::limits::{ANSWER_BYTES, points};
use super::side::Side;
use super::{Action, Core, PeerId, Ticket};
use crate::message::{Answer, HEADERS_MAX, IDS_MAX, Listed, Question};
use crate::port::{Reads, StoreFailure, Table};
use crate::state::read;
use crate::transaction::Body;
use crate::{Transaction, TxId};

impl<R: Reads<Table>> Core<R> {
    pub(super) fn serve(
        &mut self,
        peer: PeerId,
        ticket: Ticket,
        bytes: &[u8],
    ) -> Result<(), StoreFailure> {
        let now_ms = self.now_ms;
        let served = self
            .peers
            .get_mut(&peer)
            .is_some_and(|peer| peer.may_be_served(now_ms));
        let answer = match Question::read(bytes) {
            Ok(question) if served => self.answer_to(peer, question)?,
            Ok(_) => Answer::Busy,
            Err(rejection) => {
                self.penalise(peer, points::GARBAGE, rejection.code);
                Answer::Busy
            }
        };
        let bytes = answer.to_bytes();
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.served(bytes.len());
        }
        self.actions.push(Action::Answer { ticket, bytes });
        Ok(())
    }

    fn answer_to(&mut self, peer: PeerId, question: Question) -> Result<Answer, StoreFailure> {
        Ok(match question {
            Question::Status(status) => {
                self.stands(peer, status);
                Answer::Status(self.status())
            }
            Question::Headers { locator } => self.headers_after(&locator)?,
            Question::Bodies(hashes) => Answer::Bodies(self.bodies_of(&hashes)?),
            Question::Transactions { block, ids } => {
                Answer::Transactions(self.transactions_of(&block, &ids)?)
            }
            Question::Parents { block, ids } => Answer::Parents(self.parents_of(&block, &ids)?),
            Question::PoolIds { after } => Answer::PoolIds(self.pool_ids_after(&after)),
        })
    }

    /// Ids of the pool above one, ascending, a page of them: child blocks are not compared, bundlers make new ones.
    fn pool_ids_after(&self, after: &TxId) -> Vec<TxId> {
        let above = self.pool.ids().filter(|id| id > after);
        let mut ids: Vec<TxId> = above
            .filter(|id| self.pool.child_block(id).is_none())
            .collect();
        if ids.len() > IDS_MAX {
            ids.select_nth_unstable(IDS_MAX);
            ids.truncate(IDS_MAX);
        }
        ids.sort_unstable();
        ids
    }

    fn headers_after(&self, locator: &[Hash]) -> Result<Answer, StoreFailure> {
        for hash in locator {
            if let Some(height) = self.height_of(hash)? {
                let rows = read::headers(&self.rows, height.saturating_add(1), HEADERS_MAX)?;
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

    fn bodies_of(&self, hashes: &[Hash]) -> Result<Vec<Vec<u8>>, StoreFailure> {
        let (mut bodies, mut bytes) = (Vec::new(), 0);
        for hash in hashes {
            let Some(body) = self.body_of(hash)? else {
                break;
            };
            bytes += body.len();
            if bytes > ANSWER_BYTES && !bodies.is_empty() {
                break;
            }
            bodies.push(body);
        }
        Ok(bodies)
    }

    /// A body as carried, of the chain or from beside it.
    fn body_of(&self, hash: &Hash) -> Result<Option<Vec<u8>>, StoreFailure> {
        let Some(height) = self.height_of(hash)? else {
            return Side::body(&self.rows, hash);
        };
        match read::header(&self.rows, height)? {
            Some(row) => read::body_bytes(&self.rows, &row.header),
            None => Ok(None),
        }
    }

    /// A transaction of the pool, or of the chain.
    fn transaction_of(
        &self,
        in_blocks: bool,
        id: &TxId,
    ) -> Result<Option<Transaction>, StoreFailure> {
        if let Some(carried) = self.pool.get(id) {
            return Ok(Some(carried.transaction.clone()));
        }
        if !in_blocks {
            return Ok(None);
        }
        match read::place_of(&self.rows, id)? {
            Some(place) => read::transaction_at(&self.rows, place),
            None => Ok(None),
        }
    }

    fn transactions_of(
        &self,
        block: &Hash,
        ids: &[TxId],
    ) -> Result<Vec<Transaction>, StoreFailure> {
        let (mut transactions, mut bytes) = (Vec::new(), 0);
        for id in ids {
            if let Some(transaction) = self.transaction_of(*block != Hash::ZERO, id)? {
                bytes += transaction.to_bytes().len();
                transactions.push(transaction);
                if bytes >= ANSWER_BYTES {
                    break;
                }
            }
        }
        Ok(transactions)
    }

    fn parents_of(&self, block: &Hash, ids: &[TxId]) -> Result<Vec<Listed>, StoreFailure> {
        let carried = match self.height_of(block)? {
            Some(height) => crate::state::carried_block(&self.rows, &self.genesis, height)?,
            None => self.side.get(&self.rows, &self.genesis, block)?,
        };
        let (mut listed, mut bytes) = (Vec::new(), 0);
        for id in ids {
            let in_block = carried.as_ref().and_then(|block| {
                let at = block
                    .body
                    .binary_search_by_key(id, |entry| entry.transaction.id);
                at.ok().map(|at| &block.body[at])
            });
            let one = if let Some(entry) = in_block {
                Listed {
                    transaction: entry.transaction.transaction.clone(),
                    ids: entry.children.iter().map(|child| child.id).collect(),
                }
            } else if let Some(child_block) = self.pool.child_block(id) {
                Listed {
                    transaction: child_block.transaction().transaction.clone(),
                    ids: child_block.ids().to_vec(),
                }
            } else {
                match self.pool.get(id) {
                    Some(carried)
                        if !matches!(carried.transaction.body, Body::ChildBlock { .. }) =>
                    {
                        Listed {
                            transaction: carried.transaction.clone(),
                            ids: Vec::new(),
                        }
                    }
                    _ => continue,
                }
            };
            bytes += one.transaction.to_bytes().len() + 32 * one.ids.len();
            listed.push(one);
            if bytes >= ANSWER_BYTES {
                break;
            }
        }
        Ok(listed)
    }
}
