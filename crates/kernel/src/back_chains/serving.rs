//! Back chains that peers fetch. Peers take turns, and each round serves a limited amount, so that payments do not wait. A peer is charged
//! for what it is served, which delays its next messages.

use flow::messaging::RequestId;
use ledger::{PartyId, Rejection};
use primitives::{Decode, Encode};

use crate::back_chains::answers::ServedFetch;
use crate::back_chains::{BackChains, answers};
use crate::command::PeersCommand;
use crate::context::Context;
use crate::errors;
use crate::event::Priority;
use crate::intake::concerns::concerns;
use crate::ledger_book::Book;
use crate::message::{Answer, FetchRequest, PeerMessage};
use crate::peers::budget::serving_work;
use crate::port::{Reads, StoreFailure};

/// Approximate maximum number of transactions sent in one round: the answer that exceeds it is the round's last.
pub const FETCHED_PER_ROUND: usize = 256;
/// Look-ups of transactions that count as much as one that is sent.
const LOOK_UPS_PER_TRANSACTION: usize = 16;
/// The delay that a peer is told when its queue is full, in milliseconds.
pub const FETCH_WAIT_MS: u64 = 1_000;

impl BackChains {
    /// Handles the request of a peer. It is served later in the round, or in a later round.
    pub(super) fn on_request(
        &mut self,
        peer: PartyId,
        id: RequestId,
        body: &[u8],
        book: &Book,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        let answer = match FetchRequest::from_bytes(body) {
            Ok(request) if !may_fetch(peer, &request, book, context, reads)? => {
                let text = "the transaction does not concern the notary that asks";
                Answer::Failed(errors::rejection(&errors::BACK_CHAIN_NOT_SHARED, text))
            }
            Ok(request) => {
                if self.requests.push(peer, id, request) {
                    return Ok(());
                }
                Answer::Wait(FETCH_WAIT_MS)
            }
            Err(error) => Answer::Failed(Rejection::of(&error)),
        };
        context.send(peer, Priority::Normal, PeerMessage::Response { id, answer });
        Ok(())
    }

    /// Serves back chains, as many as a round may: the answer that exceeds the number of transactions or the bytes of a round is its last.
    pub(crate) fn serve(
        &mut self,
        book: &Book,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        if std::mem::replace(&mut context.round.chains_served, true) {
            return Ok(());
        }
        let bytes_max = context.options.round_bytes_max;
        let (mut served, mut bytes) = (0, 0);
        while served < FETCHED_PER_ROUND
            && bytes < bytes_max
            && let Some((peer, id, request)) = self.requests.pop()
        {
            let ServedFetch {
                response,
                ids,
                look_ups,
                read_bytes,
            } = answers::serve(&request, context.message_limits.part(), book, reads)?;
            let body = response.to_bytes();
            served += 1 + response.transactions.len() + look_ups / LOOK_UPS_PER_TRANSACTION;
            // An answer has at least one transaction, of any size, and one that was read may not be in it.
            let handled = body.len().max(read_bytes);
            bytes += handled;
            context.charge(Some(peer), serving_work(handled, look_ups));
            // A transaction that a peer has fetched need not be sent along with a later delivery.
            context.command(PeersCommand::NoteFetched { peer, ids });
            let answer = Answer::Done(body);
            context.send(peer, Priority::Bulk, PeerMessage::Response { id, answer });
        }
        Ok(())
    }
}

/// Returns whether a peer may fetch back chains here. A notary that does not validate may only if the transaction concerns it,
/// because it knows the ids of all transactions that it notarises, and must not see their content. Any other peer that knows an id
/// learned it from a participant.
fn may_fetch(
    peer: PartyId,
    request: &FetchRequest,
    book: &Book,
    context: &Context,
    reads: &dyn Reads,
) -> Result<bool, StoreFailure> {
    let network = &context.identity.network;
    let info = network.node(&peer);
    let validates = info
        .and_then(|info| info.notary.as_ref())
        .is_some_and(|notary| notary.validating);
    if validates || network.decides_for(&peer).is_none() {
        return Ok(true);
    }
    let root = book.read(&request.root, reads)?;
    let key = info.map(|info| &info.party.key);
    Ok(root.is_some_and(|root| concerns(&root.transaction, context, &|other| Some(other) == key)))
}
