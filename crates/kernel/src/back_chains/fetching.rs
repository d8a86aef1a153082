//! Back chains: fetched from who sent the transaction, verified oldest first as bulk work, recorded on the way.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use flow::messaging::RequestId;
use flow::{Fetching, FlowId, Service};
use ledger::{PartyId, Rejection, SignedTransaction, TxId};
use primitives::{Decode, Encode, SignedMessage};

use crate::back_chains::chain::{ResolutionError, VERIFY_CHUNK};
use crate::back_chains::running::Running;
use crate::errors;
use crate::intake::fault::Fault;
use crate::intake::item_id::ItemId;
use crate::kernel::Kernel;
use crate::message::{Answer, FETCH_WANTED_MAX, FetchResponse};
use crate::peers::budget::{GARBAGE_MESSAGE, contract_work, work_of};
use crate::port::{Reads, StoreFailure};
use crate::round::Work;

/// Why a chain is not fetched to its end.
enum Failure {
    /// It cannot be recorded, for a fault of its own or of this node.
    Faulty(Fault),
    /// The peer's answer makes no sense, which says nothing about the transaction.
    Useless(Rejection),
}

/// A part of a chain that is verified in this round.
struct Part {
    number: u64,
    transactions: Vec<(Arc<SignedTransaction>, Range<usize>)>,
    /// Nothing is left of the chain after this.
    is_last: bool,
    failure: Option<Failure>,
}

impl Kernel {
    /// Fetches the missing dependencies of an item, at once or as soon as there is a place.
    pub(crate) fn fetch(
        &mut self,
        item: ItemId,
        peer: PartyId,
        root: TxId,
        missing: BTreeSet<TxId>,
    ) {
        let resolutions = &mut self.intake.resolutions;
        if !resolutions.has_place(&peer) {
            resolutions.hold(peer, item);
            return;
        }
        let bytes_max = self.context.options.back_chain_bytes_max;
        let number = resolutions.begin(
            item,
            peer,
            root,
            missing,
            bytes_max,
            self.context.now.monotonic,
        );
        let goal = self.intake.get(item).map(|item| &item.goal);
        let one_by_one = goal.is_some_and(|goal| goal.fetching() == Fetching::OneByOne);
        if one_by_one && let Some(resolution) = self.intake.resolutions.get_mut(number) {
            resolution.fetch_one_by_one();
        }
        self.intake.waits_for_chain(item, number);
        self.context.figures.resolutions += 1;
        self.ask_for_chain(number);
    }

    /// Requests the transactions that a resolution still lacks, if there are any.
    fn ask_for_chain(&mut self, number: u64) {
        let Some(resolution) = self.intake.resolutions.get_mut(number) else {
            return;
        };
        let Some(request) = resolution.next_request() else {
            return;
        };
        let (peer, step) = (resolution.peer, resolution.next_step());
        let id = resolution_request(number, step);
        let now = self.context.now.monotonic;
        self.links
            .ask(peer, id, Service::Transactions, request.to_bytes(), now);
    }

    pub(crate) fn on_fetched(
        &mut self,
        number: u64,
        answer: Answer,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let failure = match answer {
            Answer::Done(bytes) => self.accept(number, &bytes, reads)?,
            // The peer may answer another time.
            Answer::Failed(rejection) => Some(Failure::Faulty(Fault::Local(rejection))),
            // Asking again is the requests' business.
            Answer::Wait(_) => None,
        };
        if failure.is_some() {
            self.end_chain(number, failure);
        }
        Ok(())
    }

    fn accept(
        &mut self,
        number: u64,
        bytes: &[u8],
        reads: &dyn Reads,
    ) -> Result<Option<Failure>, StoreFailure> {
        let invalid =
            |text: String| Failure::Useless(errors::rejection(&errors::PEER_ANSWER_INVALID, text));
        let response = match FetchResponse::from_bytes(bytes) {
            Ok(response) => response,
            Err(error) => {
                return Ok(Some(invalid(format!(
                    "a back chain does not decode: {error}"
                ))));
            }
        };
        let commit = self.context.commits.next();
        let resolutions = &mut self.intake.resolutions;
        let Some(resolution) = resolutions.get_mut(number) else {
            return Ok(None);
        };
        let peer = resolution.peer;
        let found = match resolution.accept(response, &mut self.book, reads)? {
            Ok(found) => found,
            Err(ResolutionError::Unsolicited(text)) => return Ok(Some(invalid(text))),
            Err(ResolutionError::Unavailable(id)) => {
                let text = format!("the sender does not have transaction {id}");
                let rejection = errors::rejection(&errors::DEPENDENCY_UNAVAILABLE, text);
                return Ok(Some(Failure::Faulty(Fault::Local(rejection))));
            }
            Err(ResolutionError::TooWide) => {
                let text = format!(
                    "the back chain branches into more than {FETCH_WANTED_MAX} transactions"
                );
                let rejection = errors::rejection(&errors::BACK_CHAIN_TOO_WIDE, text);
                return Ok(Some(Failure::Faulty(Fault::Local(rejection))));
            }
            Err(ResolutionError::TooLong) => {
                let max = self.context.options.back_chain_bytes_max;
                let text = format!("the back chain holds more than {max} bytes");
                let rejection = errors::rejection(&errors::BACK_CHAIN_TOO_LONG, text);
                return Ok(Some(Failure::Faulty(Fault::Local(rejection))));
            }
        };
        let spilled = resolution.spill(commit, &mut self.context.round.batch);
        resolutions.progressed(number, &found, &spilled, self.context.now.monotonic);
        if resolutions.asks_too_much_of(&peer) {
            // Its items look again, and wait for a place until others of the peer are done.
            self.end_chain(number, None);
        } else {
            self.ask_for_chain(number);
        }
        Ok(None)
    }

    /// Ends a resolution. A fault of the chain is a fault of the item that it was fetched for. Other items that waited for a part
    /// of it look for their dependencies again.
    fn end_chain(&mut self, number: u64, failure: Option<Failure>) {
        let Some(running) = self.close_chain(number) else {
            return;
        };
        for item in running.waiting {
            match &failure {
                Some(Failure::Faulty(fault)) if item == running.primary => {
                    self.refuse(item, fault.clone());
                }
                Some(Failure::Useless(rejection)) if item == running.primary => {
                    self.note_garbage(running.resolution.peer, GARBAGE_MESSAGE);
                    self.give_up(item, rejection.clone());
                }
                _ => self.context.work.push_back(Work::Signed(item)),
            }
        }
    }

    fn close_chain(&mut self, number: u64) -> Option<Running> {
        let running = self.intake.resolutions.end(number)?;
        running.resolution.discard(&mut self.context.round.batch);
        let asked = resolution_request(number, running.resolution.step());
        self.links
            .forget_request(&asked, self.context.now.monotonic);
        Some(running)
    }

    /// Ends resolutions that no item needs, lets silent ones make room, and starts waiting items for which there is a place.
    /// Returns whether there is work now.
    pub(crate) fn tend_chains(&mut self) -> bool {
        while let Some(number) = self.intake.resolutions.pop_abandoned() {
            self.end_chain(number, None);
        }
        let resolutions = &self.intake.resolutions;
        let giving_up = resolutions.stalled(self.context.now.monotonic);
        if let Some(number) = giving_up.or_else(|| resolutions.crowding()) {
            self.evict(number);
        }
        if let Some(item) = self.intake.resolutions.next_held() {
            self.context.work.push_back(Work::Signed(item));
        }
        !self.context.work.is_empty()
    }

    /// A resolution gives up its place; those who need it queue again.
    fn evict(&mut self, number: u64) {
        let Some(running) = self.close_chain(number) else {
            return;
        };
        for item in running.waiting {
            match self.intake.get(item).and_then(|waiting| waiting.from) {
                Some(peer) => self.intake.resolutions.hold(peer, item),
                None => self.context.work.push_back(Work::Signed(item)),
            }
        }
    }

    /// Verifies parts of fetched back chains, oldest transactions first, one part of each in turn and so many transactions
    /// a round. Whether anything came of it that can be done now.
    pub(crate) fn verify_back_chains(&mut self, reads: &dyn Reads) -> Result<bool, StoreFailure> {
        if self.context.round.chains_verified {
            return Ok(false);
        }
        self.context.round.chains_verified = true;
        let mut messages = Vec::new();
        let parts = self.take_parts(&mut messages, reads)?;
        if parts.is_empty() {
            return Ok(false);
        }
        let verdicts = self
            .signatures
            .check_messages(messages.iter(), &mut self.context.figures);
        for mut part in parts {
            for (transaction, range) in part.transactions {
                let good = !verdicts[range].contains(&false);
                if let Err(failure) =
                    self.record_ancestor(part.number, &transaction, good, reads)?
                {
                    part.failure = Some(failure);
                    break;
                }
            }
            match part.failure {
                Some(failure) => self.end_chain(part.number, Some(failure)),
                None if part.is_last => self.end_chain(part.number, None),
                None => {}
            }
        }
        Ok(true)
    }

    fn take_parts(
        &mut self,
        messages: &mut Vec<SignedMessage>,
        reads: &dyn Reads,
    ) -> Result<Vec<Part>, StoreFailure> {
        let mut parts = Vec::new();
        let mut seen = BTreeSet::new();
        let mut count = 0;
        while count < VERIFY_CHUNK
            && let Some(number) = self.intake.resolutions.next_to_verify()
            && seen.insert(number)
            && let Some(resolution) = self.intake.resolutions.get_mut(number)
        {
            if !self
                .budgets
                .may_work(&resolution.peer, self.context.now.monotonic)
            {
                continue;
            }
            let rows = resolution.take_oldest(reads, &mut self.context.round.batch)?;
            count += rows.len().max(1);
            let is_last = resolution.is_drained();
            let (peer, mut work) = (resolution.peer, 0);
            let mut part = Part {
                number,
                transactions: Vec::new(),
                is_last,
                failure: None,
            };
            for bytes in rows {
                let parsed = SignedTransaction::from_bytes(&bytes).map_err(|e| Rejection::of(&e));
                let checked = parsed.and_then(|transaction| {
                    let pending = transaction.check_signatures(&[]);
                    let pending = pending
                        .map_err(|e| invalid_ancestor(transaction.id(), &Rejection::of(&e)))?;
                    Ok((transaction, pending))
                });
                match checked {
                    Ok((transaction, pending)) => {
                        work += work_of(pending.messages());
                        work += contract_work(transaction.wire());
                        let from = messages.len();
                        messages.extend_from_slice(pending.messages());
                        part.transactions
                            .push((Arc::new(transaction), from..messages.len()));
                    }
                    Err(rejection) => {
                        part.failure = Some(Failure::Faulty(Fault::Final(rejection)));
                        break;
                    }
                }
            }
            self.budgets.charge(peer, work);
            parts.push(part);
        }
        Ok(parts)
    }

    /// Verifies and records one transaction of a back chain; those before it are recorded.
    fn record_ancestor(
        &mut self,
        number: u64,
        transaction: &Arc<SignedTransaction>,
        signatures_good: bool,
        reads: &dyn Reads,
    ) -> Result<Result<(), Failure>, StoreFailure> {
        let id = transaction.id();
        if self.book.contains(&id, reads)? {
            return Ok(Ok(()));
        }
        if !signatures_good {
            let text = "a signature is not valid";
            let rejection = errors::rejection(&errors::SIGNATURE_INVALID, text);
            return Ok(Err(Failure::Faulty(Fault::Final(invalid_ancestor(
                id, &rejection,
            )))));
        }
        if let Err(fault) =
            self.contract_checks
                .run(transaction, &mut self.book, &self.context, reads)?
        {
            let fault = match fault {
                Fault::Final(rejection) => Fault::Final(invalid_ancestor(id, &rejection)),
                // Nothing is wrong with the ancestor: the reason keeps its own code.
                local => local.map(|rejection| of_ancestor(id, rejection)),
            };
            return Ok(Err(Failure::Faulty(fault)));
        }
        let peer = self
            .intake
            .resolutions
            .get_mut(number)
            .map(|resolution| resolution.peer);
        let rejection = self.contradictions.contradicted(
            transaction,
            peer,
            &self.book,
            &mut self.signatures,
            &mut self.context,
            reads,
        )?;
        if let Some(rejection) = rejection {
            return Ok(Err(Failure::Faulty(Fault::Final(invalid_ancestor(
                id, &rejection,
            )))));
        }
        self.context.figures.resolved_transactions += 1;
        self.record(transaction, reads)?;
        Ok(Ok(()))
    }
}

fn invalid_ancestor(id: TxId, rejection: &Rejection) -> Rejection {
    let text = format!("ancestor {id}: {} ({})", rejection.message, rejection.code);
    errors::rejection(&errors::DEPENDENCY_INVALID, text)
}

/// A reason that concerns an ancestor, under its own code.
fn of_ancestor(id: TxId, rejection: Rejection) -> Rejection {
    let text = format!("ancestor {id}: {}", rejection.message);
    Rejection::new(rejection.code, text, rejection.hint)
}

/// Requests of resolutions have flow ids that no flow has.
fn resolution_request(number: u64, step: u32) -> RequestId {
    let mut flow = [0xff; 16];
    flow[8..].copy_from_slice(&number.to_be_bytes());
    RequestId {
        flow: FlowId(flow),
        effect: step,
    }
}

/// The resolution that asked, if one did.
pub(crate) fn resolution_of(id: &RequestId) -> Option<u64> {
    let bytes = id.flow.as_bytes();
    let number = bytes.last_chunk::<8>()?;
    (bytes[..8] == [0xff; 8]).then(|| u64::from_be_bytes(*number))
}
