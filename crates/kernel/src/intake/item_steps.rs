//! The steps of an item: signatures in the round's batch, dependencies, contracts, then recorded or refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use flow::{EffectResult, FlowId};
use ledger::{NotaryError, PartyId, SignedTransaction, StateConflict, TxId, consuming_hash};

use crate::back_chains::answers::dependencies;
use crate::command::{
    BackChainsCommand, Command, FilesCommand, FlowsCommand, IntakeCommand, NotaryCommand,
    PeersCommand,
};
use crate::context::Context;
use crate::errors;
use crate::intake::classify::check_room;
use crate::intake::fault::Fault;
use crate::intake::goal::Goal;
use crate::intake::item_id::ItemId;
use crate::intake::items::{Intake, Item};
use crate::intake::views::IntakeViews;
use crate::ledger_view::LedgerView;
use crate::notarisation::own_signature::signed_by_deciding;
use crate::peers::budget::contract_work;
use crate::port::StoreFailure;
use crate::round::{CheckOwner, Work};

impl Intake {
    /// Takes in a transaction. `along` was sent with it and may contain its dependencies.
    pub(super) fn take_in(
        &mut self,
        transaction: Arc<SignedTransaction>,
        goal: Goal,
        from: Option<PartyId>,
        along: Vec<Arc<SignedTransaction>>,
        context: &mut Context,
    ) {
        let missing = match &goal {
            Goal::Verify {
                missing_allowed, ..
            } => missing_allowed.clone(),
            Goal::Notarise { .. } => signed_by_deciding(&transaction, context),
            Goal::Record { .. } | Goal::Deliver { .. } | Goal::Dependency => Vec::new(),
        };
        let checked = check_room(&transaction, context)
            .and_then(|()| Ok(transaction.check_signatures(&missing)?));
        let work = contract_work(transaction.wire());
        let Some(item) = self.add(transaction, goal, from, along) else {
            return;
        };
        context.charge(from, work);
        match checked {
            Ok(pending) => {
                if !context.gather(CheckOwner::Item(item), pending.messages(), from) {
                    context.work.push_back(Work::Signed(item));
                }
            }
            Err(fault) => self.refuse(item, fault, context),
        }
    }

    /// Handles the verdict on the signatures of an item.
    pub(super) fn on_checked(&mut self, item: ItemId, is_good: bool, context: &mut Context) {
        if is_good {
            context.work.push_back(Work::Signed(item));
            return;
        }
        let Some(bad) = self.get(item) else {
            return;
        };
        let text = format!(
            "a signature on transaction {} is not valid",
            bad.transaction.id()
        );
        let rejection = errors::rejection(&errors::SIGNATURE_INVALID, text);
        self.refuse(item, Fault::Final(rejection), context);
    }

    /// Looks for the dependencies of an item whose signatures are good. It is called again when a fetch for the item has ended.
    pub(super) fn look_for_dependencies(
        &mut self,
        item: ItemId,
        views: IntakeViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        if self.is_deciding(item) {
            return Ok(());
        }
        let Some(on_its_way) = self.get_mut(item) else {
            return Ok(());
        };
        let transaction = Arc::clone(&on_its_way.transaction);
        let (from, fetching) = (on_its_way.from, on_its_way.goal.fetching());
        let along = std::mem::take(&mut on_its_way.along);
        let mut missing = BTreeSet::new();
        for dependency in dependencies(&transaction) {
            if !views.ledger.contains(&dependency)? {
                missing.insert(dependency);
            }
        }
        if missing.is_empty() {
            context.work.push_back(Work::Ready(item));
            return Ok(());
        }
        for dependency in along {
            let bytes = dependency.weight();
            // Without room it is fetched like any other.
            let has_room = from.is_none_or(|peer| self.has_room(&peer, bytes));
            if has_room && missing.contains(&dependency.id()) {
                self.take_in(dependency, Goal::Dependency, from, Vec::new(), context);
            }
        }
        let to_fetch = self.wait_for(item, missing, views.chains, context);
        let Some(first) = to_fetch.first().copied() else {
            return Ok(());
        };
        match from {
            Some(peer) if peer != context.my_id => context.command(BackChainsCommand::Fetch {
                item,
                peer,
                root: transaction.id(),
                missing: to_fetch,
                fetching,
            }),
            _ => self.refuse(
                item,
                Fault::Local(errors::dependency_missing(&first)),
                context,
            ),
        }
        Ok(())
    }

    /// Takes the judgement of the contracts on an item whose dependencies are recorded. A job has normally made it; otherwise the contracts
    /// run here. Then records the item or reports it as verified, or waits for its files.
    pub(super) fn conclude(
        &mut self,
        item: ItemId,
        views: IntakeViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        if self.is_deciding(item) {
            return Ok(());
        }
        let Some(on_its_way) = self.get(item) else {
            return Ok(());
        };
        let transaction = Arc::clone(&on_its_way.transaction);
        let (goal, from) = (on_its_way.goal.clone(), on_its_way.from);
        let ledger = views.ledger;
        let proof = match ledger.run_contracts(&transaction, context)? {
            Ok(proof) => proof,
            Err(fault) => {
                self.refuse(item, fault, context);
                return Ok(());
            }
        };
        if let Goal::Notarise { number } = goal {
            if let Some(error) = conflict(&transaction, ledger)? {
                self.take_out(item, context);
                context.command(NotaryCommand::RefuseVerified { number, error });
            } else {
                let verified = NotaryCommand::Verified {
                    number,
                    item,
                    proof,
                };
                context.command(verified);
            }
            return Ok(());
        }
        let is_new = goal.records() && !ledger.contains(&transaction.id())?;
        if is_new && let Some(rejection) = ledger.contradicted(&transaction, from, context)? {
            let fault = Fault::Final(rejection);
            context.command(IntakeCommand::Refuse { item, fault });
            return Ok(());
        }
        if goal.needs_files() {
            let found = views
                .files
                .find(transaction.wire(), context, ledger.reads)?;
            if self.await_files(item, &transaction, found, context) {
                return Ok(());
            }
        }
        let Some(concluded) = self.take(item, context) else {
            return Ok(());
        };
        if is_new {
            context.command(Command::Record(Arc::clone(&transaction)));
        }
        // An item that is a delivery itself answers a repeated one as well.
        let answers_too = concluded.delivered_too && matches!(goal, Goal::Dependency);
        tell_goal(concluded, is_new, context);
        if answers_too && let Some(peer) = from {
            context.command(IntakeCommand::DeliveredToo { peer, transaction });
        }
        Ok(())
    }

    /// Answers the delivery of a transaction that was recorded as part of another back chain. Its files are fetched first.
    pub(super) fn on_delivered_too(
        &mut self,
        peer: PartyId,
        transaction: Arc<SignedTransaction>,
        views: IntakeViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        let wire = transaction.wire();
        if !views.files.lacks(wire, context, views.ledger.reads)? {
            let id = transaction.id();
            context.command(PeersCommand::AnswerDelivery { peer, id });
        } else if self.has_room(&peer, transaction.weight()) {
            let goal = Goal::Deliver { peer };
            self.take_in(transaction, goal, Some(peer), Vec::new(), context);
        }
        Ok(())
    }

    /// Records a transaction for a flow, or notes that it is recorded.
    pub(super) fn on_record(
        &mut self,
        (flow, effect): (FlowId, u32),
        transaction: SignedTransaction,
        deliver_to: Vec<PartyId>,
        views: IntakeViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        if views.ledger.contains(&transaction.id())? {
            recorded_by((flow, effect), &transaction, deliver_to, context);
        } else {
            let goal = Goal::Record {
                flow,
                effect,
                deliver_to,
            };
            self.take_in(Arc::new(transaction), goal, None, Vec::new(), context);
        }
        Ok(())
    }

    /// Lets the items continue that waited for a transaction, which is recorded now.
    pub(crate) fn recorded(&mut self, id: &TxId, context: &mut Context) {
        for item in self.end_waits_for(id) {
            context.work.push_back(Work::Ready(item));
        }
    }
}

/// Tells the part that wanted a transaction verified or recorded that this is done.
fn tell_goal(concluded: Item, is_new: bool, context: &mut Context) {
    let transaction = concluded.transaction;
    match concluded.goal {
        Goal::Verify { flow, effect, .. } => {
            if concluded.from.is_none() {
                context.command(FilesCommand::NoteProposal { flow, transaction });
            }
            let result = EffectResult::Done;
            context.command(FlowsCommand::Complete {
                flow,
                effect,
                result,
            });
        }
        Goal::Record {
            flow,
            effect,
            deliver_to,
        } => {
            if is_new && deliver_to.is_empty() {
                context.command(PeersCommand::KeepUnshared(Arc::clone(&transaction)));
            }
            recorded_by((flow, effect), &transaction, deliver_to, context);
        }
        Goal::Deliver { peer } => {
            let id = transaction.id();
            context.command(PeersCommand::AnswerDelivery { peer, id });
        }
        Goal::Dependency | Goal::Notarise { .. } => {}
    }
}

/// Notes that a flow's transaction is in the ledger, since this round or before. It counts among the flow's transactions, and is
/// owed to the parties that the flow names.
fn recorded_by(
    (flow, effect): (FlowId, u32),
    transaction: &SignedTransaction,
    deliver_to: Vec<PartyId>,
    context: &mut Context,
) {
    let id = transaction.id();
    if !deliver_to.is_empty() {
        context.command(PeersCommand::Owe {
            id,
            bytes: transaction.wire().bytes().len(),
            participants: deliver_to,
        });
    }
    context.command(FlowsCommand::Recorded { flow, effect, id });
}

/// Returns the conflict of a transaction with this notary's own ledger, if there is one.
fn conflict(
    transaction: &SignedTransaction,
    ledger: LedgerView<'_>,
) -> Result<Option<NotaryError>, StoreFailure> {
    if ledger.contains(&transaction.id())? {
        return Ok(None);
    }
    let Some((input, seq)) = ledger.consumed_before(transaction.wire())? else {
        return Ok(None);
    };
    let consumer = ledger.book.recorded_at(seq, ledger.reads)?.id();
    let conflict = StateConflict {
        input,
        consumed_by: consuming_hash(&consumer),
        is_reference: false,
    };
    Ok(Some(NotaryError::conflict(vec![conflict])))
}
