//! The inventory and the mark of an open store.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::anchor::{self, Anchor};
use super::listing::Listing;
use super::mark::{Mark, Position};
use super::options::Places;
use super::store_id::StoreId;

/// Keeps the inventory and the mark of an open store up to date.
pub(crate) struct Keeper {
    places: Places,
    store: StoreId,
    /// The inventory as it is on disk.
    listing: Mutex<Listing>,
    mark: Mark,
    /// The generation of the inventory on disk.
    generation: AtomicU64,
    /// The last record that is durable.
    sequence: AtomicU64,
}

impl Keeper {
    /// Makes a keeper of the inventory and mark that are on disk.
    pub(super) fn new(places: Places, listing: Listing, mark: Mark) -> Self {
        Self {
            places,
            store: listing.store,
            generation: AtomicU64::new(listing.generation),
            sequence: AtomicU64::new(listing.sequence),
            listing: Mutex::new(listing),
            mark,
        }
    }

    /// Returns the store's id.
    pub(crate) fn store(&self) -> StoreId {
        self.store
    }

    /// Notes that every record up to `sequence` is durable.
    pub(crate) fn note(&self, sequence: u64) -> Result<(), String> {
        self.sequence.fetch_max(sequence, Ordering::SeqCst);
        let position = Position {
            store: self.store,
            generation: self.generation.load(Ordering::SeqCst),
            sequence,
        };
        self.mark
            .write(&position)
            .map_err(|error| format!("{}: {error}", self.places.mark.display()))
    }

    /// Returns the inventory as it is on disk.
    pub(crate) fn listing(&self) -> MutexGuard<'_, Listing> {
        // A change is made on a copy, so the value is whole at any time.
        self.listing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the inventory, durably. The data that the new inventory lists must be durable already.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Listing)) -> Result<(), String> {
        let mut listing = self.listing();
        let mut next = listing.clone();
        change(&mut next);
        if next == *listing {
            return Ok(());
        }
        next.generation += 1;
        next.sequence = next.sequence.max(self.sequence.load(Ordering::SeqCst));
        next.write(&self.places.inventory, &self.places.key)
            .map_err(|error| format!("{}: {error}", self.places.inventory.display()))?;
        self.generation.store(next.generation, Ordering::SeqCst);
        *listing = next;
        Ok(())
    }

    /// Marks the store as whole, and as the one of its identity: from now on no listed file may be missing.
    pub(crate) fn settle(&self, change: impl FnOnce(&mut Listing)) -> Result<(), String> {
        self.change(|listing| {
            change(listing);
            listing.whole = true;
        })?;
        let Some(path) = &self.places.anchor else {
            return Ok(());
        };
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        let own = Anchor::Of(self.store);
        if anchor::read(path, &self.places.key).map_err(failed)? == Some(Ok(own)) {
            return Ok(());
        }
        anchor::write(path, &self.places.key, own).map_err(failed)
    }
}
