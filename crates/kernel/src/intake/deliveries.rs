//! The deliveries of peers.

use std::collections::BTreeSet;
use std::sync::Arc;

use ledger::{PartyId, RegistryError, Rejection, SignedTransaction};
use primitives::Decode;

use crate::back_chains::answers::dependencies;
use crate::command::PeersCommand;
use crate::context::Context;
use crate::errors;
use crate::intake::classify::{no_part_of_ours, older_copy_lacks_keys};
use crate::intake::concerns::concerns;
use crate::intake::goal::Goal;
use crate::intake::items::Intake;
use crate::intake::missing_contracts::contract_unknown_of;
use crate::intake::views::IntakeViews;
use crate::peers::budget::look_up_work;
use crate::peers::notices::{lacks_contract, leave_waiting};
use crate::port::StoreFailure;
use crate::round::CheckOwner;

impl Intake {
    /// Takes the transactions that a peer delivers, with those of their dependencies that came along.
    pub(super) fn on_deliver(
        &mut self,
        peer: PartyId,
        transactions: &[Vec<u8>],
        dependencies: &[Vec<u8>],
        views: IntakeViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        let mut along = Vec::with_capacity(dependencies.len());
        for bytes in dependencies {
            match SignedTransaction::from_bytes(bytes) {
                Ok(transaction) => along.push(Arc::new(transaction)),
                Err(error) => context.bad_message(peer, &format!("a dependency: {error}")),
            }
        }
        for bytes in transactions {
            // Transactions beyond the peer's share of the round get no answer, and are delivered again.
            if !context.may_work(&peer) {
                break;
            }
            match SignedTransaction::from_bytes(bytes) {
                Ok(transaction) => {
                    context.charge(Some(peer), look_up_work(transaction.wire()));
                    self.on_delivered_one(peer, transaction, &along, views, context)?;
                }
                // It has no id, so it cannot be refused. Only this node logs the fault.
                Err(error) => {
                    context.bad_message(peer, &format!("a delivered transaction: {error}"));
                }
            }
        }
        Ok(())
    }

    /// Takes in one delivered transaction if it concerns this node, and answers at once if it is recorded. Without room for it the peer
    /// gets no answer.
    fn on_delivered_one(
        &mut self,
        peer: PartyId,
        transaction: SignedTransaction,
        along: &[Arc<SignedTransaction>],
        views: IntakeViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        let (id, reads) = (transaction.id(), views.ledger.reads);
        if views.ledger.contains(&id)?
            && !(views.files.lacks(transaction.wire(), context, reads)?
                && concerns_us(&transaction, views, context)?)
        {
            context.command(PeersCommand::AnswerDelivery { peer, id });
            return Ok(());
        }
        if !concerns_us(&transaction, views, context)? {
            return leave_to_others(peer, &transaction, views, context);
        }
        let wanted: BTreeSet<_> = match along {
            [] => BTreeSet::new(),
            _ => dependencies(&transaction),
        };
        let mut mine = Vec::new();
        for dependency in along
            .iter()
            .filter(|dependency| wanted.contains(&dependency.id()))
        {
            if !views.ledger.contains(&dependency.id())? {
                mine.push(Arc::clone(dependency));
            }
        }
        // Without room the peer gets no answer, and delivers it again.
        if self.has_room(&peer, transaction.weight()) {
            let (goal, along) = (Goal::Deliver { peer }, mine.clone());
            self.take_in(Arc::new(transaction), goal, Some(peer), along, context);
            for dependency in &mine {
                if !context.may_work(&peer) {
                    break;
                }
                // It is checked in the same batch as the transaction, and a good result is remembered.
                if let Ok(pending) = dependency.check_signatures(&[]) {
                    context.gather(CheckOwner::Nobody, pending.messages(), Some(peer));
                }
            }
        }
        Ok(())
    }
}

/// Leaves a delivery unanswered that does not concern this node as far as its keys show.
fn leave_to_others(
    peer: PartyId,
    transaction: &SignedTransaction,
    views: IntakeViews<'_>,
    context: &mut Context,
) -> Result<(), StoreFailure> {
    let (id, ledger) = (transaction.id(), views.ledger);
    if let Some(name) = contract_unknown_of(transaction, ledger.book, context, ledger.reads)? {
        let error = RegistryError::Unknown(name);
        lacks_contract(peer, id, Rejection::of(&error), context);
        return Ok(());
    }
    let rejection = if views.is_older_copy {
        older_copy_lacks_keys(context)
    } else {
        // Missing keys may be restored from a backup.
        no_part_of_ours()
    };
    leave_waiting(peer, id, errors::DELIVERY_WAITS.code, rejection, context);
    Ok(())
}

/// Returns whether a transaction concerns this node. It does if it makes, consumes or reads a state of this node, needs its
/// signature, or is awaited by a flow here. Other deliveries are dropped, so that no peer can fill the disk.
fn concerns_us(
    transaction: &SignedTransaction,
    views: IntakeViews<'_>,
    context: &Context,
) -> Result<bool, StoreFailure> {
    let (book, reads) = (views.ledger.book, views.ledger.reads);
    let ours = views.keys.owners(context, reads);
    let concerns = concerns(transaction, context, &|key| ours.holds(key));
    ours.finish()?;
    if concerns || views.flows.expects(&transaction.id()) {
        return Ok(true);
    }
    let wire = transaction.wire();
    for reference in wire.inputs().iter().chain(wire.references()) {
        if let Some(state) = book.state(reference, reads)? {
            let facts = context.identity.contracts.describe(&state);
            let ours = views.keys.owners(context, reads);
            let relevant =
                facts.is_ok_and(|facts| vault::is_relevant(&facts, &|key| ours.holds(key)));
            ours.finish()?;
            if relevant {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
