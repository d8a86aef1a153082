//! Adds pending blocks, and processes them when their time or their predecessor has come.

use primitives::Hash;

use super::pending::{Held, Release, Waiting};
use crate::core::{Core, Verdict};
use crate::port::{Reads, StoreFailure, Table};

impl<R: Reads<Table>> Core<R> {
    pub(in crate::core) fn is_held(&self, hash: &Hash) -> bool {
        self.held.iter().any(|held| held.hash == *hash)
    }

    pub(in crate::core) fn hold(&mut self, held: Held) {
        if let Some(gone) = self.held.add(held) {
            self.let_go(&gone);
        }
    }

    /// Gives up a held block. If it matters, a status question finds it again.
    fn let_go(&mut self, held: &Held) {
        if let Waiting::Announced { message, .. } = held.what {
            self.verdict(message, Verdict::Ignore);
        }
    }

    /// Processes held blocks that have waited long enough or now follow the tip.
    pub(in crate::core) fn release_held(&mut self, release: Release) -> Result<(), StoreFailure> {
        if self.held.is_empty() || self.switch.is_some() {
            return Ok(());
        }
        let own_ms = match release {
            Release::BeforeOwn => self.own_turn_ms()?,
            Release::All => None,
        };
        let mut at = 0;
        // A block may begin a reorg that continues in the next round. Until the reorg ends, all held blocks wait.
        while at < self.held.len() && self.switch.is_none() {
            let Some(held) = self.held.get(at) else {
                return Ok(());
            };
            let ready = match &held.what {
                Waiting::Announced { announcement, .. } => {
                    announcement.header.previous == self.rows.tip().hash
                }
                Waiting::Whole(_) => held.due_ms <= self.now_ms,
            };
            let is_after_own = own_ms.is_some_and(|own| held.due_ms >= own)
                && matches!(held.what, Waiting::Whole(_));
            let late = held.due_ms <= self.now_ms;
            if is_after_own {
                at += 1;
                continue;
            }
            if !ready && !late {
                at += 1;
                continue;
            }
            let held = self.held.take(at);
            match held.what {
                Waiting::Announced {
                    peer,
                    message,
                    announcement,
                } if ready => {
                    self.announced(peer, message, *announcement)?;
                    // The tip may have moved, so blocks that were skipped may follow it now.
                    at = 0;
                }
                Waiting::Announced { message, .. } => self.verdict(message, Verdict::Ignore),
                Waiting::Whole(block) => {
                    self.accept(*block)?;
                    at = 0;
                }
            }
        }
        Ok(())
    }
}
