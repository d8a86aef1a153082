//! Questions to peers, the handling of their answers, and the penalties of peers.

use super::requests::{Purpose, UnderWay};
use crate::core::limits::{QUESTIONS_PER_PEER_MAX, points};
use crate::core::{Action, Core, PeerId, RequestFailure, Ticket};
use crate::message::{Answer, Question};
use crate::port::{Reads, StoreFailure, Table};

impl<R: Reads<Table>> Core<R> {
    /// Handles a question that a peer did not answer in time.
    pub(in crate::core) fn was_silent(&mut self, peer: PeerId) {
        self.penalise(peer, points::SILENCE, "chain_peer.silent");
        if self.peers.was_silent(&peer, self.now_ms) {
            let reason = "chain_peer.silent";
            self.actions.push(Action::Disconnect { peer, reason });
        }
    }

    /// Resets a peer's silence after an answer.
    pub(in crate::core) fn was_heard(&mut self, peer: PeerId) {
        self.peers.was_heard(&peer, self.now_ms);
    }

    /// Returns whether a peer may be asked another question.
    pub(in crate::core) fn may_ask(&self, peer: &PeerId) -> bool {
        self.questions.has_room()
            && self
                .peers
                .get(peer)
                .is_some_and(|peer| peer.asked < QUESTIONS_PER_PEER_MAX)
    }

    /// Asks a peer a question.
    pub(in crate::core) fn ask(
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

    pub(in crate::core) fn answered(
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
    pub(in crate::core) fn give_up_late(&mut self) -> Result<(), StoreFailure> {
        for question in self.questions.late(self.now_ms) {
            self.no_longer_asked(&question.peer);
            self.was_silent(question.peer);
            self.unanswered(question)?;
        }
        Ok(())
    }

    pub(in crate::core) fn peer_down(&mut self, peer: PeerId) -> Result<(), StoreFailure> {
        self.parts_peer_down(&peer);
        for question in self.questions.of_peer(peer) {
            self.unanswered(question)?;
        }
        Ok(())
    }

    /// Adds penalty points to a peer.
    pub(in crate::core) fn penalise(&mut self, peer: PeerId, points: u32, reason: &'static str) {
        self.actions.push(Action::Penalise {
            peer,
            points,
            reason,
        });
    }
}
