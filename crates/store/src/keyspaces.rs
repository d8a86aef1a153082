//! How each table is kept: compression, filters, block sizes and the size of its part in memory.

use fjall::KeyspaceCreateOptions;
use fjall::config::{
    BlockSizePolicy, BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry,
};
use kernel::port::Table;

use crate::options::Options;

/// Creation options of a table's keyspace.
pub(crate) fn options_for(table: Table, options: &Options) -> KeyspaceCreateOptions {
    let base = KeyspaceCreateOptions::default().manual_journal_persist(true);
    match table {
        // Read by sequence, in long runs; transactions compress to about two thirds.
        Table::Ledger => base
            .max_memtable_size(options.memtable_bytes)
            .data_block_size_policy(BlockSizePolicy::all(16 * 1024))
            .data_block_compression_policy(CompressionPolicy::all(fjall::CompressionType::Lz4))
            .filter_policy(no_filter()),
        // Random keys, mostly looked up in vain: filters everywhere, hashes do not compress.
        Table::TxIndex | Table::NotaryStates | Table::NotaryTxs | Table::ClientIds => base
            .max_memtable_size(options.memtable_bytes)
            .data_block_compression_policy(CompressionPolicy::disabled())
            .filter_policy(FilterPolicy::all(bloom(10.0))),
        // Inserted and soon deleted.
        Table::Journal | Table::Outbox | Table::Deliveries | Table::Staging => base
            .max_memtable_size(options.memtable_bytes / 2)
            .data_block_compression_policy(CompressionPolicy::disabled()),
        Table::Meta | Table::Attachments => base.max_memtable_size(1 << 20),
    }
}

fn bloom(bits_per_key: f32) -> FilterPolicyEntry {
    FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(bits_per_key))
}

fn no_filter() -> FilterPolicy {
    FilterPolicy::all(FilterPolicyEntry::None)
}
