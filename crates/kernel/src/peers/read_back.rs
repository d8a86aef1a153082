//! Rows of messages and deliveries that are read back from the store, and the row of a delivery.

use ledger::{PartyId, TxId};
use primitives::{Decode, Decoder, Encode, Encoder};

/// Rows to be read back once a commit is durable.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReadBack {
    Outbox {
        peer: PartyId,
        after: u64,
        limit: usize,
    },
    Deliveries {
        peer: PartyId,
        after: u64,
        limit: usize,
    },
}

/// Encodes the row of a pending delivery.
pub(super) fn encode_delivery(id: &TxId, bytes: usize) -> Vec<u8> {
    let mut e = Encoder::new();
    e.array(2);
    id.encode(&mut e);
    e.u64(bytes as u64);
    e.into_bytes()
}

/// Decodes the row of a pending delivery: the transaction and its size in bytes.
pub(super) fn decode_delivery(value: &[u8]) -> Option<(TxId, usize)> {
    let mut d = Decoder::new(value);
    d.expect_array(2).ok()?;
    let id = TxId::decode(&mut d).ok()?;
    Some((id, usize::try_from(d.u64().ok()?).ok()?))
}
