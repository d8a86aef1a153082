//! How a transaction is settled: signatures in the round's batch, dependencies, contracts, then recorded or refused.
//!
//! A refusal is final: the peer forgets the delivery. So only a fault of the transaction itself, or of its back chain, refuses it
//! ([`crate::intake::fault`]). Any other fault leaves it without an answer, and the peer delivers it again.

use std::collections::BTreeSet;
use std::sync::Arc;

use flow::{EffectResult, FlowError, FlowId};
use ledger::{PartyId, Rejection, SignedTransaction, TxId};

use crate::back_chains::answers::dependencies;
use crate::errors;
use crate::event::{Action, Priority};
use crate::intake::classify::check_room;
use crate::intake::fault::Fault;
use crate::intake::item_id::ItemId;
use crate::intake::items::{Goal, Item};
use crate::integrity::quarantine::Quarantine;
use crate::kernel::Kernel;
use crate::message::PeerMessage;
use crate::notarisation::validating::signed_by_deciding;
use crate::peers::budget::contract_work;
use crate::peers::notices::{lacks_contract, leave_waiting};
use crate::port::{Reads, StoreFailure};
use crate::round::{CheckOwner, Work};

impl Kernel {
    /// Begins with a transaction; `along` came with it and may be among its dependencies.
    pub(crate) fn take_in(
        &mut self,
        transaction: Arc<SignedTransaction>,
        goal: Goal,
        from: Option<PartyId>,
        along: Vec<Arc<SignedTransaction>>,
    ) {
        let missing = match &goal {
            Goal::Verify {
                missing_allowed, ..
            } => missing_allowed.clone(),
            Goal::Notarise { .. } => signed_by_deciding(&transaction, &self.context),
            Goal::Record { .. } | Goal::Deliver { .. } | Goal::Dependency => Vec::new(),
        };
        let checked = check_room(&transaction, &self.context)
            .and_then(|()| Ok(transaction.check_signatures(&missing)?));
        let work = contract_work(transaction.wire());
        let Some(item) = self.intake.add(transaction, goal, from, along) else {
            return;
        };
        self.charge(from, work);
        match checked {
            Ok(pending) => {
                if !self.gather(CheckOwner::Item(item), pending.messages(), from) {
                    self.context.work.push_back(Work::Signed(item));
                }
            }
            Err(fault) => self.refuse(item, fault),
        }
    }

    /// An item's signatures are good: looks for its dependencies, also again.
    pub(crate) fn on_signed(
        &mut self,
        item: ItemId,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if self.intake.is_deciding(item) {
            return Ok(());
        }
        let Some(on_its_way) = self.intake.get_mut(item) else {
            return Ok(());
        };
        let transaction = Arc::clone(&on_its_way.transaction);
        let from = on_its_way.from;
        let along = std::mem::take(&mut on_its_way.along);
        let mut missing = BTreeSet::new();
        for dependency in dependencies(&transaction) {
            if !self.book.contains(&dependency, reads)? {
                missing.insert(dependency);
            }
        }
        if missing.is_empty() {
            self.context.work.push_back(Work::Ready(item));
            return Ok(());
        }
        for dependency in along {
            let bytes = dependency.wire().bytes().len();
            // Without room it is fetched like any other.
            let has_room = from.is_none_or(|peer| self.intake.has_room(&peer, bytes));
            if has_room && missing.contains(&dependency.id()) {
                self.take_in(dependency, Goal::Dependency, from, Vec::new());
            }
        }
        let to_fetch = self.intake.wait_for(item, missing);
        let Some(first) = to_fetch.first().copied() else {
            return Ok(());
        };
        match from {
            Some(peer) if peer != self.context.my_id => {
                self.fetch(item, peer, transaction.id(), to_fetch)
            }
            _ => self.refuse(item, Fault::Local(errors::dependency_missing(&first))),
        }
        Ok(())
    }

    pub(crate) fn on_ready(&mut self, item: ItemId, reads: &dyn Reads) -> Result<(), StoreFailure> {
        if self.intake.is_deciding(item) {
            return Ok(());
        }
        let Some(on_its_way) = self.intake.get(item) else {
            return Ok(());
        };
        let transaction = Arc::clone(&on_its_way.transaction);
        let (goal, from) = (on_its_way.goal.clone(), on_its_way.from);
        let id = transaction.id();
        let proof =
            match self
                .contract_checks
                .run(&transaction, &mut self.book, &self.context, reads)?
            {
                Ok(proof) => proof,
                Err(fault) => {
                    self.refuse(item, fault);
                    return Ok(());
                }
            };
        if let Goal::Notarise { number } = goal {
            if let Some(conflict) = self.conflict_in_book(&transaction, reads)? {
                self.refuse_verified(number, item, conflict);
            } else {
                self.on_verified(number, item, proof);
            }
            return Ok(());
        }
        let is_new = goal.records() && !self.book.contains(&id, reads)?;
        if is_new {
            let rejection = self.contradictions.contradicted(
                &transaction,
                from,
                &self.book,
                &mut self.signatures,
                &mut self.context,
                reads,
            )?;
            if let Some(rejection) = rejection {
                self.refuse(item, Fault::Final(rejection));
                return Ok(());
            }
        }
        if goal.needs_files() {
            let found = self.files.find(transaction.wire(), &self.context, reads)?;
            let context = &mut self.context;
            if self.intake.await_files(item, &transaction, found, context) {
                return self.route(reads);
            }
        }
        let Some((settled, also)) = self.intake.take(item) else {
            return Ok(());
        };
        if is_new {
            self.record(&transaction, reads)?;
        }
        match settled.goal {
            Goal::Verify { flow, effect, .. } => {
                if settled.from.is_none() {
                    self.files
                        .note_proposal(flow, &transaction, &mut self.context);
                }
                self.complete(flow, effect, EffectResult::Done);
            }
            Goal::Record {
                flow,
                effect,
                deliver_to,
            } => {
                if is_new && deliver_to.is_empty() {
                    self.links.keep_unshared(&transaction);
                }
                self.recorded_by(flow, effect, &transaction, &deliver_to);
            }
            Goal::Deliver { peer } => self.links.answer_delivery(peer, id),
            Goal::Dependency | Goal::Notarise { .. } => {}
        }
        for peer in also {
            if !goal.needs_files() && self.files.lacks(transaction.wire(), &self.context, reads)? {
                // Recorded as another one's back chain: its files come first.
                let bytes = transaction.wire().bytes().len();
                if self.intake.has_room(&peer, bytes) {
                    let goal = Goal::Deliver { peer };
                    self.take_in(Arc::clone(&transaction), goal, Some(peer), Vec::new());
                }
            } else {
                self.links.answer_delivery(peer, id);
            }
        }
        Ok(())
    }

    /// Notes that a flow's transaction is in the book, since this round or before. It counts among the flow's transactions, and
    /// is owed to the parties that the flow names.
    pub(crate) fn recorded_by(
        &mut self,
        flow: FlowId,
        effect: u32,
        transaction: &SignedTransaction,
        deliver_to: &[PartyId],
    ) {
        let id = transaction.id();
        self.flows.note_recorded(flow, id, self.context.shown_by());
        let bytes = transaction.wire().bytes().len();
        self.links.owe(id, bytes, deliver_to, &self.context);
        self.complete(flow, effect, EffectResult::Done);
    }

    /// Appends a verified transaction to the ledger, and tells everybody who waits for it.
    pub(crate) fn record(
        &mut self,
        transaction: &Arc<SignedTransaction>,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let id = transaction.id();
        self.files.recorded(transaction, &mut self.context, reads)?;
        let seq = self.book.record(
            Arc::clone(transaction),
            self.context.now.wall,
            &mut self.context.round.batch,
        );
        self.context.figures.transactions_recorded += 1;
        self.context.round.recorded.push(id);
        self.integrity.recorded(transaction, &self.context.my_id);
        if let Some(recovery) = &mut self.integrity.recovery {
            recovery.recorded(id);
        }
        let inputs = transaction.wire().inputs();
        self.contradictions.recorded(inputs, seq, &mut self.context);
        Quarantine::end(&self.selection, inputs, &mut self.context);
        self.selection.spend(inputs);
        let contracts = &self.context.identity.contracts;
        let ours = self.keys.owners(&self.context, reads);
        let changes = vault::changes(seq, transaction.wire(), &|key| ours.holds(key), &|state| {
            contracts.describe(state).ok()
        });
        ours.finish()?;
        self.keys.on_recorded(&changes, &mut self.context, reads)?;
        let (book, context) = (&mut self.book, &mut self.context);
        self.schedule
            .recorded(transaction.wire(), &changes, book, context, reads)?;
        self.route(reads)?;
        if !changes.is_empty() {
            self.context.round.changes.extend(changes.iter().cloned());
            let at = self.context.now.wall;
            self.context.round.then.push(Action::View {
                seq,
                id,
                at,
                changes,
            });
        }
        for (flow, effect) in self.flows.end_waits_for(&id) {
            let found = Some((**transaction).clone());
            self.complete(flow, effect, EffectResult::Transaction(found));
        }
        for item in self.intake.recorded(&id) {
            self.context.work.push_back(Work::Ready(item));
        }
        Ok(())
    }

    /// Ends an item that cannot be recorded. A delivery is refused for its own faults only, and waits for any other. A flow and a
    /// notary's requester are told in both cases: they do not wait until an operator installs an application.
    pub(crate) fn refuse(&mut self, item: ItemId, fault: Fault) {
        let Some(refused) = self.take_out(item) else {
            return;
        };
        let id = refused.transaction.id();
        match (refused.goal, fault) {
            (Goal::Deliver { peer }, Fault::Final(rejection)) => {
                self.context.figures.transactions_refused += 1;
                self.refuse_delivery(peer, id, rejection);
            }
            (Goal::Deliver { peer }, Fault::Local(rejection)) => {
                leave_waiting(
                    peer,
                    id,
                    errors::DELIVERY_WAITS.code,
                    rejection,
                    &mut self.context,
                );
            }
            (Goal::Deliver { peer }, Fault::Program(rejection)) => {
                lacks_contract(peer, id, rejection, &mut self.context);
            }
            (Goal::Notarise { number }, fault) => {
                self.context.figures.transactions_refused += 1;
                self.refuse_whole(number, &fault.rejection());
            }
            (Goal::Verify { flow, effect, .. } | Goal::Record { flow, effect, .. }, fault) => {
                self.context.figures.transactions_refused += 1;
                self.fail(flow, effect, fault.rejection());
            }
            (Goal::Dependency, Fault::Final(_)) => self.context.figures.transactions_refused += 1,
            // It comes again with the transaction that depends on it.
            (Goal::Dependency, Fault::Local(_) | Fault::Program(_)) => {}
        }
    }

    /// Says to a peer that a transaction will not be recorded here.
    pub(crate) fn refuse_delivery(&mut self, peer: PartyId, id: TxId, rejection: Rejection) {
        let text = format!(
            "transaction {id} is refused: {} ({})",
            rejection.message, rejection.code
        );
        self.context
            .complain(errors::TRANSACTION_REFUSED.code, peer, &text);
        self.context.send(
            peer,
            Priority::Normal,
            PeerMessage::Refused { id, rejection },
        );
    }

    /// Gives a transaction up without an answer: a peer delivers it again, and it may be otherwise then.
    pub(crate) fn give_up(&mut self, item: ItemId, rejection: Rejection) {
        self.leave_unanswered(item, errors::PEER_ANSWER_INVALID.code, rejection);
    }

    /// Gives a transaction up as [`Kernel::give_up`] does, for a reason that the log names by its own code.
    pub(crate) fn leave_unanswered(
        &mut self,
        item: ItemId,
        code: &'static str,
        rejection: Rejection,
    ) {
        let Some(given_up) = self.take_out(item) else {
            return;
        };
        let id = given_up.transaction.id();
        match given_up.goal {
            Goal::Deliver { peer } => leave_waiting(peer, id, code, rejection, &mut self.context),
            Goal::Notarise { number } => {
                if let Some(peer) = given_up.from {
                    let complaint = format!(
                        "transaction {id} has to wait: {} ({})",
                        rejection.message, rejection.code
                    );
                    self.context.complain(code, peer, &complaint);
                }
                self.ask_to_come_again(number);
            }
            Goal::Verify { flow, effect, .. } | Goal::Record { flow, effect, .. } => {
                self.fail(flow, effect, rejection)
            }
            Goal::Dependency => {}
        }
    }

    /// Forgets an item that is not needed any more.
    pub(crate) fn drop_item(&mut self, item: ItemId) {
        self.take_out(item);
    }

    fn fail(&mut self, flow: FlowId, effect: u32, rejection: Rejection) {
        let error = FlowError::from_rejection(rejection);
        self.complete(flow, effect, EffectResult::Failed(error));
    }

    /// Takes out an item that will not be recorded. Those that waited for it look again by themselves; peers that delivered
    /// the same get no answer, and deliver it again.
    pub(crate) fn take_out(&mut self, item: ItemId) -> Option<Item> {
        let (taken, _) = self.intake.take(item)?;
        for waiting in self.intake.failed(&taken.transaction.id()) {
            // Through the queue, not by recursion: a chain of waiting transactions can be long.
            self.context.work.push_back(Work::Signed(waiting));
        }
        Some(taken)
    }
}
