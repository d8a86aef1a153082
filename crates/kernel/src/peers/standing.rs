//! The numbers of session messages on both sides of a link, compared when a peer has sent its standing.

use ledger::PartyId;

use crate::command::IntegrityCommand;
use crate::context::Context;
use crate::errors;
use crate::message::Standing;
use crate::peers::links::Links;

/// The maximum plausible number of a session message. A larger one is invalid.
const SEQ_MAX: u64 = 1 << 62;

impl Links {
    /// Handles the standing of a peer. A repetition within a connection is ignored.
    pub(super) fn on_standing(&mut self, peer: PartyId, standing: Standing, context: &mut Context) {
        if !self.standing_arrived(&peer) {
            return;
        }
        if standing.taken > SEQ_MAX || standing.acked > SEQ_MAX {
            context.bad_message(peer, "its standing has numbers beyond every possible one");
            self.release(peer, context.now.monotonic);
            return;
        }
        context.command(IntegrityCommand::CheckStanding { peer, standing });
    }

    /// Compares the numbers of session messages on both sides of a link, mends the link where they contradict each other, and lets the
    /// messages to the peer go.
    pub(super) fn compare_numbers(
        &mut self,
        peer: PartyId,
        standing: &Standing,
        context: &mut Context,
    ) {
        let taken = self.numbers(&peer).taken;
        if standing.acked > taken {
            self.skip_to(peer, standing.acked);
            let text = format!(
                "this node acknowledged its session messages up to {}, and has only those up to {taken}",
                standing.acked
            );
            context.command(IntegrityCommand::LinkContradicts { peer, text });
        }
        let (sent, at_start) = (self.numbers(&peer).sent, self.sent_at_start(&peer));
        let untouched = self.is_untouched(&peer);
        let now = context.now.monotonic;
        if standing.taken > sent || (untouched && standing.taken > at_start) {
            let again = self.renumber(peer, standing.taken, now);
            let text = format!(
                "it has taken session messages up to {}, of which this node has sent those up to {at_start}; {again} are sent under new numbers",
                standing.taken
            );
            context.command(IntegrityCommand::LinkContradicts { peer, text });
        } else if standing.sent < taken {
            let text = format!(
                "it has sent session messages up to {}, of which this node has taken those up to {taken}: its data is older than this node's",
                standing.sent
            );
            context.complain(errors::PEER_ROLLED_BACK.code, peer, &text);
        }
        self.confirm(peer);
        self.release(peer, now);
    }
}
