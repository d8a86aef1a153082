//! The observation and replay of sessions and messages.

use flow::SessionId;
use kernel::{Priority, Wait};
use primitives::Encode;

use crate::adversary::{LATER_US, Presented};
use crate::membership::{SHORT, is_notary};
use crate::planned_flow::{Effect, PlannedFlow};
use crate::world::{What, World};

/// Maximum number of looks at a session that has not ended well.
const LOOKS_MAX: u32 = 20;

impl World {
    /// Observes a message when it leaves a node for the first time.
    pub(crate) fn overhear(&mut self, from: usize, to: usize, priority: Priority, bytes: &[u8]) {
        let Some(replayer) = self.replayer.as_mut().filter(|_| !is_notary(from)) else {
            return;
        };
        let Some((session, times)) = replayer.hear(from, to, priority, bytes) else {
            return;
        };
        for after_us in times {
            self.at(after_us, What::Replay { session, looks: 0 });
        }
    }

    /// Replays a session.
    pub(crate) fn replay(&mut self, session: SessionId, looks: u32) {
        let Some(replayer) = &mut self.replayer else {
            return;
        };
        match replayer.presented(&self.membership, &session) {
            Presented::Now(node, args) => {
                self.tally.replays += 1;
                self.note(node, format_args!("presents {} again", args.flow));
                let flow = PlannedFlow {
                    node,
                    at_us: 0,
                    name: "sim.replay",
                    args: args.to_bytes(),
                    effect: Effect::Nothing,
                    waits: vec![Wait::Delivered],
                    cancelled_after_us: None,
                    upload: None,
                    is_repeatable: false,
                    stays: Vec::new(),
                };
                self.add_clients(vec![flow]);
            }
            Presented::Later if looks < LOOKS_MAX => {
                let looks = looks + 1;
                self.at(LATER_US, What::Replay { session, looks });
            }
            Presented::Later | Presented::Never => {}
        }
    }

    /// Sends a single recorded message again, unchanged.
    pub(crate) fn repeat_message(&mut self) {
        let Some(replayer) = &mut self.replayer else {
            return;
        };
        let next = replayer.chance.between(1_000, 40_000);
        let message = replayer.message();
        if let Some((from, to, (priority, bytes))) = message
            && self.nodes[from].is_up()
        {
            self.tally.replays += 1;
            self.note(from, format_args!("repeats a message to {}", SHORT[to]));
            self.transmit(from, to, priority, bytes);
        }
        if !self.calm {
            self.at(next, What::RepeatMessage);
        }
    }
}
