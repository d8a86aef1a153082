//! The deliveries that their receivers have not answered, in pages, as the store holds them.

use ledger::{PartyId, TxId};

use crate::pages::{after, row_page};
use crate::peers::read_back::decode_delivery;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::rows::peer_of;

/// Maximum length of the key of a page, in bytes: a peer and a number.
const KEY_BYTES: usize = 40;

/// A delivery that its receiver has not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnansweredDelivery {
    /// The receiver.
    pub peer: PartyId,
    /// The transaction.
    pub transaction: TxId,
    /// Size of the transaction in bytes, as it was when it was recorded.
    pub bytes: usize,
}

/// Deliveries in the order of their receivers, and for each of them in the order of recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnansweredPage {
    /// The deliveries.
    pub deliveries: Vec<UnansweredDelivery>,
    /// The key after which the next page begins. `None` on the last one.
    pub next: Option<[u8; KEY_BYTES]>,
}

/// Returns up to `limit` deliveries after the key of a page before.
///
/// # Errors
/// The store could not be read, or a row is damaged.
pub fn unanswered_page(
    reads: &dyn Reads,
    key: Option<&[u8; KEY_BYTES]>,
    limit: usize,
) -> Result<UnansweredPage, StoreFailure> {
    let from = key.map_or_else(Vec::new, |key| after(key));
    let page = row_page(reads, Table::Deliveries, from, None, limit, usize::MAX)?;
    let mut found = UnansweredPage::default();
    let mut last = None;
    for (key, value) in &page.rows {
        let whole: Option<&[u8; KEY_BYTES]> = key.as_slice().try_into().ok();
        let peer = whole.and_then(|key| peer_of(&key[..32]));
        let (Some(peer), Some((transaction, bytes))) = (peer, decode_delivery(value)) else {
            return Err(damaged("a row of a pending delivery does not decode"));
        };
        last = whole.copied();
        found.deliveries.push(UnansweredDelivery {
            peer,
            transaction,
            bytes,
        });
    }
    found.next = last.filter(|_| page.more);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use primitives::Hash;

    use super::*;
    use crate::fake_store::FakeStore;
    use crate::peers::links::Links;
    use crate::peers::read_back::encode_delivery;
    use crate::rows::peer_seq_key;
    use crate::writes::Batch;

    fn rows(batch: &mut Batch, peers: u8, of_each: u64) -> Vec<UnansweredDelivery> {
        let mut written = Vec::new();
        for peer in 0..peers {
            let peer = PartyId::from_hash(Hash::plain(&[peer]));
            for seq in 1..=of_each {
                let transaction = TxId::from_array([u8::try_from(seq).expect("few"); 32]);
                let row = encode_delivery(&transaction, 100);
                let key = peer_seq_key(&peer, seq);
                batch.of::<Links>().put(Table::Deliveries, key, row);
                written.push(UnansweredDelivery {
                    peer,
                    transaction,
                    bytes: 100,
                });
            }
        }
        written.sort_by_key(|row| (row.peer, row.transaction));
        written
    }

    #[test]
    fn pages_hold_every_row_once() {
        let mut store = FakeStore::default();
        let mut batch = Batch::default();
        let written = rows(&mut batch, 3, 7);
        store.apply(batch);
        for limit in [1, 2, 7, 20, 21, 22] {
            let (mut found, mut next) = (Vec::new(), None);
            loop {
                let page = unanswered_page(&store, next.as_ref(), limit).expect("sound rows");
                assert!(page.deliveries.len() <= limit);
                found.extend(page.deliveries);
                next = page.next;
                if next.is_none() {
                    break;
                }
            }
            assert_eq!(found, written, "{limit} in a page");
        }
    }

    #[test]
    fn a_damaged_row_is_an_error() {
        for (key, value) in [
            (&[1; 40][..], &[0xff; 3][..]),
            (&[1; 39], &[]),
            (&[1; 41], &[]),
        ] {
            let mut store = FakeStore::default();
            let mut batch = Batch::default();
            let (key, value) = (key.to_vec(), value.to_vec());
            batch.of::<Links>().put(Table::Deliveries, key, value);
            store.apply(batch);
            let failure = unanswered_page(&store, None, 10).expect_err("damaged");
            assert_eq!(failure.code, "store.damaged");
        }
    }
}
