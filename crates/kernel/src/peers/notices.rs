//! The notices about deliveries that a receiver cannot record for now.

use crate::context::Context;
use crate::errors;
use crate::event::Priority;
use crate::message::{Answer, NOTICE_ID, PeerMessage, WaitingNotice};
use crate::peers::links::Links;
use ledger::{PartyId, Rejection, TxId};
use primitives::{Decode, Encode};

/// The code under which the log names the missing contract.
const UNKNOWN: &str = "contract.unknown";

/// Leaves a delivery without an answer, and tells the sender the reason: once for each time that it is delivered.
pub(crate) fn leave_waiting(
    peer: PartyId,
    id: TxId,
    code: &'static str,
    rejection: Rejection,
    context: &mut Context,
) {
    let complaint = format!(
        "transaction {id} has to wait: {} ({})",
        rejection.message, rejection.code
    );
    context.complain(code, peer, &complaint);
    let notice = WaitingNotice {
        transaction: id,
        rejection,
    };
    let response = PeerMessage::Response {
        id: NOTICE_ID,
        answer: Answer::Done(notice.to_bytes()),
    };
    context.send(peer, Priority::Normal, response);
}

/// Leaves a delivery unanswered because code is missing, and tells the sender.
pub(crate) fn lacks_contract(peer: PartyId, id: TxId, why: Rejection, context: &mut Context) {
    let text = format!(
        "this node has to be started with the application that brings the contract: {}",
        why.message
    );
    let why = Rejection::new(why.code, text, why.hint);
    leave_waiting(peer, id, UNKNOWN, why, context);
}

impl Links {
    /// Handles a receiver's reason not to record a delivery yet. A reason about a delivery that it has answered is ignored.
    pub(super) fn on_waiting_notice(
        &mut self,
        peer: PartyId,
        answer: &Answer,
        context: &mut Context,
    ) {
        let Answer::Done(body) = answer else { return };
        let notice = match WaitingNotice::from_bytes(body) {
            Ok(notice) => notice,
            Err(error) => {
                context.bad_message(peer, &format!("a notice: {error}"));
                return;
            }
        };
        if !self.unanswered.owes(&peer, &notice.transaction) {
            return;
        }
        let text = format!(
            "transaction {} has to wait there: {} ({})",
            notice.transaction, notice.rejection.message, notice.rejection.code
        );
        context.complain(errors::DELIVERY_WAITS.code, peer, &text);
        let waits = &mut self.waits;
        waits.note(peer, notice.transaction, notice.rejection, context.now.wall);
    }
}
