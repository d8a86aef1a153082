//! Evidence of equivocation: pairs of signed headers by one forger on one parent, in bounded space.
//!
//! Each forger has a share, and its newer evidence replaces its older evidence. When the whole space is used, the forger with the
//! most evidence loses its oldest. The last evidence against a forger is never dropped for another forger, so no attacker can
//! erase it.

use std::collections::{BTreeMap, BTreeSet};

use primitives::{Hash, SignatureChecker};

use crate::block::{HEADER_BYTES, read_header};
use crate::core::limits::{EQUIVOCATIONS_MAX, EQUIVOCATIONS_PER_FORGER_MAX};
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::state::Overlay;
use crate::{BlockTimestamp, Header, Height, Rejection};

/// Key prefix in `Meta`, followed by forger, height and parent, for both headers of an equivocation.
const EVIDENCE: &[u8] = b"equivocation";
/// Length of the result of [`Equivocation::cursor`]: forger, height and parent.
pub const EVIDENCE_CURSOR_BYTES: usize = 32 + 4 + 32;

/// Two signed headers by one forger on one parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equivocation {
    /// The time at which this node noticed it.
    pub noticed: BlockTimestamp,
    /// The header that this node saw first.
    pub first: Header,
    /// The other header.
    pub second: Header,
}

impl Equivocation {
    /// Returns whether two headers are rivals: by one forger, on one parent, at one height, with different contents.
    #[must_use]
    pub fn are_rivals(one: &Header, other: &Header) -> bool {
        let unsigned = |header: &Header| header.to_bytes()[..HEADER_BYTES - 64].to_vec();
        one.forger == other.forger
            && one.previous == other.previous
            && one.height == other.height
            && unsigned(one) != unsigned(other)
    }

    /// Checks that the headers are rivals and that both signatures are valid for the network with this genesis hash.
    ///
    /// # Errors
    /// `chain_block.equivocation_unproved`, with the reason.
    pub fn verify(&self, genesis: &Hash) -> Result<(), Rejection> {
        let no = |detail: &str| {
            let detail = format!("block {}: {detail}", self.first.height);
            Err(Rejection::new("chain_block.equivocation_unproved", detail))
        };
        if !Self::are_rivals(&self.first, &self.second) {
            return no("the headers are not two different ones by one forger on one parent");
        }
        let signed =
            [&self.first, &self.second].map(|header| header.signed_message(header.hash(genesis)));
        if SignatureChecker::new()
            .check_batch(&signed)
            .contains(&false)
        {
            return no("a signature is not valid");
        }
        Ok(())
    }

    /// Returns the key of this evidence without its prefix: forger, height and parent. [`equivocations`] takes it as the position to
    /// continue after.
    #[must_use]
    pub fn cursor(&self) -> [u8; EVIDENCE_CURSOR_BYTES] {
        let mut cursor = [0; EVIDENCE_CURSOR_BYTES];
        cursor[..32].copy_from_slice(&self.first.forger);
        cursor[32..36].copy_from_slice(&self.first.height.to_be_bytes());
        cursor[36..].copy_from_slice(self.first.previous.as_bytes());
        cursor
    }

    fn key(&self) -> Vec<u8> {
        [EVIDENCE, &self.cursor()].concat()
    }

    fn value(&self) -> Vec<u8> {
        let (first, second) = (self.first.to_bytes(), self.second.to_bytes());
        [&self.noticed.to_be_bytes()[..], &first, &second].concat()
    }

    fn read(value: &[u8]) -> Result<Self, StoreFailure> {
        let wrong = || damaged("a row with evidence of an equivocation does not decode");
        let (noticed, headers) = value.split_first_chunk::<4>().ok_or_else(wrong)?;
        let (first, second) = headers.split_at_checked(HEADER_BYTES).ok_or_else(wrong)?;
        let header = |bytes: &[u8]| read_header(bytes).map_err(|_| wrong());
        Ok(Self {
            noticed: BlockTimestamp::from_be_bytes(*noticed),
            first: header(first)?,
            second: header(second)?,
        })
    }
}

/// Reads kept evidence by forger and height, at most `max` rows after a cursor.
///
/// # Errors
/// The store fails, or a row does not decode.
pub fn equivocations(
    reads: &impl Reads<Table>,
    after: Option<&[u8; EVIDENCE_CURSOR_BYTES]>,
    max: usize,
) -> Result<Vec<Equivocation>, StoreFailure> {
    let from = match after {
        Some(cursor) => [EVIDENCE, cursor, &[0]].concat(),
        None => EVIDENCE.to_vec(),
    };
    let to = [EVIDENCE, &[u8::MAX; EVIDENCE_CURSOR_BYTES + 1]].concat();
    let max = max.min(EQUIVOCATIONS_MAX);
    let rows = reads.scan(Table::Meta, &from, Some(&to), max)?;
    rows.iter()
        .map(|(_, value)| Equivocation::read(value))
        .collect()
}

/// The height and the parent of an equivocation. The lowest is dropped first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EquivocationParent {
    height: Height,
    previous: Hash,
}

impl EquivocationParent {
    fn of(header: &Header) -> Self {
        Self {
            height: header.height,
            previous: header.previous,
        }
    }

    fn key(&self, forger: &[u8; 32]) -> Vec<u8> {
        let height = self.height.to_be_bytes();
        let parts: [&[u8]; 4] = [EVIDENCE, forger, &height, self.previous.as_bytes()];
        parts.concat()
    }
}

/// The index of the kept evidence.
#[derive(Debug, Default)]
pub(in crate::core) struct Evidence {
    kept: BTreeMap<[u8; 32], BTreeSet<EquivocationParent>>,
    count: usize,
}

impl Evidence {
    /// Reads the index from a store.
    pub(in crate::core) fn open<R: Reads<Table>>(rows: &Overlay<R>) -> Result<Self, StoreFailure> {
        let mut evidence = Self::default();
        for found in equivocations(rows, None, EQUIVOCATIONS_MAX)? {
            evidence.enter(found.first.forger, EquivocationParent::of(&found.first));
        }
        Ok(evidence)
    }

    fn enter(&mut self, forger: [u8; 32], parent: EquivocationParent) {
        if self.kept.entry(forger).or_default().insert(parent) {
            self.count += 1;
        }
    }

    /// Returns the number of rows.
    pub(in crate::core) fn count(&self) -> usize {
        self.count
    }

    /// Returns whether there is evidence against the header's forger on the header's parent.
    pub(in crate::core) fn has(&self, header: &Header) -> bool {
        let parents = self.kept.get(&header.forger);
        parents.is_some_and(|parents| parents.contains(&EquivocationParent::of(header)))
    }

    /// Keeps evidence with checked signatures. Returns false if it is known or there is no room for it.
    pub(in crate::core) fn keep<R: Reads<Table>>(
        &mut self,
        rows: &mut Overlay<R>,
        found: &Equivocation,
    ) -> bool {
        let forger = found.first.forger;
        if self.has(&found.first) || !self.make_room(rows, &forger) {
            return false;
        }
        self.enter(forger, EquivocationParent::of(&found.first));
        rows.put(Table::Meta, found.key(), found.value());
        assert!(self.count <= EQUIVOCATIONS_MAX, "{}", self.count);
        true
    }

    /// Drops the oldest evidence of a forger: of this one if its share is used up, otherwise of the one with the most. Returns
    /// false if no forger has more than one row.
    fn make_room<R: Reads<Table>>(&mut self, rows: &mut Overlay<R>, forger: &[u8; 32]) -> bool {
        let own = self.kept.get(forger).map_or(0, BTreeSet::len);
        let giver = if own >= EQUIVOCATIONS_PER_FORGER_MAX {
            *forger
        } else if self.count < EQUIVOCATIONS_MAX {
            return true;
        } else {
            let most = self
                .kept
                .iter()
                .max_by_key(|(key, parents)| (parents.len(), *key == forger));
            match most {
                Some((key, parents)) if parents.len() > 1 => *key,
                _ => return false,
            }
        };
        let Some(oldest) = self.kept.get_mut(&giver).and_then(BTreeSet::pop_first) else {
            return false;
        };
        self.count -= 1;
        rows.delete(Table::Meta, oldest.key(&giver));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::genesis::small_genesis;
    use crate::state::MemoryStore;

    fn rows() -> Overlay<MemoryStore> {
        Overlay::open(MemoryStore::new(), &small_genesis()).expect("an empty store")
    }

    fn found(forger: u32, height: Height) -> Equivocation {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&forger.to_be_bytes());
        let header = |time| Header {
            height,
            time: BlockTimestamp::new(time),
            previous: Hash::plain(&height.to_be_bytes()),
            forger: key,
            generation: Hash::ZERO,
            base_target: crate::pos::BaseTarget::new(1),
            difficulty: 1,
            parent_count: 0,
            child_count: 0,
            body_bytes: 0,
            root: Hash::ZERO,
            signature: [0; 64],
        };
        Equivocation {
            noticed: BlockTimestamp::new(7),
            first: header(1),
            second: header(2),
        }
    }

    fn heights(rows: &Overlay<MemoryStore>, forger: u32) -> Vec<u32> {
        let key = found(forger, Height::new(1)).first.forger;
        let all = equivocations(rows, None, EQUIVOCATIONS_MAX).expect("rows");
        let of_forger = all.iter().filter(|one| one.first.forger == key);
        of_forger.map(|one| one.first.height.get()).collect()
    }

    #[test]
    fn a_forger_fills_its_own_share_only() {
        let (mut rows, mut evidence) = (rows(), Evidence::default());
        assert!(evidence.keep(&mut rows, &found(1, Height::new(5))));
        assert!(
            !evidence.keep(&mut rows, &found(1, Height::new(5))),
            "known"
        );
        let share = EQUIVOCATIONS_PER_FORGER_MAX as u32;
        for height in 1..=share + 3 {
            assert!(evidence.keep(&mut rows, &found(2, Height::new(height))));
        }
        assert_eq!(heights(&rows, 1), [5]);
        assert_eq!(heights(&rows, 2), (4..=share + 3).collect::<Vec<_>>());
        assert_eq!(evidence.count(), 1 + EQUIVOCATIONS_PER_FORGER_MAX);
        let again = Evidence::open(&rows).expect("rows");
        assert_eq!(again.count(), evidence.count());
        assert!(again.has(&found(1, Height::new(5)).second));
        let all = equivocations(&rows, None, 100).expect("rows");
        let rest = equivocations(&rows, Some(&all[2].cursor()), 4).expect("rows");
        assert_eq!(rest, all[3..7], "a page");
    }

    #[test]
    fn many_forgers_erase_no_last_evidence() {
        let (mut rows, mut evidence) = (rows(), Evidence::default());
        let all = EQUIVOCATIONS_MAX as u32;
        for height in 1..=4 {
            assert!(evidence.keep(&mut rows, &found(0, Height::new(height))));
        }
        for forger in 1..=all - 4 {
            assert!(
                evidence.keep(&mut rows, &found(forger, Height::new(9))),
                "{forger}"
            );
        }
        // The forger with the most evidence loses rows, down to its last one.
        for forger in all..all + 3 {
            assert!(
                evidence.keep(&mut rows, &found(forger, Height::new(9))),
                "{forger}"
            );
        }
        assert_eq!(heights(&rows, 0), [4]);
        assert!(!evidence.keep(&mut rows, &found(all + 3, Height::new(9))));
        assert!(!evidence.keep(&mut rows, &found(1, Height::new(10))));
        assert_eq!(evidence.count(), EQUIVOCATIONS_MAX);
        assert_eq!(heights(&rows, 1), [9]);
    }
}
