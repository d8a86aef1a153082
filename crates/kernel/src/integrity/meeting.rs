//! The wait of flows and of the notary for peers after a start.

use crate::errors;
use crate::kernel::Kernel;
use ledger::PartyId;
use primitives::Monotonic;

impl Kernel {
    /// A peer has told its standing, and nothing in it contradicts the data.
    pub(crate) fn meet(&mut self, peer: PartyId, shows_mark: bool) {
        if self.is_rolled_back() {
            return;
        }
        for flow in self.gate.met(peer, shows_mark) {
            self.waking.met(flow);
        }
    }

    /// The time at which the wait for peers is over.
    pub(crate) fn next_meeting(&self) -> Option<Monotonic> {
        let next = self.gate.next_time();
        next.filter(|_| !self.is_rolled_back())
    }

    /// The time at which this notary judges at the latest, if it waits for witnesses: until then requests stay in its queue.
    pub(crate) fn judges_from(&self) -> Option<Monotonic> {
        let is_notary = self.notarisation.is_some() && !self.is_rolled_back();
        is_notary
            .then(|| self.gate.notary_waits(self.context.now.monotonic))
            .flatten()
    }

    /// Ends the wait for peers when it is over.
    pub(crate) fn end_meeting(&mut self) {
        if self.is_rolled_back() {
            return;
        }
        let Some((released, unwitnessed)) = self.gate.on_time(self.context.now.monotonic) else {
            return;
        };
        if unwitnessed {
            let text = match released.len() {
                0 => "no peer has shown a data mark of this node in time: the flows of its journal stay held".to_owned(),
                count => format!("no peer has shown a data mark of this node in time: {count} flows of its journal go on unproved"),
            };
            self.context.warn(errors::FLOWS_HELD.code, text);
        }
        for flow in released {
            self.waking.met(flow);
        }
    }

    /// Pauses all flows that came from the journal: it is an older copy's, and their effects may have happened already.
    /// Returns the number of flows.
    pub(crate) fn pause_copied_flows(&mut self) -> usize {
        let flows = self.waking.copied();
        for flow in &flows {
            self.gate.forget(flow);
            self.waking.ended(flow);
            self.runner.pause(*flow, &mut self.context);
        }
        flows.len()
    }
}
