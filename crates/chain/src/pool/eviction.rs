//! Room in a full pool: the transactions that must leave for a new one.

use std::collections::BTreeMap;

use super::entry::Turn;
use super::{FeeRate, Pool};
use crate::{Carried, ChainId, MinorUnits, Rejection};

impl Pool {
    /// Returns the transactions that must leave for this one. Empty while there is room.
    ///
    /// Fees of different tokens cannot be compared. The chain that uses the most room, including the new transaction, therefore
    /// gives room: its parked transactions first, then its lowest fee rates. If that is the new transaction's own chain, the
    /// transaction must have a better turn than each ready one that leaves: a higher fee rate, or an earlier place at the same
    /// rate.
    pub(super) fn evictions_for(
        &self,
        carried: &Carried,
        turn: Turn,
    ) -> Result<Vec<u32>, Rejection> {
        let own = carried.transaction.chain;
        let length = carried.bytes as usize;
        let mut victims = Vec::new();
        let (mut transactions, mut bytes) = (self.transactions + 1, self.bytes + length);
        // For each chain, the number of leaving transactions and their bytes.
        let mut leaving: BTreeMap<ChainId, (usize, usize)> = BTreeMap::new();
        while transactions > self.settings.transactions_max || bytes > self.settings.bytes_max {
            let size = |chain: &ChainId| {
                let held = self.lanes.get(chain).map_or(0, |lane| lane.bytes);
                let gone = leaving.get(chain).map_or(0, |(_, bytes)| *bytes);
                held - gone + if *chain == own { length } else { 0 }
            };
            let largest = self
                .lanes
                .keys()
                .max_by_key(|chain| (size(chain), **chain == own))
                .copied();
            // A chain without an entry loses nothing yet.
            let (gone, gone_bytes) = largest
                .and_then(|chain| leaving.get(&chain).copied())
                .unwrap_or_default();
            let victim = largest
                .and_then(|chain| self.lanes.get(&chain)?.worst().nth(gone))
                .map(|slot| (slot, self.slots.get(slot)));
            match (largest, victim) {
                (Some(chain), Some((slot, entry)))
                    if chain != own || entry.parked || entry.turn > turn =>
                {
                    let freed = entry.carried.bytes as usize;
                    leaving.insert(chain, (gone + 1, gone_bytes + freed));
                    transactions -= 1;
                    bytes -= freed;
                    victims.push(slot);
                }
                (_, victim) => {
                    return Err(self.full(carried, victim.map(|(_, entry)| entry.turn.rate())));
                }
            }
        }
        Ok(victims)
    }

    fn full(&self, carried: &Carried, least: Option<FeeRate>) -> Rejection {
        let held = format!(
            "{} transactions, {} bytes, are waiting",
            self.transactions, self.bytes
        );
        let detail = match least {
            Some(rate) => format!(
                "{held}; the fee rate is {} minor units per 1000 bytes, the lowest of the waiting ones is {rate}; a fee of {} would be accepted",
                FeeRate::of(carried.transaction.fee, carried.bytes),
                // A fee beyond 64 bits is one that no account can pay.
                rate.fee_above(carried.bytes)
                    .unwrap_or(MinorUnits::MAX)
                    .on(carried.transaction.chain)
            ),
            None => held,
        };
        Rejection::new("chain_pool.full", detail)
    }

    pub(super) fn evict(&mut self, victims: Vec<u32>) {
        for slot in victims {
            let reason = if self.slots.get(slot).parked {
                "chain_pool.insufficient_balance"
            } else {
                "chain_pool.evicted"
            };
            self.leave(slot, reason);
        }
    }
}
