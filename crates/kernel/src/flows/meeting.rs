//! The wait of flows and of the notary for peers after a start.

use std::collections::BTreeSet;

use flow::{EngineAction, FlowId};
use ledger::PartyId;
use primitives::{Monotonic, Timestamp};

use crate::command::{Command, IntakeCommand};
use crate::context::Context;
use crate::errors;
use crate::flows::Flows;
use crate::round::Work;

impl Flows {
    /// Handles a peer whose standing does not contradict the data. The flows that waited for this peer return.
    pub(crate) fn met(&mut self, peer: PartyId, shows_mark: bool, now: Monotonic) {
        for flow in self.gate.met(peer, shows_mark, now) {
            self.waking.met(flow);
        }
        self.let_starts();
    }

    /// Lets starts run once the gate allows it.
    pub(super) fn let_starts(&mut self) {
        let is_open = self.gate.allows_starts();
        self.starts.admission.note_unproved(!is_open);
        self.starts.may_run |= is_open;
    }

    /// Lets the flows return that wait for peers, because an operator has finished a recovery.
    pub(super) fn recovery_finished(&mut self) {
        for flow in self.gate.settle() {
            self.waking.met(flow);
        }
        self.let_starts();
    }

    /// Returns whether a peer has shown that the data is no older copy, or this need not be shown.
    pub(crate) fn is_witnessed(&self) -> bool {
        self.gate.is_witnessed()
    }

    /// Returns the time at which the wait for peers is over.
    pub(crate) fn next_meeting(&self) -> Option<Monotonic> {
        self.gate.next_time()
    }

    /// Returns the time at which a notary judges at the latest, if it waits for witnesses.
    pub(crate) fn notary_waits(&self, now: Monotonic) -> Option<Monotonic> {
        self.gate.notary_waits(now)
    }

    /// Ends the wait for peers when it is over.
    pub(crate) fn end_meeting(&mut self, context: &mut Context) {
        let Some((released, unwitnessed)) = self.gate.on_time(context.now.monotonic) else {
            return;
        };
        if unwitnessed {
            let text = match released.len() {
                0 => "no peer has shown a data mark of this node in time: the flows of its journal stay held".to_owned(),
                count => format!("no peer has shown a data mark of this node in time: {count} flows of its journal continue, although no peer has confirmed that the data is current"),
            };
            context.warn(errors::FLOWS_HELD.code, text);
        }
        for flow in released {
            self.waking.met(flow);
        }
        self.let_starts();
    }

    /// Pauses all flows that came from the journal: it is an older copy's, and their effects may have happened already. Also
    /// pauses all flows that answer peers, because the claims of the copy are incomplete. None of them takes another step, not
    /// even with an answer that is under way, and none of its effects is carried out. Returns the number of flows.
    fn pause_copied(&mut self, context: &mut Context) -> usize {
        let mut flows: BTreeSet<FlowId> = self.waking.copied().into_iter().collect();
        let engine = self.engine();
        let responders = engine.flow_ids().into_iter();
        flows.extend(responders.filter(|flow| engine.origin_of(flow).is_some()));
        for flow in &flows {
            self.gate.forget(flow);
            self.waking.ended(flow);
            // An operator's order from before the proof.
            self.hospital.wanted.remove(flow);
            self.copied.mark(*flow, &mut context.round.batch);
            self.runner.halt(*flow, context);
            context.command(Command::StopWork { flow: *flow });
        }
        // Effects that this round has not carried out yet: a record or a claim among them would be final.
        context.work.retain(|work| match work {
            Work::Engine(EngineAction::Effect { flow, .. }) => !flows.contains(flow),
            _ => true,
        });
        let count = flows.len();
        context.command(IntakeCommand::DropFlows(flows));
        assert!(
            self.waking.copied().is_empty(),
            "a flow of an older copy is not paused"
        );
        count
    }

    /// Pauses the flows of an older copy, which ends at a time, and refuses starts. The reason is for the operator.
    pub(super) fn stop_copied(
        &mut self,
        data_until: Timestamp,
        reason: &str,
        context: &mut Context,
    ) {
        let paused = self.pause_copied(context);
        self.refuse_starts(data_until, context);
        let text = format!("{reason}; {paused} flows of the copy are paused");
        context.warn(errors::ROLLED_BACK.code, text);
    }

    /// Stops waiting for peers on behalf of a flow.
    pub(super) fn leave_gate(&mut self, flow: FlowId) {
        self.gate.forget(&flow);
    }
}
