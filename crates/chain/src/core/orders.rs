//! Operators' orders.

use primitives::Hash;

use super::follow::State;
use super::limits::TRUSTED_MAX;
use super::{Action, Core, Ticket};
use crate::Rejection;
use crate::port::{Reads, StoreFailure, Table};

/// Key in `Meta`: blocks that an operator trusts, height and hash each.
const TRUSTED: &[u8] = b"trusted";

impl<R: Reads<Table>> Core<R> {
    pub(super) fn pop_off(&mut self, ticket: Ticket, height: u32) -> Result<(), StoreFailure> {
        let outcome = match self.roll_back(height)? {
            Ok(depth) => Ok(format!("{depth} blocks were taken back")),
            Err(rejection) => Err(rejection),
        };
        self.actions.push(Action::Done { ticket, outcome });
        Ok(())
    }

    /// Takes blocks back to a height, whatever peers say, and looks for somebody to follow anew.
    fn roll_back(&mut self, height: u32) -> Result<Result<u32, Rejection>, StoreFailure> {
        let tip = self.rows.tip().height;
        if self.switch.is_some() {
            let detail = "a change of branch is under way";
            return Ok(Err(Rejection::new("chain_order.busy", detail)));
        }
        if height > tip {
            let detail = format!("height {height} is above the tip, {tip}");
            return Ok(Err(Rejection::new("chain_order.no_such_block", detail)));
        }
        if !self.may_be_taken_back(height)? {
            let detail = format!("block {} cannot be taken back any more", height + 1);
            return Ok(Err(Rejection::new("chain_block.too_deep", detail)));
        }
        while self.rows.tip().height > height {
            self.take_back()?;
        }
        self.drop_lost_anchors()?;
        self.settle_pool()?;
        self.side.trim(&mut self.rows);
        self.follow_anew();
        Ok(Ok(tip - height))
    }

    /// Forgets what kept this node from following somebody.
    fn follow_anew(&mut self) {
        self.stuck = None;
        self.bad.clear();
        self.assemblies.clear();
        self.following.state = State::Idle;
        for (_, peer) in self.peers.iter_mut() {
            peer.cool_until_ms = 0;
        }
        self.tell_where_we_stand();
    }

    pub(super) fn clear_pool(&mut self, ticket: Ticket) -> Result<(), StoreFailure> {
        self.settle_intake()?;
        let count = self.pool.figures().transactions;
        self.pool.clear();
        self.anew.clear();
        self.actions.push(Action::Done {
            ticket,
            outcome: Ok(format!("{count} transactions left the pool")),
        });
        Ok(())
    }

    pub(super) fn trust(
        &mut self,
        ticket: Ticket,
        height: u32,
        hash: Hash,
    ) -> Result<(), StoreFailure> {
        let outcome = self.trust_block(height, hash)?;
        self.actions.push(Action::Done { ticket, outcome });
        Ok(())
    }

    fn trust_block(
        &mut self,
        height: u32,
        hash: Hash,
    ) -> Result<Result<String, Rejection>, StoreFailure> {
        if self.trusted.len() >= TRUSTED_MAX || height == 0 {
            let detail = format!("height {height}; at most {TRUSTED_MAX} blocks above genesis");
            return Ok(Err(Rejection::new("chain_order.no_such_block", detail)));
        }
        let tip = self.rows.tip().height;
        let mut said = String::from("the block is trusted");
        if height <= tip && self.hash_at(height)? != Some(hash) {
            match self.roll_back(height - 1)? {
                Ok(depth) => said = format!("{said}; {depth} blocks were taken back"),
                Err(rejection) => return Ok(Err(rejection)),
            }
        }
        self.trusted.insert(height, hash);
        let mut value = Vec::with_capacity(self.trusted.len() * 36);
        for (height, hash) in &self.trusted {
            value.extend_from_slice(&height.to_be_bytes());
            value.extend_from_slice(hash.as_bytes());
        }
        self.rows.put(Table::Meta, TRUSTED, value);
        self.follow_anew();
        Ok(Ok(said))
    }

    /// Reads the blocks that were trusted before; the settings' own win.
    pub(super) fn restore_trusted(&mut self) -> Result<(), StoreFailure> {
        let Some(value) = self.rows.get(Table::Meta, TRUSTED)? else {
            return Ok(());
        };
        let (rows, left) = value.as_chunks::<36>();
        if !left.is_empty() {
            return Err(crate::port::damaged(
                "the trusted blocks have a wrong length",
            ));
        }
        for row in rows.iter().take(TRUSTED_MAX) {
            let (mut height, mut hash) = ([0; 4], [0; 32]);
            height.copy_from_slice(&row[..4]);
            hash.copy_from_slice(&row[4..]);
            self.trusted
                .entry(u32::from_be_bytes(height))
                .or_insert(Hash::from_bytes(hash));
        }
        Ok(())
    }
}
