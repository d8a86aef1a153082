//! The answers of this notary to its requesters.

use flow::messaging::RequestId;
use ledger::{NotaryError, NotaryResponse, PartyId};
use primitives::Encode;

use crate::context::Context;
use crate::errors;
use crate::event::Priority;
use crate::message::{Answer, PeerMessage};
use crate::notarisation::whole::COME_AGAIN_MS;

/// Sends the response to a request. A requester that has to wait is told for how long.
pub(crate) fn answer(
    peer: PartyId,
    id: RequestId,
    response: NotaryResponse,
    context: &mut Context,
) {
    match response {
        NotaryResponse::Refused(NotaryError::Busy { eta_ms }) => {
            ask_to_wait(peer, id, eta_ms, context);
        }
        response => respond(peer, id, Answer::Done(response.to_bytes()), context),
    }
}

/// Refuses a request before it is decided.
pub(crate) fn refuse(peer: PartyId, id: RequestId, error: NotaryError, context: &mut Context) {
    context.figures.notary_refused += u64::from(!error.is_transient());
    answer(peer, id, NotaryResponse::Refused(error), context);
}

/// Asks a requester to come again, because its transaction cannot be verified now.
pub(super) fn ask_to_come_again(peer: PartyId, id: RequestId, context: &mut Context) {
    ask_to_wait(peer, id, COME_AGAIN_MS, context);
}

/// Refuses a request because this notary's data is an older copy.
pub(super) fn refuse_on_older_copy(peer: PartyId, id: RequestId, context: &mut Context) {
    let text = "this notary's data is an older copy; it signs nothing until its operator acts";
    let rejection = errors::rejection(&errors::NOTARY_STOPPED, text);
    context.figures.notary_refused += 1;
    respond(peer, id, Answer::Failed(rejection), context);
}

fn ask_to_wait(peer: PartyId, id: RequestId, eta_ms: u64, context: &mut Context) {
    context.figures.notary_busy += 1;
    respond(peer, id, Answer::Wait(eta_ms), context);
}

fn respond(peer: PartyId, id: RequestId, answer: Answer, context: &mut Context) {
    let response = PeerMessage::Response { id, answer };
    context.send(peer, Priority::Normal, response);
}
