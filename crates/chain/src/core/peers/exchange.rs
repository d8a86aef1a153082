//! Questions to peers, the handling of their answers, and the penalties of peers.

use std::time::Duration;

use super::requests::{InFlightRequest, Purpose};
use crate::core::limits::{QUESTIONS_PER_PEER_MAX, REFUSED_TRANSACTIONS_MAX, points};
use crate::core::{Action, Core, PeerId, RequestFailure, Ticket};
use crate::message::{Answer, Question};
use crate::port::{Reads, StoreFailure, Table};

impl<R: Reads<Table>> Core<R> {
    /// Handles a question that a peer did not answer in time.
    pub(in crate::core) fn request_timed_out(&mut self, peer: PeerId) {
        self.penalise(peer, points::TIMEOUT, "chain_peer.silent");
        if self.peers.request_timed_out(&peer, self.now) {
            let reason = "chain_peer.silent";
            self.actions.push(Action::Disconnect { peer, reason });
        }
    }

    /// Resets a peer's timeouts after an answer.
    pub(in crate::core) fn peer_answered(&mut self, peer: PeerId) {
        self.peers.peer_answered(&peer, self.now);
    }

    /// Returns whether a peer may be asked another question.
    pub(in crate::core) fn can_ask(&self, peer: &PeerId) -> bool {
        self.requests.has_room()
            && self
                .peers
                .get(peer)
                .is_some_and(|peer| peer.in_flight < QUESTIONS_PER_PEER_MAX)
    }

    /// Asks a peer a question.
    pub(in crate::core) fn ask(
        &mut self,
        peer: PeerId,
        purpose: Purpose,
        question: &Question,
        patience: Duration,
    ) {
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.in_flight += 1;
        }
        let ticket = self.requests.add(peer, purpose, self.now, patience);
        self.actions.push(Action::Ask {
            peer,
            ticket,
            bytes: question.to_bytes(),
            patience,
        });
    }

    pub(in crate::core) fn handle_answer(
        &mut self,
        peer: PeerId,
        ticket: Ticket,
        result: Result<Vec<u8>, RequestFailure>,
    ) -> Result<(), StoreFailure> {
        let Some(question) = self.requests.take_answered(ticket, peer) else {
            return Ok(());
        };
        self.request_ended(&peer);
        let bytes = match result {
            Ok(bytes) => {
                self.peer_answered(peer);
                bytes
            }
            // The question is asked again soon, as if the peer were busy.
            Err(RequestFailure::NoRoom) => return self.peer_is_busy(question),
            Err(failure) => {
                if failure == RequestFailure::Late {
                    self.request_timed_out(peer);
                }
                return self.request_failed(question);
            }
        };
        match Answer::read(&bytes) {
            Ok(Answer::Busy) => self.peer_is_busy(question),
            Ok(answer) => self.dispatch_answer(question, answer),
            Err(rejection) => {
                self.penalise(peer, points::GARBAGE, rejection.code);
                self.request_failed(question)
            }
        }
    }

    fn request_ended(&mut self, peer: &PeerId) {
        if let Some(peer) = self.peers.get_mut(peer) {
            assert!(peer.in_flight > 0, "an answered request was in flight");
            peer.in_flight -= 1;
        }
    }

    fn dispatch_answer(
        &mut self,
        question: InFlightRequest,
        answer: Answer,
    ) -> Result<(), StoreFailure> {
        let peer = question.peer;
        match (&question.purpose, answer) {
            (Purpose::Status, Answer::Status(status)) => {
                self.update_status(peer, status);
                Ok(())
            }
            (Purpose::Headers(number), Answer::Headers { common, headers }) => {
                self.headers_received(peer, *number, common, headers)
            }
            (
                Purpose::Bodies {
                    download,
                    first,
                    count,
                },
                Answer::Bodies(bodies),
            ) => self.bodies_received(peer, *download, *first, *count, bodies),
            (Purpose::Parents(hash, asked), Answer::Parents(listed)) => {
                self.check_intake()?;
                self.parents_received(peer, hash, asked, listed)
            }
            (Purpose::Children(hash, asked), Answer::Transactions(transactions)) => {
                self.check_intake()?;
                self.children_received(peer, hash, asked, transactions)
            }
            (Purpose::Body(hash), Answer::Bodies(bodies)) => {
                self.check_intake()?;
                match bodies.first() {
                    Some(bytes) => self.body_received(peer, hash, bytes),
                    None => self.part_failed(peer, hash),
                }
            }
            (Purpose::PoolIds, Answer::PoolIds(ids)) => {
                self.pool_ids_received(peer, &ids);
                Ok(())
            }
            (Purpose::PoolTransactions(asked), Answer::Transactions(transactions)) => {
                self.pool_transactions_received(peer, asked, transactions)
            }
            (Purpose::PoolChildBlocks(asked), Answer::Parents(listed)) => {
                self.pool_child_blocks_received(peer, asked, listed)
            }
            _ => {
                self.wrong_answer(peer);
                self.request_failed(question)
            }
        }
    }

    /// Penalises a peer for an answer that does not match the question: of another kind, or with transactions that were not
    /// requested or come twice. An honest peer sends no such answer.
    pub(in crate::core) fn wrong_answer(&mut self, peer: PeerId) {
        self.penalise(peer, points::WRONG_ANSWER, "chain_peer.wrong_answer");
    }

    /// Handles a question without a useful answer. Everything that waits for it continues without the answer.
    fn request_failed(&mut self, question: InFlightRequest) -> Result<(), StoreFailure> {
        let peer = question.peer;
        match question.purpose {
            Purpose::Status
            | Purpose::PoolIds
            | Purpose::PoolTransactions(_)
            | Purpose::PoolChildBlocks(_) => Ok(()),
            Purpose::Headers(number) => {
                self.branch_failed(peer);
                self.headers_failed(peer, number)
            }
            Purpose::Bodies {
                download,
                first,
                count,
            } => {
                self.branch_failed(peer);
                self.bodies_failed(peer, download, first, count);
                Ok(())
            }
            Purpose::Parents(hash, _) | Purpose::Children(hash, _) | Purpose::Body(hash) => {
                self.part_failed(peer, &hash)
            }
        }
    }

    /// Handles a peer that has no capacity for answers now, or a lack of room here for the question. Bodies are requested from
    /// other peers, or from this peer again later.
    fn peer_is_busy(&mut self, question: InFlightRequest) -> Result<(), StoreFailure> {
        match question.purpose {
            Purpose::Bodies {
                download,
                first,
                count,
            } => {
                self.bodies_postponed(question.peer, download, first, count);
                Ok(())
            }
            Purpose::Headers(number) => {
                self.back_off(question.peer);
                self.headers_failed(question.peer, number)
            }
            _ => self.request_failed(question),
        }
    }

    /// Gives up overdue questions, in case the transport has lost them.
    pub(in crate::core) fn expire_requests(&mut self) -> Result<(), StoreFailure> {
        for question in self.requests.take_overdue(self.now) {
            self.request_ended(&question.peer);
            self.request_timed_out(question.peer);
            self.request_failed(question)?;
        }
        Ok(())
    }

    pub(in crate::core) fn peer_down(&mut self, peer: PeerId) -> Result<(), StoreFailure> {
        self.parts_peer_down(&peer);
        for question in self.requests.take_of_peer(peer) {
            self.request_failed(question)?;
        }
        Ok(())
    }

    /// Counts refused transactions or rates that a peer sent. Too many of them between two comparisons of pools cost it points.
    pub(in crate::core) fn count_refused(&mut self, peer: PeerId, refused: u32) {
        let Some(known) = self.peers.get_mut(&peer) else {
            return;
        };
        known.refused_count += refused;
        if known.refused_count > REFUSED_TRANSACTIONS_MAX {
            known.refused_count = 0;
            self.penalise(peer, points::REFUSED_TRANSACTIONS, "chain_peer.useless");
        }
    }

    /// Adds penalty points to a peer.
    pub(in crate::core) fn penalise(&mut self, peer: PeerId, points: u32, reason: &'static str) {
        assert!(
            crate::ERRORS.iter().any(|info| info.code == reason),
            "{reason}"
        );
        self.actions.push(Action::Penalise {
            peer,
            points,
            reason,
        });
    }
}
