//! Claims: a key gets a value once, and keeps it. Flows use them so that one piece of evidence has one effect, however often it is
//! presented, by whichever session, before and after a crash.
//!
//! # Invariants
//! - The first claim of a key decides. Its row is in the batch of the step that makes it, and its answer in the journal row of the same
//!   batch: either both are durable or neither is.
//! - A claim is never changed or deleted: evidence can be presented for as long as the ledger is kept.
//! - A flow of an older copy claims no transaction that is recorded: a recovery gives back transactions, but not the claims of the
//!   lost course, and what the claim stands for may have happened then.

use std::collections::VecDeque;

use flow::EffectResult;
use primitives::collections::HashMap;
use primitives::{Encoder, Hash};

use crate::context::Context;
use crate::part::Part;
use crate::port::{Reads, StoreFailure, Table};
use crate::writes::{Batch, RowRange, Writer};
use primitives::Monotonic;

/// The claims that the store may not show yet. Bounded by the commits in flight and by the claims of flows in a round.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    unsaved: HashMap<Hash, (u64, Vec<u8>)>,
    order: VecDeque<(u64, Hash)>,
}

impl Writer for Claims {
    const ROWS: &'static [RowRange] = &[RowRange::table(Table::Claims)];
}

impl Part for Claims {
    fn committed(&mut self, upto: u64, _: Monotonic) {
        while let Some((_, key)) = self.order.pop_front_if(|(commit, _)| *commit <= upto) {
            self.unsaved.remove(&key);
        }
    }
}

impl Claims {
    /// Returns the value of a key's first claim.
    pub(super) fn get(
        &self,
        key: &Hash,
        reads: &dyn Reads,
    ) -> Result<Option<Vec<u8>>, StoreFailure> {
        match self.unsaved.get(key) {
            Some((_, value)) => Ok(Some(value.clone())),
            None => reads.get(Table::Claims, key.as_bytes()),
        }
    }

    /// Claims a key, if it is free, with the commit of this number. Returns the value of its first claim.
    fn claim(
        &mut self,
        key: Hash,
        value: Vec<u8>,
        commit: u64,
        batch: &mut Batch,
        reads: &dyn Reads,
    ) -> Result<Vec<u8>, StoreFailure> {
        if let Some(first) = self.get(&key, reads)? {
            return Ok(first);
        }
        batch
            .of::<Claims>()
            .put(Table::Claims, key.as_bytes().to_vec(), value.clone());
        let last = self.order.back();
        assert!(
            last.is_none_or(|(last, _)| *last <= commit),
            "commits of claims are in order"
        );
        let before = self.unsaved.insert(key, (commit, value.clone()));
        assert!(before.is_none(), "a claim is never changed");
        self.order.push_back((commit, key));
        Ok(value)
    }
}

impl Claims {
    /// Claims a key for a flow, and returns the flow's answer: the value of the key's first claim.
    pub(super) fn on_claim(
        &mut self,
        key: Hash,
        value: Vec<u8>,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<EffectResult, StoreFailure> {
        let commit = context.commits.next();
        let first = self.claim(key, value, commit, &mut context.round.batch, reads)?;
        let mut e = Encoder::new();
        e.bytes(&first);
        Ok(EffectResult::Response(e.into_bytes()))
    }

    /// Returns the answer to a flow that asks whether a key is claimed: the value of its first claim, or nothing.
    pub(super) fn on_claimed(
        &self,
        key: &Hash,
        reads: &dyn Reads,
    ) -> Result<EffectResult, StoreFailure> {
        let first = self.get(key, reads)?;
        let mut e = Encoder::new();
        e.array(usize::from(first.is_some()));
        first.iter().for_each(|first| e.bytes(first));
        Ok(EffectResult::Response(e.into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use primitives::storage::Reads as _;

    use super::*;
    use crate::fake_store::FakeStore;

    /// Applies a batch that consists of new claims.
    fn save(store: &mut FakeStore, batch: Batch) {
        for write in &batch.writes {
            assert_eq!(write.table, Table::Claims);
            assert!(write.value.is_some(), "claims are not deleted");
            let before = store.get(Table::Claims, &write.key);
            assert_eq!(before, Ok(None), "a claim was written twice");
        }
        store.apply(batch);
    }

    #[test]
    fn the_first_claim_of_a_key_decides() {
        let (mut claims, mut saved) = (Claims::default(), FakeStore::default());
        let keys = [Hash::plain(b"one"), Hash::plain(b"two")];
        // Each line: the key, the value claimed, the commit, the value that holds.
        let table: &[(usize, &[u8], u64, &[u8])] = &[
            (0, b"a", 1, b"a"),
            (0, b"b", 1, b"a"),
            (1, b"b", 1, b"b"),
            (0, b"c", 2, b"a"),
        ];
        for (key, value, commit, holds) in table {
            let mut batch = Batch::default();
            let claimed = claims.claim(keys[*key], value.to_vec(), *commit, &mut batch, &saved);
            assert_eq!(claimed.as_deref(), Ok(*holds));
            save(&mut saved, batch);
        }
        claims.committed(1, Monotonic::START);
        assert!(claims.unsaved.is_empty() && claims.order.is_empty());
        let mut batch = Batch::default();
        let late = claims.claim(keys[1], b"z".to_vec(), 3, &mut batch, &saved);
        assert_eq!((late.as_deref(), batch.is_empty()), (Ok(&b"b"[..]), true));
        let unknown = claims.get(&Hash::ZERO, &saved);
        assert_eq!(unknown, Ok(None));
    }
}
