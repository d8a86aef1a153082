//! Questions about the owners of keys. The other parts ask them through a handle that only reads.

use std::cell::Cell;

use ledger::{ContractRegistry, PartyId};
use primitives::PublicKey;

use super::store::KeyBook;
use crate::context::Context;
use crate::port::{Reads, StoreFailure};

/// Finds the owners of keys, and the keys that belong to this node.
pub(crate) struct Owners<'a> {
    book: &'a KeyBook,
    context: &'a Context,
    reads: &'a dyn Reads,
    /// The last failure of a question whose answer can't be a failure.
    failure: Cell<Option<StoreFailure>>,
}

impl KeyBook {
    /// Returns the handle for questions about owners.
    pub(crate) fn owners<'a>(&'a self, context: &'a Context, reads: &'a dyn Reads) -> Owners<'a> {
        let (book, failure) = (self, Cell::new(None));
        Owners {
            book,
            context,
            reads,
            failure,
        }
    }
}

impl<'a> Owners<'a> {
    /// Returns the contracts of this node, which tell the keys in a state.
    pub(crate) fn contracts(&self) -> &'a ContractRegistry {
        &self.context.identity.contracts
    }

    /// Returns whether a key is this node's. A failure to read counts as no. [`Owners::finish`] returns it.
    pub(crate) fn holds(&self, key: &PublicKey) -> bool {
        if self.book.fixed(key).is_some() {
            return true;
        }
        let network = &self.context.identity.network;
        match self.book.fresh(key, network, self.reads) {
            Ok(found) => found.is_some(),
            Err(failure) => {
                self.failure.set(Some(failure));
                false
            }
        }
    }

    /// Ends the questions.
    ///
    /// # Errors
    /// The store could not be read for one of them.
    pub(crate) fn finish(self) -> Result<(), StoreFailure> {
        self.failure.into_inner().map_or(Ok(()), Err)
    }

    /// Returns the owner of a key: by the network map, as this node's, or by a proof that its owner gave this node.
    pub(crate) fn owner_of(&self, key: &PublicKey) -> Result<Option<PartyId>, StoreFailure> {
        if let Some(party) = self.context.identity.network.by_key(key) {
            return Ok(Some(party.id()));
        }
        let ours = self.book.owners(self.context, self.reads);
        let mine = ours.holds(key);
        ours.finish()?;
        match mine {
            true => Ok(Some(self.context.my_id)),
            false => self.book.owner(key, self.reads),
        }
    }
}
