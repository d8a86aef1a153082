//! The audit of a site: compares all books, read through the public API, with the site's own.
//!
//! A site may be audited any number of times. An audit's memory is bounded. If there are too many transactions, it checks
//! a sample of them one by one (all whose ids begin with a number of zero bits, the same ones everywhere), and still sums
//! up every state. Its report contains the size of the sample.

use std::collections::{BTreeMap, HashSet};
use std::time::SystemTime;

use primitives::Hash;

use super::Site;
use super::attachments::check_files;
use super::books::SiteBooks;
use super::books::before::Before;
use super::site::{SiteError, SiteNode};
use crate::audit::{self, Acknowledged, Books, CollectError, NodeBooks, Sample, Verdict};

/// Approximate upper limit on transactions and states of all banks that an audit keeps.
const ENTRIES_MAX: u64 = 4_000_000;

impl Site {
    /// Notes the state of the network before the first unit. It is for an existing network, which has a past, other
    /// members or other work. The audit then judges only the effects of this site's work from here on. Unknown
    /// transactions are no findings, and sums are compared for the tokens that the work issues. No other party should
    /// issue or pay those tokens meanwhile.
    pub async fn begin_among_others(&self) -> Result<(), SiteError> {
        let mut before = Before::default();
        for node in &self.banks {
            let failed = |source| SiteError::Client {
                name: node.name().to_owned(),
                source,
            };
            let health = node.client().health().await.map_err(failed)?;
            before.positions.push(health.ledger_seq);
            let balances = node.client().balances().await.map_err(failed)?;
            for balance in balances.balances {
                let token = audit::token_label(&balance.symbol, &balance.issuer);
                let malformed = |error| CollectError::Malformed {
                    name: node.name().to_owned(),
                    what: format!("a balance of {:?}: {error}", balance.quantity),
                };
                let quantity: u128 = balance.quantity.parse().map_err(malformed)?;
                *before.sums.entry(token).or_default() += quantity;
            }
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let mark = now.map_or(0, |now| u64::from(now.subsec_micros()));
        self.lock().begin(before, mark);
        Ok(())
    }

    /// Reads all books and judges them, at most `read_max` transactions in full. The load must have come to rest, and the
    /// views must have caught up.
    pub async fn audit(&self, read_max: u32) -> Result<Verdict, SiteError> {
        let own = self.books();
        let sample = own.sample().max(self.affordable(&own).await?);
        let mut books = expected(&own, sample);
        for (at, node) in self.banks.iter().enumerate() {
            let after = own.before().and_then(|before| before.positions.get(at));
            let read = audit::node_books(node.name(), node.client(), sample, after.copied());
            books.nodes.push(read.await?);
        }
        if let Some(notary) = &self.notary {
            let read = audit::consumed(notary.name(), notary.client(), sample).await?;
            (books.consumed, books.consumed_count) = (Some(read.0), read.1);
        }
        for (reader, ids) in shared_out(&self.banks, &books.nodes, read_max) {
            let spends = audit::spends(reader.name(), reader.client(), &ids).await?;
            books.spends.extend(spends);
        }
        let mut verdict = audit::judge(&books);
        let files = check_files(self, &mut verdict).await;
        files.map_err(SiteError::Files)?;
        Ok(verdict)
    }

    /// Returns the largest sample that fits into memory.
    async fn affordable(&self, own: &SiteBooks) -> Result<Sample, SiteError> {
        let before = own.before();
        let mut entries = own.direct_states();
        for (at, node) in self.banks.iter().enumerate() {
            let failed = |source| SiteError::Client {
                name: node.name().to_owned(),
                source,
            };
            let health = node.client().health().await.map_err(failed)?;
            let from = before.and_then(|before| before.positions.get(at));
            // A ledger begins at 0. One that has lost its end has nothing to read; the audit finds what is missing.
            let recorded = health.ledger_seq.saturating_sub(from.copied().unwrap_or(0));
            let balances = node.client().balances().await.map_err(failed)?;
            let states: u64 = balances.balances.iter().map(|balance| balance.states).sum();
            // Clipped: far fewer entries already lead to the smallest sample.
            entries = entries.saturating_add(recorded).saturating_add(states);
        }
        Ok(Sample::of_at_most(ENTRIES_MAX, entries))
    }
}

/// Returns the books expected according to the site's own.
fn expected(own: &SiteBooks, sample: Sample) -> Books {
    let mut books = Books {
        in_circulation: own.in_circulation().clone(),
        in_doubt: own.possibly().clone(),
        whole: own.before().is_none(),
        nothing_else_ran: own.before().is_none() && own.unknown_units() == 0,
        sample,
        direct_states: own.direct_states(),
        ..Books::default()
    };
    if let Some(before) = own.before() {
        for (token, sum) in &mut books.in_circulation {
            *sum += before.sums.get(token).copied().unwrap_or_default();
        }
    }
    for (participants, ids) in own.acknowledged() {
        let positions: Vec<usize> = participants.iter().map(|at| *at as usize).collect();
        let kept = ids.iter().filter(|id| sample.has(id));
        books.acknowledged.extend(kept.map(|id| Acknowledged {
            transactions: vec![*id],
            participants: positions.clone(),
        }));
    }
    books
}

/// Chooses the transactions to read in full, evenly over all, each at one bank that has it. Payees are asked first, since
/// their copy is independent of the payer's.
fn shared_out<'a>(
    banks: &'a [SiteNode],
    nodes: &[NodeBooks],
    read_max: u32,
) -> Vec<(&'a SiteNode, Vec<Hash>)> {
    let mut seen: HashSet<Hash> = HashSet::new();
    let mut all: Vec<(usize, Hash)> = Vec::new();
    for (at, node) in nodes.iter().enumerate().rev() {
        let new = node.ledger.iter().filter(|id| seen.insert(**id));
        all.extend(new.map(|id| (at, *id)));
    }
    if read_max == 0 {
        return Vec::new();
    }
    let step = all.len().div_ceil(read_max as usize).max(1);
    let mut by_reader: BTreeMap<usize, Vec<Hash>> = BTreeMap::new();
    for (at, id) in all.into_iter().step_by(step) {
        by_reader.entry(at).or_default().push(id);
    }
    let readers = by_reader.into_iter();
    readers
        .filter_map(|(at, ids)| banks.get(at).map(|node| (node, ids)))
        .collect()
}
