//! The effects of the silent member on the world.

use finance::IssuedToken;
use kernel::{Event, Token};

use crate::Bug;
use crate::adversary::{Notarisation, SILENT, Silence, SilenceStage};
use crate::epilogue::EPILOGUE_TOKEN;
use crate::membership::{BANKS, BEGINNING_MS, SHORT};
use crate::phase::Phase;
use crate::planned_flow::{perhaps, sweep};
use crate::world::{What, World};

/// Time after which the planted bug frees locks, in microseconds.
const EARLY_US: u64 = 50_000;

impl World {
    /// Returns whether the silence holds a message back. Counts the messages until the silence begins.
    pub(crate) fn is_kept_back(&mut self, from: usize) -> bool {
        let (now_us, works) = (self.now_us, self.phase == Phase::Work);
        let Some(silence) = self.silence.as_mut().filter(|_| works && from == SILENT) else {
            return false;
        };
        if let SilenceStage::Speaks(left) = &mut silence.stage {
            // Clipped at 0: in a calm, the member goes on speaking.
            *left = left.saturating_sub(1);
            if *left > 0 || self.calm {
                return false;
            }
            silence.stage = SilenceStage::Silent;
            silence.since_us = now_us;
            let for_us = silence.for_us;
            self.tally.silences += 1;
            self.note(SILENT, format_args!("falls silent for {for_us:?}"));
            if let Some(for_us) = for_us {
                self.at(for_us, What::Speak);
            }
            if self.options.bug == Some(Bug::LocksFreedEarly) {
                self.at(EARLY_US, What::FreeLocks);
            }
        }
        self.silence.as_ref().is_some_and(Silence::is_silent)
    }

    /// Ends the silence. It never returns.
    pub(crate) fn speak(&mut self) {
        if let Some(silence) = &mut self.silence {
            silence.stage = SilenceStage::Over;
            self.note(SILENT, format_args!("speaks again"));
        }
    }

    /// Checks, when a message leaves a node, that no input of a signed transaction is spent by another one before its window has
    /// ended.
    pub(crate) fn watch_promises(&mut self, from: usize, to: usize, bytes: &[u8]) {
        let Some(silence) = &mut self.silence else {
            return;
        };
        silence.watch(from, to, bytes);
        if from == SILENT {
            return;
        }
        let Some(asked) = Notarisation::read(bytes) else {
            return;
        };
        let right_ms = BEGINNING_MS + self.now_us / 1_000;
        for input in &asked.inputs {
            let Some(shown) = silence.shown.get(&(from, *input)) else {
                continue;
            };
            let freed_early = shown.id != asked.id && right_ms < shown.end_ms;
            self.auditor.expect(!freed_early, || {
                let (id, other, short) = (asked.id, shown.id, SHORT[from]);
                format!("{short} spends {input} in {id} while {other} can still be notarised")
            });
        }
    }

    /// Lets the others finish without the silent member: when their flows have ended, they spend everything that it kept locked,
    /// and then it sends messages again. Returns whether the simulation must wait for this.
    pub(crate) fn do_without(&mut self) -> bool {
        let Some(silence) = &self.silence else {
            return false;
        };
        let stage = silence.stage;
        let forever = silence.for_us.is_none() && silence.is_silent();
        if !forever || !self.calm || self.has_unfinished_business() {
            return silence.is_silent();
        }
        if stage == SilenceStage::Spending {
            self.speak();
            return true;
        }
        let tokens: Vec<IssuedToken> = self
            .plan
            .loose
            .iter()
            .map(|(token, _)| token.clone())
            .collect();
        let mut flows = Vec::new();
        for (bank, to) in [(BANKS[0], BANKS[1]), (BANKS[1], BANKS[0])] {
            for token in 0..tokens.len() {
                let id = tokens[token].id();
                let coins = self.nodes[bank].view.coins();
                let held = coins.filter(|(token, ..)| *token == id);
                let quantity: u64 = held.map(|(_, _, quantity)| quantity).sum();
                if quantity > 0 {
                    flows.push(perhaps(sweep(
                        &self.membership,
                        &tokens,
                        token,
                        bank,
                        to,
                        quantity,
                    )));
                }
            }
        }
        self.add_clients(flows);
        if let Some(silence) = &mut self.silence {
            silence.stage = SilenceStage::Spending;
        }
        true
    }

    /// Returns whether a flow of an honest node is live or has not ended yet.
    fn has_unfinished_business(&self) -> bool {
        let others = self
            .clients
            .all
            .iter()
            .filter(|client| client.plan.node != SILENT);
        let live = BANKS.iter().any(|bank| {
            let kernel = self.nodes[*bank].kernel.as_ref();
            kernel.is_none_or(|kernel| kernel.figures().flows_live > 0)
        });
        live || others.into_iter().any(|client| client.outcome.is_none())
    }

    /// Applies the planted bug: banks cancel flows with the silent member at once.
    pub(crate) fn free_locks(&mut self) {
        let silent = self.membership.ids[SILENT];
        for bank in BANKS {
            let Some(kernel) = &self.nodes[bank].kernel else {
                continue;
            };
            let flows = kernel.flows();
            let with_it = flows.flow_ids().into_iter().filter(|id| {
                let start = flows.status(id).and_then(|status| status.start);
                let origin = start.and_then(|start| start.origin);
                origin.is_some_and(|origin| origin.peer == silent)
            });
            let with_it: Vec<_> = with_it.collect();
            for flow in with_it {
                let token = Token(EPILOGUE_TOKEN);
                self.mail(bank, Event::Cancel { flow, token });
            }
        }
    }

    /// Returns the time at which the planted bug stops a node's clock, in microseconds.
    pub(crate) fn stands_still_at_us(&self, node: usize) -> Option<u64> {
        let planted = self.options.bug == Some(Bug::LocksNeverFreed) && BANKS.contains(&node);
        let silence = self.silence.as_ref().filter(|_| planted)?;
        silence.is_silent().then_some(silence.since_us)
    }
}
