//! A table's rows on disk: a log-structured merge tree of sorted, immutable, checksummed files.
//!
//! The tree never sees a commit, only whole flushes; each is synced, with its directory and its manifest, before
//! [`Sorted::ingest`] returns.

use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsm_tree::compaction::Leveled;
use lsm_tree::config::{
    BlockSizePolicy, BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry,
    PinningPolicy,
};
use lsm_tree::{
    AbstractTree, AnyTree, Cache, CompressionType, Config, DescriptorTable, Guard, SeqNo,
    SequenceNumberCounter,
};
use primitives::storage::{Habit, Row};

use crate::memory::Rows;

/// Maximum number of files at the top level of the tree before they are merged.
const TOP_FILES: u8 = 4;
/// Number of runs at the top level above which flushes wait for merges, because each look-up must search all of them.
pub(crate) const TOP_RUNS_MAX: usize = 16;
/// Maximum number of merge steps in one call. The tree is in shape after far fewer.
const MERGES_MAX: usize = 16;
/// Length of a sorted file with large rows in the order of their keys, in bytes. New files are moved, and hardly ever merged.
const APPENDED_FILE_BYTES: u64 = 32 << 20;
/// Length of a sorted file with keys in any order, in bytes. The limit of the first merged level is [`TOP_FILES`] times this length.
/// Each merge of the top level writes that whole level again, but has few new rows, because a flush has rows of many tables. So a
/// long file here makes every merge expensive.
const KEYED_FILE_BYTES: u64 = 4 << 20;
/// If at least one in this many entries is a deletion, the whole tree is merged. Merging single levels would keep deletions,
/// and the rows that they hide, until enough other rows push them down. So at most four entries are written again for each one
/// that is removed.
const GONE_SHARE: usize = 4;
/// Maximum size of a table that is merged as a whole, in bytes. For a larger one that would take minutes, and its size in
/// temporary space, so only its levels are merged.
const MERGE_ALL_BYTES_MAX: u64 = 4 << 30;

/// One table's tree.
pub(crate) struct Sorted {
    pub(crate) path: PathBuf,
    pub(crate) tree: AnyTree,
    sequence: SequenceNumberCounter,
    file_bytes: u64,
}

impl Sorted {
    /// Opens or creates the tree of a table.
    pub(crate) fn open(
        path: &Path,
        habit: Habit,
        cache: &Arc<Cache>,
        files: &Arc<DescriptorTable>,
    ) -> lsm_tree::Result<Self> {
        let (sequence, visible) = (
            SequenceNumberCounter::default(),
            SequenceNumberCounter::default(),
        );
        let config = Config::new(path, sequence.clone(), visible.clone())
            .use_cache(Arc::clone(cache))
            .use_descriptor_table(Some(Arc::clone(files)));
        let tree = tuned(config, habit).open()?;
        let next = tree
            .get_highest_persisted_seqno()
            .map_or(1, |highest| highest + 1);
        sequence.fetch_max(next);
        visible.fetch_max(next);
        Ok(Self {
            path: path.to_path_buf(),
            tree,
            sequence,
            file_bytes: match habit {
                Habit::Appended => APPENDED_FILE_BYTES,
                Habit::Keyed | Habit::Passing => KEYED_FILE_BYTES,
            },
        })
    }

    /// Returns whether it holds neither rows nor deletions.
    pub(crate) fn is_empty(&self) -> bool {
        self.tree.table_count() == 0
    }

    /// Returns the approximate number of rows and deletions in it.
    pub(crate) fn rows_approximate(&self) -> usize {
        self.tree.approximate_len()
    }

    /// Returns the bytes of its files.
    pub(crate) fn bytes(&self) -> u64 {
        self.tree.disk_space()
    }

    /// Returns the number of runs that every look-up searches before the merged ones.
    pub(crate) fn top_runs(&self) -> usize {
        self.tree.l0_run_count()
    }

    /// Returns whether the top level holds enough to merge.
    pub(crate) fn wants_merge(&self) -> bool {
        self.top_runs() >= usize::from(TOP_FILES)
    }

    /// Returns the number of blocks found in the cache and of blocks read from files since it was opened.
    pub(crate) fn block_loads(&self) -> (u64, u64) {
        let metrics = self.tree.metrics();
        (
            metrics.block_load_cached_count() as u64,
            metrics.block_load_io_count() as u64,
        )
    }

    /// Looks a key up.
    pub(crate) fn get(&self, key: &[u8]) -> lsm_tree::Result<Option<Vec<u8>>> {
        Ok(self.tree.get(key, SeqNo::MAX)?.map(|value| value.to_vec()))
    }

    /// Iterates over the rows in `[from, to)`, in ascending order of the keys.
    pub(crate) fn range(
        &self,
        from: &[u8],
        to: Option<&[u8]>,
    ) -> impl Iterator<Item = lsm_tree::Result<Row>> {
        let bounds = (
            Bound::Included(from),
            to.map_or(Bound::Unbounded, Bound::Excluded),
        );
        self.tree
            .range::<&[u8], _>(bounds, SeqNo::MAX, None)
            .map(|guard| {
                guard
                    .into_inner()
                    .map(|(key, value)| (key.to_vec(), value.to_vec()))
            })
    }

    /// Iterates over all rows, in descending order of the keys.
    pub(crate) fn descending(&self) -> impl Iterator<Item = lsm_tree::Result<Row>> {
        self.tree.iter(SeqNo::MAX, None).rev().map(|guard| {
            guard
                .into_inner()
                .map(|(key, value)| (key.to_vec(), value.to_vec()))
        })
    }

    /// Adds rows and deletions on top, durably.
    pub(crate) fn ingest(&self, rows: &Rows) -> lsm_tree::Result<()> {
        let hides_nothing = self.is_empty();
        if hides_nothing && rows.values().all(Option::is_none) {
            return Ok(());
        }
        let mut ingestion = self.tree.ingestion()?;
        for (key, value) in rows {
            match value {
                Some(value) => ingestion.write(key.as_slice(), value.as_slice())?,
                None if hides_nothing => {}
                None => ingestion.write_tombstone(key.as_slice())?,
            }
        }
        ingestion.finish()
    }

    /// Returns whether the share of deletions is so high that a merge of the whole tree costs little for each removed entry.
    fn is_mostly_gone(&self) -> bool {
        // If a count is clipped, it exceeds the rows of every tree.
        let deletions = usize::try_from(self.tree.tombstone_count()).unwrap_or(usize::MAX);
        deletions > 0 && deletions.saturating_mul(GONE_SHARE) >= self.rows_approximate()
    }

    /// Merges until a step no longer changes the levels, and frees the space of deleted rows.
    pub(crate) fn merge(&self) -> lsm_tree::Result<()> {
        let strategy = Arc::new(
            Leveled::default()
                .with_l0_threshold(TOP_FILES)
                .with_table_target_size(self.file_bytes),
        );
        for _ in 0..MERGES_MAX {
            let before = self.shape();
            self.tree.compact(strategy.clone(), self.sequence.get())?;
            if self.shape() == before {
                break;
            }
        }
        if self.is_mostly_gone() && self.bytes() <= MERGE_ALL_BYTES_MAX {
            return self.merge_all();
        }
        self.forget_old_versions()
    }

    /// Merges everything into the last level, which drops deletions and the rows they hide.
    pub(crate) fn merge_all(&self) -> lsm_tree::Result<()> {
        self.tree
            .major_compact(self.file_bytes, self.sequence.get())?;
        self.forget_old_versions()
    }

    fn forget_old_versions(&self) -> lsm_tree::Result<()> {
        self.tree
            .get_version_history_lock()
            .maintenance(&self.path, self.sequence.get())
    }

    fn shape(&self) -> [usize; 8] {
        std::array::from_fn(|level| match level {
            7 => self.tree.l0_run_count(),
            // A level that the tree does not have has no files.
            level => self.tree.level_table_count(level).unwrap_or(0),
        })
    }
}

/// Sets compression without filters for tables with ascending keys and large values, and filters without compression for all
/// others, whose look-ups often find no row.
fn tuned(config: Config, habit: Habit) -> Config {
    let config = config
        .filter_block_pinning_policy(PinningPolicy::all(true))
        .index_block_pinning_policy(PinningPolicy::all(true));
    match habit {
        Habit::Appended => config
            .data_block_size_policy(BlockSizePolicy::all(16 * 1024))
            .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
            // Otherwise the index of each file stays in memory, for all transactions ever recorded.
            .index_block_partitioning_policy(PinningPolicy::all(true))
            .filter_policy(FilterPolicy::all(FilterPolicyEntry::None)),
        Habit::Keyed | Habit::Passing => config
            .data_block_compression_policy(CompressionPolicy::disabled())
            .filter_policy(FilterPolicy::all(bloom())),
    }
}

fn bloom() -> FilterPolicyEntry {
    FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(10.0))
}

/// Returns the text of a tree's error. For an I/O error, it is the operating system's text without the error type's name.
pub(crate) fn describe_tree(error: &lsm_tree::Error) -> String {
    match error {
        lsm_tree::Error::Io(source) => source.to_string(),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::collections::BTreeSet;

    use lsm_tree::TableId;

    /// Rows of a flush: those of one table among many, as a busy node flushes them.
    const FLUSH_ROWS: u64 = 8_000;
    const FLUSHES: u64 = 160;

    /// Returns the bytes of the files that are not known yet, and knows them from now on.
    fn new_bytes(sorted: &Sorted, known: &mut BTreeSet<TableId>) -> u64 {
        let listing = sorted.describe(None).expect("readable");
        let files = listing.expect("a list").files.into_iter();
        files
            .filter(|(number, _)| known.insert(*number))
            .map(|(_, bytes)| bytes)
            .sum()
    }

    /// Returns the bytes that flushes and merges write for each byte that is flushed. Files that a later step of the same merge
    /// removes are not counted.
    fn write_amplification(habit: Habit, key: impl Fn(u64) -> [u8; 32]) -> f64 {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Arc::new(Cache::with_capacity_bytes(1 << 20));
        let files = Arc::new(DescriptorTable::new(64));
        let sorted = Sorted::open(&folder.path().join("table"), habit, &cache, &files);
        let sorted = sorted.expect("opens");
        let mut known = BTreeSet::new();
        let (mut flushed, mut merged) = (0, 0);
        for flush in 0..FLUSHES {
            let rows = (flush * FLUSH_ROWS..(flush + 1) * FLUSH_ROWS)
                .map(|number| (key(number).to_vec(), Some(number.to_be_bytes().to_vec())));
            sorted.ingest(&rows.collect()).expect("flushed");
            flushed += new_bytes(&sorted, &mut known);
            if sorted.wants_merge() {
                sorted.merge().expect("merged");
                merged += new_bytes(&sorted, &mut known);
            }
        }
        for number in [0, FLUSHES * FLUSH_ROWS - 1] {
            let row = sorted.get(&key(number)).expect("readable");
            assert_eq!(row, Some(number.to_be_bytes().to_vec()));
        }
        (flushed + merged) as f64 / flushed as f64
    }

    #[test]
    fn merges_write_a_row_a_few_times() {
        let random = |number: u64| {
            let hash = xxhash_rust::xxh3::xxh3_128(&number.to_be_bytes()).to_be_bytes();
            let mut key = [0; 32];
            key[..16].copy_from_slice(&hash);
            key
        };
        let ascending = |number: u64| {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&number.to_be_bytes());
            key
        };
        // Files of 32 MB would make it 21, and more with each further flush.
        let keyed = write_amplification(Habit::Keyed, random);
        assert!(keyed < 15.0, "keys in any order: {keyed:.1}");
        let appended = write_amplification(Habit::Appended, ascending);
        assert!(appended < 1.1, "ascending keys: {appended:.1}");
    }
}
