//! A block whose signatures were checked.

use std::ops::Deref;

use primitives::SignatureChecker;

use super::CarriedBlock;
use crate::Rejection;

/// A block with valid signatures of its forger and of all senders. A block is *carried* after decoding, *checked* after this, and
/// *applied* when the state has accepted it. Only a checked block can be applied.
///
/// The fields are private, and there is no mutable access: a block cannot change after its check.
///
/// The type says nothing about the rules that need the state: the block's place, its time, and balances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedBlock(CarriedBlock);

impl CheckedBlock {
    /// Checks all signatures of a block.
    ///
    /// # Errors
    /// `chain_block.signature` or `chain_tx.signature`.
    pub fn check(block: CarriedBlock, checker: &mut SignatureChecker) -> Result<Self, Rejection> {
        let no = |code| {
            Err(Rejection::new(
                code,
                format!("block {}", block.header.height),
            ))
        };
        if !checker.check(&block.header.signed_message(block.hash)) {
            return no("chain_block.signature");
        }
        let messages = block.transactions().map(|carried| carried.signed_message());
        let signed: Vec<_> = messages.collect();
        if checker.check_batch(&signed).contains(&false) {
            return no("chain_tx.signature");
        }
        Ok(Self(block))
    }

    /// Accepts a block that was read from a store. A store contains only checked blocks, and its signatures are not checked again.
    #[must_use]
    pub fn from_store(block: CarriedBlock) -> Self {
        Self(block)
    }

    /// Accepts a block whose header and transactions were checked one by one, or signed by this process. Each caller gives the
    /// place of these checks.
    #[must_use]
    pub(crate) fn from_checked_parts(block: CarriedBlock) -> Self {
        Self(block)
    }

    /// Returns the block without the proof that it was checked.
    #[must_use]
    pub fn into_inner(self) -> CarriedBlock {
        self.0
    }
}

impl Deref for CheckedBlock {
    type Target = CarriedBlock;

    fn deref(&self) -> &CarriedBlock {
        &self.0
    }
}
