//! Counts the payments that wait at a server of the Ardor/Nxt family, page by page. Pure.

use serde_json::Value;

use super::http::fault;
use super::read;
use crate::chain::codes::ENDLESS;
use crate::load::Fault;

/// Upper limit on the entries of one chain. A pool of the family has far fewer.
const ENTRIES_MAX: u64 = 1_000_000;
/// Upper limit on the pages of one chain: as many entries, at the family's 100 a page.
const PAGES_MAX: u64 = 10_000;

/// The entries of one chain's pool so far.
#[derive(Debug, Default)]
pub(super) struct PoolCount {
    /// Entries of a full page, if the server limits its lists.
    page: Option<u64>,
    pages: u64,
    entries: u64,
    payments: u64,
    /// Full hash of the last page's first entry.
    first: Option<String>,
}

impl PoolCount {
    /// Begins to count at a server whose lists have at most `page` entries.
    pub fn new(page: Option<u64>) -> Self {
        Self {
            page,
            ..Self::default()
        }
    }

    /// Returns the index of the first entry that was not counted yet.
    pub fn next(&self) -> u64 {
        self.entries
    }

    /// Returns the payments so far. The parent chain's list has the child blocks on offer too, which are no payments.
    pub fn payments(&self) -> u64 {
        self.payments
    }

    /// Takes in a page. Returns whether there may be another one.
    pub fn add(&mut self, list: &[Value]) -> Result<bool, Fault> {
        let Some(head) = list.first() else {
            return Ok(false);
        };
        // A server that does not know `firstIndex` answers with the first page again.
        let first = Some(read::text(head, "fullHash")?.to_owned());
        if self.first == first {
            return Ok(false);
        }
        self.first = first;
        self.pages += 1;
        self.entries += list.len() as u64;
        let payments = list.iter().filter(|one| !read::is_child_block(one));
        self.payments += payments.count() as u64;
        // A shorter list is the last one. A longer one comes from a server that does not limit its lists.
        if self.page != Some(list.len() as u64) {
            return Ok(false);
        }
        if self.pages >= PAGES_MAX || self.entries >= ENTRIES_MAX {
            let message = format!(
                "the list of unconfirmed transactions still has no end after {} entries on {} pages",
                self.entries, self.pages
            );
            return Err(fault(ENDLESS, message));
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::codes::MALFORMED;
    use serde_json::json;

    fn page(first: u64, entries: u64) -> Vec<Value> {
        (first..first + entries)
            .map(|number| json!({ "type": 0, "fullHash": format!("{number:064}") }))
            .collect()
    }

    #[test]
    fn pages_are_read_up_to_the_last_one() {
        let offer = json!({
            "type": -1, "fullHash": "offer", "attachment": { "childTransactionFullHashes": [] },
        });
        for (limit, pages, payments) in [
            (Some(2), vec![page(0, 2), page(2, 2), page(4, 1)], 5),
            (Some(2), vec![page(0, 2), vec![]], 2),
            // Without a limit there is one page. So it is if the server exceeds its own limit.
            (None, vec![page(0, 7)], 7),
            (Some(2), vec![page(0, 3)], 3),
            // The first page again.
            (Some(2), vec![page(0, 2), page(0, 2)], 2),
            (Some(2), vec![vec![offer, page(0, 1).remove(0)], vec![]], 1),
        ] {
            let mut count = PoolCount::new(limit);
            let last = pages.len() - 1;
            for (at, page) in pages.iter().enumerate() {
                assert_eq!(count.add(page), Ok(at < last), "{pages:?} {at}");
            }
            assert_eq!(count.payments(), payments, "{pages:?}");
        }
    }

    #[test]
    fn a_pool_without_an_end_is_refused() {
        for limit in [1, 100, 50_000] {
            let mut count = PoolCount::new(Some(limit));
            let fault = loop {
                match count.add(&page(count.next(), limit)) {
                    Ok(more) => assert!(more && count.next() <= ENTRIES_MAX, "{limit}"),
                    Err(fault) => break fault,
                }
            };
            assert_eq!(fault.code, ENDLESS, "{limit}");
        }
    }

    #[test]
    fn a_page_of_entries_without_a_hash_is_malformed() {
        let found = PoolCount::new(None).add(&[json!({ "type": 0 })]);
        assert_eq!(found.map_err(|fault| fault.code), Err(MALFORMED.to_owned()));
    }
}
