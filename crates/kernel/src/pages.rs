//! Reads of many rows, bounded by bytes as well as by number: rows can be large.

use crate::port::{Reads, StoreFailure, Table};

/// Number of rows in the first scan, and the maximum for later ones.
const SCAN_ROWS: (usize, usize) = (4, 512);
/// After a scan of fewer bytes the next one asks for more rows.
const SMALL_SCAN_BYTES: usize = 128 << 10;

/// Maximum number of rows that a walk through a table reads at once, and of their bytes.
pub(crate) const WALK_PAGE: (usize, usize) = (10_000, 4 << 20);

/// Rows in order of their keys.
pub struct RowPage {
    /// Keys and values.
    pub rows: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether there may be more after the last.
    pub more: bool,
}

/// Reads rows from `from` (and before `to`) until there are `limit` of them or their values pass `bytes_max`; one row comes in
/// any case.
///
/// # Errors
/// The store could not be read.
pub fn row_page(
    reads: &dyn Reads,
    table: Table,
    from: Vec<u8>,
    to: Option<&[u8]>,
    limit: usize,
    bytes_max: usize,
) -> Result<RowPage, StoreFailure> {
    let mut rows: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let (mut from, mut scan, mut bytes) = (from, SCAN_ROWS.0, 0);
    // One row more shows whether another page follows. No table has as many rows as a clipped limit.
    let limit_and_one = limit.saturating_add(1);
    while rows.len() < limit_and_one && bytes <= bytes_max {
        let wanted = scan.min(limit_and_one - rows.len());
        let found = reads.scan(table, &from, to, wanted)?;
        let complete = found.len() < wanted;
        if let Some((last, _)) = found.last() {
            from = after(last);
        }
        let size: usize = found.iter().map(|(_, value)| value.len()).sum();
        bytes += size;
        rows.extend(found);
        if complete && rows.len() <= limit {
            return Ok(RowPage { rows, more: false });
        }
        if size < SMALL_SCAN_BYTES {
            scan = (scan * 4).min(SCAN_ROWS.1);
        }
    }
    rows.truncate(limit);
    Ok(RowPage { rows, more: true })
}

/// Returns the first key after a key.
pub fn after(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

#[cfg(test)]
mod tests {
    use primitives::storage;

    use super::*;

    /// Rows with keys from 0 on, of the given sizes.
    struct Rows(Vec<usize>);

    impl storage::Reads<Table> for Rows {
        fn get(&self, _: Table, _: &[u8]) -> Result<Option<Vec<u8>>, StoreFailure> {
            Ok(None)
        }

        fn scan(
            &self,
            _: Table,
            from: &[u8],
            _: Option<&[u8]>,
            limit: usize,
        ) -> Result<Vec<(Vec<u8>, Vec<u8>)>, StoreFailure> {
            let rows = (0u16..)
                .zip(&self.0)
                .map(|(n, size)| (n.to_be_bytes().to_vec(), vec![0; *size]));
            Ok(rows
                .filter(|(key, _)| key.as_slice() >= from)
                .take(limit)
                .collect())
        }

        fn last(&self, _: Table) -> Result<Option<(Vec<u8>, Vec<u8>)>, StoreFailure> {
            Ok(None)
        }
    }

    #[test]
    fn a_page_ends_where_it_is_large_enough() {
        // (sizes, limit, most bytes, rows of each page)
        type Case = (Vec<usize>, usize, usize, &'static [usize]);
        let table: [Case; 7] = [
            (vec![], 10, 100, &[0]),
            (vec![1; 3], 10, 100, &[3]),
            (vec![1; 3], 2, 100, &[2, 1]),
            (vec![1; 4], 2, 100, &[2, 2]),
            (vec![1_000_000; 10], 100, 5_000_000, &[8, 2]),
            (vec![1_000_000; 3], 100, 0, &[3]),
            (vec![100; 2_000], 1_000, usize::MAX, &[1_000, 1_000]),
        ];
        for (sizes, limit, bytes_max, expected) in table {
            let (rows, mut from, mut pages) = (Rows(sizes), Vec::new(), Vec::new());
            loop {
                let page =
                    row_page(&rows, Table::Ledger, from, None, limit, bytes_max).expect("reads");
                pages.push(page.rows.len());
                from = page
                    .rows
                    .last()
                    .map(|(last, _)| after(last))
                    .unwrap_or_default();
                if !page.more {
                    break;
                }
            }
            assert_eq!(pages, expected, "{limit} rows, {bytes_max} bytes");
        }
    }
}
