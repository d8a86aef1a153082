//! The rows of files, including those that are not durable yet. Recording and look-ups therefore see the same rows.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};

use ledger::TxId;
use primitives::collections::HashMap;
use primitives::{Encode, Hash};

use super::row::{FileRow, file_row, listing_of, reference_key};
use crate::cache::GenerationCache;
use crate::pages::{after, row_page};
use crate::part::Part;
use crate::port::{Reads, StoreFailure, Table};
use crate::rows::prefix_end;
use crate::writes::{Batch, RowRange, Writer};
use primitives::Monotonic;

/// Maximum number of references that are counted when a file arrives that recorded transactions already list. The row of a file
/// with more of them shows this number.
const REFS_COUNTED_MAX: u64 = 100_000;
/// Maximum number of rows, and of bytes, in one read.
const PAGE: (usize, usize) = (10_000, 1 << 20);

/// The rows of files, with a cache.
pub(crate) struct FileBook {
    cache: RefCell<GenerationCache<Hash, FileRow>>,
    /// Rows that the store may not show yet, with the number of the commit that writes each. `None` stands for a deleted row.
    /// Bounded by the commits in flight.
    undurable: HashMap<Hash, (u64, Option<FileRow>)>,
    order: VecDeque<(u64, Hash)>,
    /// Changed in this round.
    changed: BTreeSet<Hash>,
    /// References to files without a row that the store may not show yet.
    undurable_refs: VecDeque<(u64, Hash, TxId)>,
}

impl Writer for FileBook {
    const ROWS: &'static [RowRange] = &[
        RowRange::table(Table::Attachments),
        RowRange::table(Table::FileRefs),
    ];
}

impl Part for FileBook {
    fn committed(&mut self, upto: u64, _: Monotonic) {
        while let Some((number, hash)) = self.order.front().copied()
            && number <= upto
        {
            self.order.pop_front();
            if self.undurable.get(&hash).is_some_and(|(n, _)| *n <= upto)
                && let Some((_, row)) = self.undurable.remove(&hash)
            {
                // The cache may hold an older row, so this one replaces it.
                let cache = self.cache.get_mut();
                match row {
                    Some(row) => cache.insert(hash, row.clone(), row.weight_bytes()),
                    None => cache.remove(&hash),
                }
            }
        }
        while self
            .undurable_refs
            .front()
            .is_some_and(|(n, ..)| *n <= upto)
        {
            self.undurable_refs.pop_front();
        }
    }

    fn end_round(&mut self, batch: &mut Batch) {
        for hash in std::mem::take(&mut self.changed) {
            let Some((number, row)) = self.undurable.get(&hash) else {
                continue;
            };
            self.order.push_back((*number, hash));
            let key = hash.as_bytes().to_vec();
            match row {
                Some(row) => batch
                    .of::<FileBook>()
                    .put(Table::Attachments, key, row.to_bytes()),
                None => batch.of::<FileBook>().delete(Table::Attachments, key),
            }
        }
    }
}

impl FileBook {
    pub(crate) fn new(cache_bytes: usize) -> Self {
        Self {
            cache: RefCell::new(GenerationCache::new(cache_bytes)),
            undurable: HashMap::default(),
            order: VecDeque::new(),
            changed: BTreeSet::new(),
            undurable_refs: VecDeque::new(),
        }
    }

    /// Returns the row of a stored file.
    pub(crate) fn get(
        &self,
        hash: &Hash,
        reads: &dyn Reads,
    ) -> Result<Option<FileRow>, StoreFailure> {
        if let Some((_, row)) = self.undurable.get(hash) {
            return Ok(row.clone());
        }
        if let Some(row) = self.cache.borrow_mut().get(hash) {
            return Ok(Some(row));
        }
        let found = file_row(reads, hash)?;
        if let Some(row) = &found {
            let mut cache = self.cache.borrow_mut();
            cache.insert(*hash, row.clone(), row.weight_bytes());
        }
        Ok(found)
    }

    /// Returns the size of a stored file.
    pub(crate) fn size(&self, hash: &Hash, reads: &dyn Reads) -> Result<Option<u64>, StoreFailure> {
        if let Some((_, row)) = self.undurable.get(hash) {
            return Ok(row.as_ref().map(|row| row.size));
        }
        if let Some(row) = self.cache.borrow().peek(hash) {
            return Ok(Some(row.size));
        }
        Ok(self.get(hash, reads)?.map(|row| row.size))
    }

    /// Sets a row, or takes it away, in the batch of this round, which is commit `number`.
    pub(crate) fn set(&mut self, hash: Hash, row: Option<FileRow>, number: u64) {
        self.undurable.insert(hash, (number, row));
        self.changed.insert(hash);
    }

    /// Notes that a transaction which is being recorded lists a file.
    pub(super) fn refer(
        &mut self,
        hash: Hash,
        id: TxId,
        number: u64,
        batch: &mut Batch,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        batch
            .of::<FileBook>()
            .put(Table::FileRefs, reference_key(&hash, &id), Vec::new());
        match self.get(&hash, reads)? {
            Some(mut row) => {
                row.refs += 1;
                self.set(hash, Some(row), number);
            }
            None => self.undurable_refs.push_back((number, hash, id)),
        }
        Ok(())
    }

    /// Returns the number of recorded transactions that list a file without a row.
    pub(super) fn count_refs(&self, hash: &Hash, reads: &dyn Reads) -> Result<u64, StoreFailure> {
        let coming = self.undurable_refs.iter();
        let coming = coming.filter(|(_, of, _)| of == hash);
        let mut coming: BTreeSet<TxId> = coming.map(|(_, _, id)| *id).collect();
        let to = prefix_end(hash.as_bytes());
        let mut from = hash.as_bytes().to_vec();
        let mut count = 0;
        loop {
            let page = row_page(reads, Table::FileRefs, from, to.as_deref(), PAGE.0, PAGE.1)?;
            for id in page.rows.iter().filter_map(|(key, _)| listing_of(key)) {
                coming.remove(&id);
                count += 1;
            }
            match page.rows.last() {
                Some((last, _)) if page.more && count < REFS_COUNTED_MAX => from = after(last),
                _ => return Ok(count + coming.len() as u64),
            }
        }
    }
}
