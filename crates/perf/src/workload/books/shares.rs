//! The shared books of a load that several generators make: stores are dealt out, and the remains are joined again.

use std::collections::BTreeMap;

use super::SiteBooks;

/// The range of counter values of one generator.
const NUMBERS_EACH: u64 = 1 << 40;

impl SiteBooks {
    /// Deals the stores evenly to `count` generators. Their books are otherwise empty. Each generator gets a separate
    /// range of counter values.
    pub(crate) fn deal(&mut self, count: usize) -> Vec<SiteBooks> {
        let mut dealt: Vec<SiteBooks> = (0..count)
            .map(|at| SiteBooks {
                counts: self.counts.clone(),
                counts_from: self.counts_from + (at as u64 + 1) * NUMBERS_EACH,
                ..SiteBooks::default()
            })
            .collect();
        for (name, values) in std::mem::take(&mut self.stores) {
            for (at, value) in values.into_iter().enumerate() {
                let Some(one) = dealt.get_mut(at % count.max(1)) else {
                    continue;
                };
                one.stores.entry(name.clone()).or_default().push_back(value);
            }
        }
        dealt
    }

    /// Takes out all records since the last call. Stores stay.
    pub(crate) fn drain(&mut self) -> SiteBooks {
        SiteBooks {
            issued: std::mem::take(&mut self.issued),
            owed: std::mem::take(&mut self.owed),
            in_doubt: std::mem::take(&mut self.in_doubt),
            unknown: std::mem::take(&mut self.unknown),
            direct_states: std::mem::take(&mut self.direct_states),
            records: std::mem::take(&mut self.records),
            acknowledged: std::mem::take(&mut self.acknowledged),
            files: std::mem::take(&mut self.files),
            files_unnoted: std::mem::take(&mut self.files_unnoted),
            sample: self.sample,
            payments: self.payments.take(),
            ..SiteBooks::default()
        }
    }

    /// Keeps the stores and the counters only.
    pub(crate) fn only_stores(self) -> SiteBooks {
        SiteBooks {
            stores: self.stores,
            counts: self.counts,
            ..SiteBooks::default()
        }
    }

    /// Adds another generator's records, and puts its remaining values back into the stores. The times of payments become those that
    /// `at_ms` returns. Sums that do not fit are clipped: only a faulty generator reports them, and the audit finds the difference.
    pub(crate) fn join(&mut self, other: SiteBooks, at_ms: impl Fn(u64) -> u64) {
        self.payments.join(other.payments, at_ms);
        add_sums(&mut self.issued, other.issued);
        add_sums(&mut self.in_doubt, other.in_doubt);
        for (token, sum) in other.owed {
            self.took_out(token, sum);
        }
        self.unknown = self.unknown.saturating_add(other.unknown);
        self.direct_states = self.direct_states.saturating_add(other.direct_states);
        while self.sample.one_in() < other.sample.one_in() {
            self.thin_out();
        }
        for (participants, ids) in other.acknowledged {
            for id in ids {
                self.acknowledge(id, &participants);
            }
        }
        self.files_unnoted = self.files_unnoted.saturating_add(other.files_unnoted);
        for (hash, note) in other.files {
            let banks: Vec<u32> = note.banks.into_iter().collect();
            self.holds_file_named(hash, note.size, &banks);
        }
        for (name, values) in other.stores {
            self.stores.entry(name).or_default().extend(values);
        }
        for (name, count) in other.counts {
            let own = self.counts.entry(name).or_default();
            *own = (*own).max(count);
        }
    }

    /// Records that a generator died with this many units begun. Its last issues are unknown, so any further amount of
    /// every token that was issued is possible.
    pub(crate) fn lost(&mut self, units: u64) {
        // Clipped like the sums of `join`.
        self.unknown = self.unknown.saturating_add(units.max(1));
        for token in self.issued.keys() {
            let possible = self.in_doubt.entry(token.clone()).or_default();
            *possible = possible.saturating_add(u128::from(u64::MAX));
        }
    }
}

fn add_sums(to: &mut BTreeMap<String, u128>, from: BTreeMap<String, u128>) {
    for (token, more) in from {
        let sum = to.entry(token).or_default();
        *sum = sum.saturating_add(more);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Token;
    use super::*;
    use crate::chain::TxKey;
    use crate::chain::books::Accepted;
    use primitives::Hash;

    #[test]
    fn dealt_drained_and_joined_books_say_the_same() {
        let token = Token {
            symbol: "GBP".into(),
            issuer: "O=A, L=London, C=GB".into(),
        };
        let mut books = SiteBooks::default();
        for number in 0..7 {
            books.put("coins", number.into());
        }
        books.issued(&token, 5);
        let mut dealt = books.deal(2);
        assert_eq!(books.stored("coins"), 0);
        assert_eq!((dealt[0].stored("coins"), dealt[1].stored("coins")), (4, 3));
        assert_ne!(dealt[0].clone().count("x"), dealt[1].clone().count("x"));
        for (at, one) in dealt.iter_mut().enumerate() {
            one.issued(&token, 10);
            one.acknowledge(Hash::plain(&[at as u8]), &[0, 1]);
            one.take("coins");
            one.holds_file(Hash::plain(b"file"), 7, &[at as u32]);
            one.accepted(Accepted {
                key: TxKey([at as u8; 32]),
                due_ms: 10,
                node: 0,
            });
            books.join(one.drain(), |due_ms| due_ms + 1);
            one.redeemed(&token, 1);
            one.issued(&token, 1);
            one.unknown();
        }
        for mut one in dealt {
            books.join(one.drain(), |at| at);
            books.join(one.only_stores(), |at| at);
        }
        assert_eq!(books.in_circulation().values().sum::<u128>(), 25);
        assert_eq!(books.acknowledged()[&vec![0, 1]].len(), 2);
        assert_eq!((books.unknown_units(), books.stored("coins")), (2, 5));
        let held: Vec<usize> = books.files().map(|(_, note)| note.banks.len()).collect();
        assert_eq!(held, [2]);
        let (payments, _) = books.payments().kept();
        assert_eq!(payments.len() as u64, books.payments().total());
        let due: Vec<u64> = payments.iter().map(|payment| payment.due_ms).collect();
        assert_eq!(due, [11, 11]);
        books.lost(3);
        assert_eq!(books.unknown_units(), 5);
        assert_eq!(books.possibly().len(), 1);
    }
}
