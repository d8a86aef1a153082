//! The end of items that are not recorded.
//!
//! A refusal is final: the peer forgets the delivery. So only a fault of the transaction itself, or of its back chain, refuses it
//! ([`crate::intake::fault`]). Any other fault leaves it without an answer, and the peer delivers it again.

use std::collections::BTreeSet;

use flow::{EffectResult, FlowError, FlowId};
use ledger::{PartyId, Rejection, TxId};

use crate::command::{FilesCommand, FlowsCommand, NotaryCommand};
use crate::context::Context;
use crate::errors;
use crate::event::Priority;
use crate::flows::waits::EffectId;
use crate::intake::fault::Fault;
use crate::intake::goal::Goal;
use crate::intake::item_id::ItemId;
use crate::intake::items::{Intake, Item};
use crate::message::PeerMessage;
use crate::peers::notices::{lacks_contract, leave_waiting};
use crate::round::Work;

impl Intake {
    /// Ends an item that cannot be recorded. A delivery is refused only for its own faults, and stays unanswered for any other. A
    /// flow and a notary's requester get an error in both cases: they do not wait until an operator installs an application.
    pub(super) fn refuse(&mut self, item: ItemId, fault: Fault, context: &mut Context) {
        let Some(refused) = self.take_out(item, context) else {
            return;
        };
        let id = refused.transaction.id();
        match (refused.goal, fault) {
            (Goal::Deliver { peer }, Fault::Final(rejection)) => {
                context.figures.transactions_refused += 1;
                refuse_delivery(peer, id, rejection, context);
            }
            (Goal::Deliver { peer }, Fault::Local(rejection)) => {
                leave_waiting(peer, id, errors::DELIVERY_WAITS.code, rejection, context);
            }
            (Goal::Deliver { peer }, Fault::Program(rejection)) => {
                lacks_contract(peer, id, rejection, context);
            }
            (Goal::Notarise { number }, fault) => {
                context.figures.transactions_refused += 1;
                let rejection = fault.rejection();
                context.command(NotaryCommand::RefuseWhole { number, rejection });
            }
            (Goal::Verify { flow, effect, .. } | Goal::Record { flow, effect, .. }, fault) => {
                context.figures.transactions_refused += 1;
                fail((flow, effect), fault.rejection(), context);
            }
            (Goal::Dependency, Fault::Final(_)) => context.figures.transactions_refused += 1,
            // It comes again with the transaction that depends on it.
            (Goal::Dependency, Fault::Local(_) | Fault::Program(_)) => {}
        }
    }

    /// Ends an item that cannot be recorded because of its files. The files that came for it go again.
    pub(super) fn refuse_for_files(
        &mut self,
        item: ItemId,
        rejection: Rejection,
        context: &mut Context,
    ) {
        let brought = self.brought(item, context);
        // The network's parameters may allow them another time.
        self.refuse(item, Fault::Local(rejection), context);
        if let Some((from, files)) = brought {
            context.command(FilesCommand::DropBrought { from, files });
        }
    }

    /// Gives a transaction up without an answer: a peer delivers it again, and it may be otherwise then. The log names the reason
    /// by its code.
    pub(super) fn leave_unanswered(
        &mut self,
        item: ItemId,
        code: &'static str,
        rejection: Rejection,
        context: &mut Context,
    ) {
        let Some(given_up) = self.take_out(item, context) else {
            return;
        };
        let id = given_up.transaction.id();
        match given_up.goal {
            Goal::Deliver { peer } => leave_waiting(peer, id, code, rejection, context),
            Goal::Notarise { number } => {
                if let Some(peer) = given_up.from {
                    let complaint = format!(
                        "transaction {id} has to wait: {} ({})",
                        rejection.message, rejection.code
                    );
                    context.complain(code, peer, &complaint);
                }
                context.command(NotaryCommand::AskToComeAgain { number });
            }
            Goal::Verify { flow, effect, .. } | Goal::Record { flow, effect, .. } => {
                fail((flow, effect), rejection, context);
            }
            Goal::Dependency => {}
        }
    }

    /// Takes out an item that will not be recorded. Those that relied on it look again by themselves.
    pub(super) fn take_out(&mut self, item: ItemId, context: &mut Context) -> Option<Item> {
        let taken = self.take(item, context)?;
        for waiting in self.failed(&taken.transaction.id(), taken.from, context) {
            // Through the queue, not by recursion: a chain of waiting transactions can be long.
            context.work.push_back(Work::Signed(waiting));
        }
        assert!(
            self.get(item).is_none(),
            "an item that was taken out is still on its way"
        );
        Some(taken)
    }

    /// Takes out the item of an effect that its flow has given up.
    pub(super) fn drop_effect(&mut self, effect: EffectId, context: &mut Context) {
        if let Some(item) = self.of_effect(effect) {
            self.take_out(item, context);
        }
    }

    /// Drops all items of a flow that no longer runs.
    pub(crate) fn stop_work(&mut self, flow: FlowId, context: &mut Context) {
        while let Some(item) = self.of_flow(flow) {
            self.take_out(item, context);
        }
    }

    /// Drops all items of halted flows, those included whose signatures are still checked.
    pub(super) fn drop_flows(&mut self, flows: &BTreeSet<FlowId>, context: &mut Context) {
        for item in self.of_flows(flows) {
            self.take_out(item, context);
        }
    }

    /// Takes out the requests for notarisation that can no longer be decided and are not verified yet.
    pub(super) fn drop_requests(&mut self, numbers: &BTreeSet<u64>, context: &mut Context) {
        for item in self.unverified_requests(numbers) {
            self.take_out(item, context);
        }
    }

    /// Drops the unverified requests of a requester that has disconnected, to make room for others.
    pub(crate) fn peer_down(&mut self, peer: PartyId, context: &mut Context) {
        for item in self.unverified_of(&peer) {
            let taken = self.take_out(item, context);
            if let Some(Goal::Notarise { number }) = taken.map(|item| item.goal) {
                context.command(NotaryCommand::Forget { number });
            }
        }
    }
}

/// Says to a peer that a transaction will not be recorded here.
fn refuse_delivery(peer: PartyId, id: TxId, rejection: Rejection, context: &mut Context) {
    let text = format!(
        "transaction {id} is refused: {} ({})",
        rejection.message, rejection.code
    );
    context.complain(errors::TRANSACTION_REFUSED.code, peer, &text);
    let refused = PeerMessage::Refused { id, rejection };
    context.send(peer, Priority::Normal, refused);
}

fn fail((flow, effect): EffectId, rejection: Rejection, context: &mut Context) {
    let result = EffectResult::Failed(FlowError::from_rejection(rejection));
    context.command(FlowsCommand::Complete {
        flow,
        effect,
        result,
    });
}
