//! The fetching of back chains from the peers that sent the transactions.

use std::collections::BTreeSet;

use flow::{Fetching, Service};
use ledger::{PartyId, Rejection, TxId};
use primitives::{Decode, Encode};

use crate::back_chains::BackChains;
use crate::back_chains::chain::ResolutionError;
use crate::back_chains::requests::resolution_request;
use crate::back_chains::running::Running;
use crate::command::{BackChainsCommand, IntakeCommand, PeersCommand};
use crate::context::Context;
use crate::errors;
use crate::intake::fault::Fault;
use crate::intake::item_id::ItemId;
use crate::ledger_book::Book;
use crate::message::{Answer, FETCH_WANTED_MAX, FetchResponse};
use crate::peers::budget::GARBAGE_MESSAGE;
use crate::port::{Reads, StoreFailure};
use crate::round::Work;

/// The reason why a chain is not fetched to its end.
#[derive(Debug)]
pub(super) enum Failure {
    /// The root cannot be recorded, through its own fault or this node's.
    Faulty(Fault),
    /// The peer's answer is invalid, which says nothing about the transaction.
    Useless(Rejection),
    /// The peer's chains take its share of the node. The transaction may come again, and there may be room then.
    NoRoom(Rejection),
}

impl BackChains {
    /// Carries out a command.
    pub(crate) fn on_command(
        &mut self,
        command: BackChainsCommand,
        book: &Book,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        match command {
            BackChainsCommand::Fetch {
                item,
                peer,
                root,
                missing,
                fetching,
            } => self.fetch((item, peer, root), missing, fetching, context),
            BackChainsCommand::Join { number, item } => self.resolutions.join(number, item),
            BackChainsCommand::Leave { number, item } => self.resolutions.leave(number, item),
            BackChainsCommand::Unhold { peer, item } => self.resolutions.unhold(&peer, item),
            BackChainsCommand::Fetched { number, answer } => {
                self.on_fetched(number, answer, book, context, reads)?;
            }
            BackChainsCommand::Serve { peer, id, body } => {
                self.on_request(peer, id, &body, book, context, reads)?;
            }
        }
        Ok(())
    }

    /// Fetches the missing dependencies of an item, at once or as soon as there is a place.
    fn fetch(
        &mut self,
        (item, peer, root): (ItemId, PartyId, TxId),
        missing: BTreeSet<TxId>,
        fetching: Fetching,
        context: &mut Context,
    ) {
        if !self.resolutions.has_place(&peer) {
            self.resolutions.hold(peer, item);
            return;
        }
        let (bytes_max, now) = (context.options.back_chain_bytes_max, context.now.monotonic);
        let number = self
            .resolutions
            .begin(item, peer, root, missing, bytes_max, now);
        if fetching == Fetching::OneByOne
            && let Some(resolution) = self.resolutions.get_mut(number)
        {
            resolution.fetch_one_by_one();
        }
        context.command(IntakeCommand::WaitsForChain { item, number });
        context.figures.resolutions += 1;
        self.ask(number, context);
    }

    /// Requests the transactions that a resolution still lacks, if there are any.
    fn ask(&mut self, number: u64, context: &mut Context) {
        let Some(resolution) = self.resolutions.get_mut(number) else {
            return;
        };
        let Some(request) = resolution.next_request() else {
            return;
        };
        let (peer, step) = (resolution.peer, resolution.next_step());
        context.command(PeersCommand::Ask {
            peer,
            id: resolution_request(number, step),
            service: Service::Transactions,
            body: request.to_bytes(),
        });
    }

    /// Handles the answer of a peer.
    fn on_fetched(
        &mut self,
        number: u64,
        answer: Answer,
        book: &Book,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let failure = match answer {
            Answer::Done(bytes) => self.accept(number, &bytes, book, context, reads)?,
            // The peer may answer another time.
            Answer::Failed(rejection) => Some(Failure::Faulty(Fault::Local(rejection))),
            // Asking again is the requests' business.
            Answer::Wait(_) => None,
        };
        if failure.is_some() {
            self.end(number, failure, context);
        }
        Ok(())
    }

    fn accept(
        &mut self,
        number: u64,
        bytes: &[u8],
        book: &Book,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<Option<Failure>, StoreFailure> {
        let response = match FetchResponse::from_bytes(bytes) {
            Ok(response) => response,
            Err(error) => {
                let text = format!("a back chain does not decode: {error}");
                return Ok(Some(useless(text)));
            }
        };
        let bytes_max = context.options.staged_chains_bytes_max;
        let room = self.resolutions.room_for(number, bytes_max);
        let Some(resolution) = self.resolutions.get_mut(number) else {
            return Ok(None);
        };
        let peer = resolution.peer;
        let found = match resolution.accept(response, room, book, reads)? {
            Ok(found) => found,
            Err(error) => return Ok(Some(failure_of(error, context))),
        };
        let commit = context.commits.next();
        let spilled = resolution.spill(commit, &mut context.round.batch);
        let now = context.now.monotonic;
        self.resolutions.progressed(number, &found, &spilled, now);
        if self.resolutions.asks_too_much_of(&peer) {
            // Its items look for their dependencies again, and wait for a place until other chains of the peer are done.
            self.end(number, None, context);
        } else {
            self.ask(number, context);
        }
        Ok(None)
    }

    /// Ends a resolution. A fault of the chain is a fault of the item that it was fetched for. Other items that waited for a part
    /// of it look for their dependencies again.
    pub(super) fn end(&mut self, number: u64, failure: Option<Failure>, context: &mut Context) {
        let Some(running) = self.close(number, context) else {
            return;
        };
        for item in running.waiting {
            let command = match &failure {
                Some(Failure::Faulty(fault)) if item == running.primary => {
                    let fault = fault.clone();
                    IntakeCommand::Refuse { item, fault }
                }
                Some(Failure::Useless(rejection)) if item == running.primary => {
                    context.note_garbage(running.resolution.peer, GARBAGE_MESSAGE);
                    IntakeCommand::LeaveUnanswered {
                        item,
                        code: errors::PEER_ANSWER_INVALID.code,
                        rejection: rejection.clone(),
                    }
                }
                Some(Failure::NoRoom(rejection)) if item == running.primary => {
                    IntakeCommand::LeaveUnanswered {
                        item,
                        code: errors::DELIVERY_WAITS.code,
                        rejection: rejection.clone(),
                    }
                }
                _ => IntakeCommand::LookAgain(item),
            };
            context.command(command);
        }
    }

    fn close(&mut self, number: u64, context: &mut Context) -> Option<Running> {
        let running = self.resolutions.end(number)?;
        running.resolution.discard(&mut context.round.batch);
        let asked = resolution_request(number, running.resolution.step());
        context.command(PeersCommand::ForgetRequest(asked));
        assert!(
            self.resolutions.get_mut(number).is_none(),
            "chain {number} has ended and is still fetched"
        );
        Some(running)
    }

    /// Ends resolutions that no item needs, lets silent ones make room, and starts waiting items for which there is a place.
    /// `sender` is the peer that has the back chain of an item.
    pub(crate) fn tend(
        &mut self,
        sender: impl Fn(ItemId) -> Option<PartyId>,
        context: &mut Context,
    ) {
        while let Some(number) = self.resolutions.pop_abandoned() {
            self.end(number, None, context);
        }
        let giving_up = self.resolutions.stalled(context.now.monotonic);
        if let Some(number) = giving_up.or_else(|| self.resolutions.crowding()) {
            self.evict(number, sender, context);
        }
        if let Some(item) = self.resolutions.next_held() {
            context.work.push_back(Work::Signed(item));
        }
    }

    /// Takes the place from a resolution. Its items queue again.
    fn evict(
        &mut self,
        number: u64,
        sender: impl Fn(ItemId) -> Option<PartyId>,
        context: &mut Context,
    ) {
        let Some(running) = self.close(number, context) else {
            return;
        };
        for item in running.waiting {
            match sender(item) {
                Some(peer) => self.resolutions.hold(peer, item),
                None => context.work.push_back(Work::Signed(item)),
            }
        }
    }
}

fn useless(text: String) -> Failure {
    Failure::Useless(errors::rejection(&errors::PEER_ANSWER_INVALID, text))
}

fn failure_of(error: ResolutionError, context: &Context) -> Failure {
    let (info, text) = match error {
        ResolutionError::Unsolicited(text) => return useless(text),
        ResolutionError::Unavailable(id) => (
            &errors::DEPENDENCY_UNAVAILABLE,
            format!("the sender does not have transaction {id}"),
        ),
        ResolutionError::TooWide => (
            &errors::BACK_CHAIN_TOO_WIDE,
            format!("the back chain branches into more than {FETCH_WANTED_MAX} transactions"),
        ),
        ResolutionError::TooLong => {
            let max = context.options.back_chain_bytes_max;
            let text = format!("the back chain holds more than {max} bytes");
            (&errors::BACK_CHAIN_TOO_LONG, text)
        }
        ResolutionError::NoRoom => {
            let max = context.options.staged_chains_bytes_max;
            let text = format!(
                "the back chains fetched from this peer fill its share of the {max} bytes for the chains of all peers"
            );
            return Failure::NoRoom(errors::rejection(&errors::BACK_CHAIN_TOO_LONG, text));
        }
    };
    Failure::Faulty(Fault::Local(errors::rejection(info, text)))
}
