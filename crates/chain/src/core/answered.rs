//! Questions to peers, and the handling of their answers.

use super::limits::{PATIENCE_MS, QUESTIONS_PER_PEER_MAX, points};
use super::questions::{Purpose, UnderWay};
use super::{Action, Core, PeerId, RequestFailure, Ticket};
use crate::message::{Answer, Question, Status};
use crate::port::{Reads, StoreFailure, Table};

/// Maximum interval between status questions to a peer, in milliseconds.
const STATUS_MS_MAX: u64 = 20_000;
/// Minimum interval between status questions to a peer, in milliseconds.
const STATUS_MS_MIN: u64 = 1_000;

impl<R: Reads<Table>> Core<R> {
    /// Returns whether a peer may be asked another question.
    pub(super) fn may_ask(&self, peer: &PeerId) -> bool {
        self.questions.has_room()
            && self
                .peers
                .get(peer)
                .is_some_and(|peer| peer.asked < QUESTIONS_PER_PEER_MAX)
    }

    /// Asks a peer a question.
    pub(super) fn ask(
        &mut self,
        peer: PeerId,
        purpose: Purpose,
        question: &Question,
        patience_ms: u64,
    ) {
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.asked += 1;
        }
        let ticket = self.questions.add(peer, purpose, self.now_ms, patience_ms);
        self.actions.push(Action::Ask {
            peer,
            ticket,
            bytes: question.to_bytes(),
            patience_ms,
        });
    }

    pub(super) fn answered(
        &mut self,
        peer: PeerId,
        ticket: Ticket,
        result: Result<Vec<u8>, RequestFailure>,
    ) -> Result<(), StoreFailure> {
        let Some(question) = self.questions.answered(ticket, peer) else {
            return Ok(());
        };
        self.no_longer_asked(&peer);
        let bytes = match result {
            Ok(bytes) => {
                self.was_heard(peer);
                bytes
            }
            // The question is asked again soon, as if the peer were busy.
            Err(RequestFailure::NoRoom) => return self.peer_is_busy(question),
            Err(failure) => {
                if failure == RequestFailure::Late {
                    self.was_silent(peer);
                }
                return self.unanswered(question);
            }
        };
        match Answer::read(&bytes) {
            Ok(Answer::Busy) => self.peer_is_busy(question),
            Ok(answer) => self.answer_came(question, answer),
            Err(rejection) => {
                self.penalise(peer, points::GARBAGE, rejection.code);
                self.unanswered(question)
            }
        }
    }

    fn no_longer_asked(&mut self, peer: &PeerId) {
        if let Some(peer) = self.peers.get_mut(peer) {
            peer.asked = peer.asked.saturating_sub(1);
        }
    }

    fn answer_came(&mut self, question: UnderWay, answer: Answer) -> Result<(), StoreFailure> {
        let peer = question.peer;
        match (&question.purpose, answer) {
            (Purpose::Status, Answer::Status(status)) => {
                self.stands(peer, status);
                Ok(())
            }
            (Purpose::Headers(number), Answer::Headers { common, headers }) => {
                self.headers_came(peer, *number, common, headers)
            }
            (
                Purpose::Bodies {
                    download,
                    first,
                    count,
                },
                Answer::Bodies(bodies),
            ) => self.bodies_came(peer, *download, *first, *count, bodies),
            (Purpose::Parents(hash), Answer::Parents(listed)) => {
                self.settle_intake()?;
                self.parents_came(peer, hash, listed)
            }
            (Purpose::Children(hash), Answer::Transactions(transactions)) => {
                self.settle_intake()?;
                self.children_came(peer, hash, transactions)
            }
            (Purpose::Body(hash), Answer::Bodies(bodies)) => {
                self.settle_intake()?;
                match bodies.first() {
                    Some(bytes) => self.body_came(peer, hash, bytes),
                    None => self.part_failed(peer, hash),
                }
            }
            (Purpose::PoolIds, Answer::PoolIds(ids)) => {
                self.pool_ids_came(peer, &ids);
                Ok(())
            }
            (Purpose::PoolTransactions, Answer::Transactions(transactions)) => {
                self.pool_transactions_came(peer, transactions)
            }
            (Purpose::PoolChildBlocks, Answer::Parents(listed)) => {
                self.pool_child_blocks_came(peer, listed)
            }
            _ => {
                self.penalise(peer, points::WRONG_ANSWER, "chain_peer.wrong_answer");
                self.unanswered(question)
            }
        }
    }

    /// Handles a question without a useful answer. Everything that waits for it continues without the answer.
    fn unanswered(&mut self, question: UnderWay) -> Result<(), StoreFailure> {
        let peer = question.peer;
        match question.purpose {
            Purpose::Status
            | Purpose::PoolIds
            | Purpose::PoolTransactions
            | Purpose::PoolChildBlocks => Ok(()),
            Purpose::Headers(number) => {
                self.failed(peer);
                self.headers_failed(peer, number)
            }
            Purpose::Bodies {
                download,
                first,
                count,
            } => {
                self.failed(peer);
                self.bodies_failed(peer, download, first, count);
                Ok(())
            }
            Purpose::Parents(hash) | Purpose::Children(hash) | Purpose::Body(hash) => {
                self.part_failed(peer, &hash)
            }
        }
    }

    /// Handles a peer that has no capacity for answers now, or a lack of room here for the question. Bodies are requested from
    /// other peers, or from this peer again later.
    fn peer_is_busy(&mut self, question: UnderWay) -> Result<(), StoreFailure> {
        match question.purpose {
            Purpose::Bodies {
                download,
                first,
                count,
            } => {
                self.bodies_put_off(question.peer, download, first, count);
                Ok(())
            }
            Purpose::Headers(number) => {
                self.cool_down(question.peer);
                self.headers_failed(question.peer, number)
            }
            _ => self.unanswered(question),
        }
    }

    /// Gives up overdue questions, in case the transport has lost them.
    pub(super) fn give_up_late(&mut self) -> Result<(), StoreFailure> {
        for question in self.questions.late(self.now_ms) {
            self.no_longer_asked(&question.peer);
            self.was_silent(question.peer);
            self.unanswered(question)?;
        }
        Ok(())
    }

    pub(super) fn peer_down(&mut self, peer: PeerId) -> Result<(), StoreFailure> {
        self.peers.remove(&peer);
        self.wanted.forget(&peer);
        for question in self.questions.of_peer(peer) {
            self.unanswered(question)?;
        }
        Ok(())
    }

    /// Returns this node's status.
    pub(super) fn status(&self) -> Status {
        let tip = self.rows.tip();
        Status {
            height: tip.height,
            tip: tip.hash,
            difficulty: tip.difficulty,
        }
    }

    /// Records a peer's status.
    pub(super) fn stands(&mut self, peer: PeerId, status: Status) {
        let fresh = match self.peers.get_mut(&peer) {
            Some(peer) => peer.status.replace(status).is_none(),
            None => false,
        };
        if fresh {
            // A new neighbour may know transactions that are not in this pool.
            self.compare_with(peer);
        }
    }

    /// Returns the interval between status questions to each peer.
    fn status_every_ms(&self) -> u64 {
        let block_ms = u64::from(self.genesis.params.block_seconds) * 1_000;
        block_ms.clamp(STATUS_MS_MIN, STATUS_MS_MAX)
    }

    /// Asks all peers that are due for their status. The question tells them ours.
    pub(super) fn ask_where_peers_stand(&mut self) {
        let (now_ms, every_ms) = (self.now_ms, self.status_every_ms());
        let due: Vec<PeerId> = self
            .peers
            .iter()
            .filter(|(id, peer)| peer.status_due_ms <= now_ms && self.may_ask(id))
            .map(|(id, _)| *id)
            .collect();
        let question = Question::Status(self.status());
        for id in due {
            if !self.questions.has_room() {
                // The other peers are asked when a question has been answered.
                return;
            }
            self.ask(id, Purpose::Status, &question, PATIENCE_MS);
            if let Some(peer) = self.peers.get_mut(&id) {
                peer.status_due_ms = now_ms + every_ms;
            }
        }
    }

    /// Schedules a status question to all peers at the end of the round, because the tip has moved without an announcement of
    /// ours.
    pub(super) fn tell_where_we_stand(&mut self) {
        let now_ms = self.now_ms;
        for (_, peer) in self.peers.iter_mut() {
            peer.status_due_ms = now_ms;
        }
    }

    pub(super) fn statuses_due_ms(&self) -> Option<u64> {
        self.peers
            .iter()
            .filter(|(id, _)| self.may_ask(id))
            .map(|(_, peer)| peer.status_due_ms)
            .min()
    }
}
