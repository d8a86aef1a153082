//! The record of a site's work, which the audit compares with the network's own books.

pub(super) mod before;
mod by_participants;
mod shares;
mod sums;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use primitives::Hash;
use serde::{Deserialize, Serialize};

use crate::audit::{self, Sample};
use crate::chain::books::{Accepted, AcceptedPayments};
use before::Before;

/// Upper limit on acknowledged transactions that the books keep, each counted once for every participant. Above it, the
/// books drop half of the ids, by their first bits, and the audit ignores those from then on. The audit then uses about
/// 200 MB, however long the load was.
const RECORDS_MAX: u64 = 2_000_000;
/// Upper limit on the values of one store ([`SiteBooks::put`]).
const STORE_MAX: usize = 4_000_000;
/// Upper limit on files that the books keep. Further ones are counted.
const FILES_MAX: usize = 200_000;

/// A file that some banks have acknowledged to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileNote {
    /// Its bytes.
    pub size: u64,
    /// Positions of the banks.
    pub banks: BTreeSet<u32>,
}

/// A token that is issued in quantities.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Token {
    /// Such as `GBP`.
    pub symbol: String,
    /// The legal name of its issuer.
    pub issuer: String,
}

impl fmt::Display for Token {
    /// Writes the audit's name of the token. Issuers' references make no difference.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&audit::token_label(&self.symbol, &self.issuer))
    }
}

/// The books of a site. They are saved with a snapshot of the network and restored with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SiteBooks {
    #[serde(with = "sums")]
    issued: BTreeMap<String, u128>,
    /// Amounts redeemed beyond the issues in these books. Other generators of the same load have issued them.
    #[serde(with = "sums", default)]
    owed: BTreeMap<String, u128>,
    #[serde(with = "sums")]
    in_doubt: BTreeMap<String, u128>,
    unknown: u64,
    /// States consumed by transactions that were notarised directly.
    #[serde(default)]
    direct_states: u64,
    sample: Sample,
    records: u64,
    #[serde(with = "by_participants")]
    acknowledged: BTreeMap<Vec<u32>, Vec<Hash>>,
    stores: BTreeMap<String, VecDeque<serde_json::Value>>,
    counts: BTreeMap<String, u64>,
    counts_from: u64,
    /// By hash, as text.
    #[serde(default)]
    files: BTreeMap<String, FileNote>,
    /// Number of files beyond the limit.
    #[serde(default)]
    files_unnoted: u64,
    /// Accepted by nodes of a chain.
    #[serde(default, skip_serializing_if = "AcceptedPayments::is_empty")]
    payments: AcceptedPayments,
    before: Option<Before>,
}

impl SiteBooks {
    /// Records an issue.
    pub(super) fn issued(&mut self, token: &Token, quantity: u64) {
        add(&mut self.issued, token, quantity);
    }

    /// Records an issue of unknown outcome.
    pub(super) fn in_doubt(&mut self, token: &Token, quantity: u64) {
        add(&mut self.in_doubt, token, quantity);
    }

    /// Records an exit from the ledger.
    pub(super) fn redeemed(&mut self, token: &Token, quantity: u64) {
        self.took_out(token.to_string(), u128::from(quantity));
    }

    fn took_out(&mut self, token: String, quantity: u128) {
        let sum = self.issued.entry(token.clone()).or_default();
        match sum.checked_sub(quantity) {
            Some(left) => *sum = left,
            None => {
                let owed = quantity - std::mem::take(sum);
                *self.owed.entry(token).or_default() += owed;
            }
        }
    }

    /// Records a transaction that all of these banks (by position) have recorded.
    pub(super) fn acknowledge(&mut self, id: Hash, participants: &[u32]) {
        if !self.sample.has(&id) {
            return;
        }
        match self.acknowledged.get_mut(participants) {
            Some(ids) => ids.push(id),
            None => {
                self.acknowledged.insert(participants.to_vec(), vec![id]);
            }
        }
        self.records += participants.len() as u64;
        while self.records > RECORDS_MAX {
            self.thin_out();
        }
    }

    /// Drops every second id.
    fn thin_out(&mut self) {
        self.sample = self.sample.halved();
        self.records = 0;
        for (participants, ids) in &mut self.acknowledged {
            ids.retain(|id| self.sample.has(id));
            ids.shrink_to_fit();
            self.records += (participants.len() * ids.len()) as u64;
        }
    }

    /// Records a file that all of these banks hold.
    pub(super) fn holds_file(&mut self, hash: Hash, size: u64, banks: &[u32]) {
        self.holds_file_named(hash.to_string(), size, banks);
    }

    fn holds_file_named(&mut self, hash: String, size: u64, banks: &[u32]) {
        if self.files.len() >= FILES_MAX && !self.files.contains_key(&hash) {
            self.files_unnoted += 1;
            return;
        }
        let note = self.files.entry(hash).or_default();
        note.size = size;
        note.banks.extend(banks);
    }

    /// Records a payment that a node of a chain has accepted.
    pub(super) fn accepted(&mut self, payment: Accepted) {
        self.payments.accept(payment);
    }

    /// Records a transaction without a node that the notary has signed.
    pub(super) fn notarised(&mut self, states: u64) {
        self.direct_states += states;
    }

    /// Records a unit of unknown outcome.
    pub(super) fn unknown(&mut self) {
        self.unknown += 1;
    }

    /// Puts a value into a store. Returns false, and drops the value, if the store is full.
    pub(super) fn put(&mut self, store: &str, value: serde_json::Value) -> bool {
        let store = self.stores.entry(store.to_owned()).or_default();
        let room = store.len() < STORE_MAX;
        if room {
            store.push_back(value);
        }
        room
    }

    pub(super) fn take(&mut self, store: &str) -> Option<serde_json::Value> {
        self.stores.get_mut(store)?.pop_front()
    }

    pub(super) fn stored(&self, store: &str) -> usize {
        self.stores.get(store).map_or(0, VecDeque::len)
    }

    /// Begins work on an existing network. `mark` is a number that earlier work on it most likely did not use.
    pub(super) fn begin(&mut self, before: Before, mark: u64) {
        self.before = Some(before);
        self.counts_from = mark;
    }

    pub(super) fn count(&mut self, name: &str) -> u64 {
        let count = self.counts.entry(name.to_owned()).or_default();
        let number = self.counts_from + *count;
        *count += 1;
        number
    }

    /// Returns its state when the work began; `None` for a network that was brought up for it.
    pub(super) fn before(&self) -> Option<&Before> {
        self.before.as_ref()
    }

    /// Returns the sums that must exist, by token.
    pub fn in_circulation(&self) -> &BTreeMap<String, u128> {
        &self.issued
    }

    /// Returns the further sums that may exist, by token.
    pub fn possibly(&self) -> &BTreeMap<String, u128> {
        &self.in_doubt
    }

    /// Returns the number of states consumed by transactions that were notarised directly.
    pub fn direct_states(&self) -> u64 {
        self.direct_states
    }

    /// Returns the number of units that failed without a known outcome.
    pub fn unknown_units(&self) -> u64 {
        self.unknown
    }

    /// Returns the sample of ids that the books keep.
    pub fn sample(&self) -> Sample {
        self.sample
    }

    /// Returns the files that banks must hold, by hash.
    pub fn files(&self) -> impl Iterator<Item = (&str, &FileNote)> {
        self.files.iter().map(|(hash, note)| (hash.as_str(), note))
    }

    /// Returns the payments that nodes of a chain have accepted.
    pub fn payments(&self) -> &AcceptedPayments {
        &self.payments
    }

    /// Returns the number of files above the limit.
    pub fn files_unnoted(&self) -> u64 {
        self.files_unnoted
    }

    /// Returns acknowledged ids by participants.
    pub fn acknowledged(&self) -> &BTreeMap<Vec<u32>, Vec<Hash>> {
        &self.acknowledged
    }
}

fn add(sums: &mut BTreeMap<String, u128>, token: &Token, quantity: u64) {
    *sums.entry(token.to_string()).or_default() += u128::from(quantity);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> Hash {
        Hash::plain(&number.to_be_bytes())
    }

    fn token() -> Token {
        Token {
            symbol: "GBP".into(),
            issuer: "O=Bank A, L=London, C=GB".into(),
        }
    }

    #[test]
    fn books_are_the_same_after_saving_and_restoring() {
        let mut books = SiteBooks::default();
        for _ in 0..3 {
            books.issued(&token(), u64::MAX);
        }
        books.redeemed(&token(), 1);
        books.in_doubt(&token(), 7);
        books.unknown();
        for number in 0..10 {
            books.acknowledge(id(number), if number < 5 { &[0] } else { &[0, 1] });
        }
        for bank in [0, 1] {
            books.holds_file(id(1), 5, &[bank]);
        }
        let both = FileNote {
            size: 5,
            banks: [0, 1].into(),
        };
        assert_eq!(books.files().next().map(|(_, note)| note), Some(&both));
        assert!(books.put("coins", serde_json::json!({ "tx": "ab", "index": 1 })));
        let text = serde_json::to_string(&books).expect("JSON");
        let mut restored: SiteBooks = serde_json::from_str(&text).expect("the same");
        assert_eq!(restored, books);
        let sum = restored.in_circulation()["GBP of O=Bank A, L=London, C=GB"];
        assert_eq!(sum, 3 * u128::from(u64::MAX) - 1);
        assert_eq!(restored.stored("coins"), 1);
        assert!(restored.take("coins").is_some() && restored.take("coins").is_none());
    }

    #[test]
    fn the_books_of_a_long_load_are_bounded_and_say_which_part_they_keep() {
        let mut books = SiteBooks::default();
        let units = 2 * RECORDS_MAX;
        for number in 0..units {
            books.acknowledge(id(number), &[0, 1]);
        }
        assert!(books.records <= RECORDS_MAX);
        let kept = books.acknowledged()[&vec![0, 1]].len() as u64;
        assert_eq!(2 * kept, books.records);
        // Four times the limit: a quarter remains, or an eighth if that is slightly too much.
        assert!([4, 8].contains(&books.sample().one_in()));
        let expected = units / books.sample().one_in();
        assert!(kept.abs_diff(expected) < expected / 50, "{kept} of {units}");
    }
}
