//! Bounded and total decoding of messages.

use primitives::Hash;

use crate::block::{HEADER_BYTES, read_header};
use crate::{Header, Rejection, Transaction, TxId, transaction};

/// The rest of a message.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Splits the kind from the fields.
    pub(super) fn new(bytes: &'a [u8]) -> Result<(u8, Self), Rejection> {
        let (kind, rest) = bytes
            .split_first()
            .ok_or_else(|| malformed("an empty message"))?;
        Ok((*kind, Self { rest }))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn slice(&mut self, length: usize) -> Result<&'a [u8], Rejection> {
        let (slice, rest) = self.rest.split_at_checked(length).ok_or_else(|| {
            malformed(format!(
                "the message ends early: {} bytes are left, expected {length}",
                self.rest.len()
            ))
        })?;
        self.rest = rest;
        Ok(slice)
    }

    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N], Rejection> {
        let mut array = [0; N];
        array.copy_from_slice(self.slice(N)?);
        Ok(array)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Rejection> {
        Ok(u32::from_be_bytes(self.take()?))
    }

    pub(super) fn hash(&mut self) -> Result<Hash, Rejection> {
        Ok(Hash::from_bytes(self.take()?))
    }

    pub(super) fn header(&mut self) -> Result<Header, Rejection> {
        read_header(self.slice(HEADER_BYTES)?)
    }

    pub(super) fn transaction(&mut self) -> Result<Transaction, Rejection> {
        let (transaction, used) = transaction::read(self.rest)?;
        self.slice(used)?;
        Ok(transaction)
    }

    /// Decodes the number of items that have at least `bytes_each` bytes each.
    pub(super) fn count(&mut self, max: usize, bytes_each: usize) -> Result<usize, Rejection> {
        let count = self.u32()? as usize;
        if count > max {
            return Err(malformed(format!("{count} items, at most {max}")));
        }
        if count * bytes_each > self.rest.len() {
            return Err(malformed(format!(
                "{count} items do not fit into {} bytes",
                self.rest.len()
            )));
        }
        Ok(count)
    }

    /// Decodes hashes to the end of the message.
    pub(super) fn hashes(&mut self, max: usize) -> Result<Vec<Hash>, Rejection> {
        Ok(self
            .arrays(self.rest.len(), max)?
            .map(Hash::from_bytes)
            .collect())
    }

    /// Decodes ids to the end of the message, which must be ascending.
    pub(super) fn ids(&mut self, max: usize) -> Result<Vec<TxId>, Rejection> {
        let ids: Vec<TxId> = self.arrays(self.rest.len(), max)?.map(TxId).collect();
        ascending(ids)
    }

    /// Decodes a count and that many ids, which must be ascending.
    pub(super) fn counted_ids(&mut self, max: usize) -> Result<Vec<TxId>, Rejection> {
        let count = self.count(max, 32)?;
        let ids: Vec<TxId> = self.arrays(count * 32, max)?.map(TxId).collect();
        ascending(ids)
    }

    fn arrays(
        &mut self,
        length: usize,
        max: usize,
    ) -> Result<impl Iterator<Item = [u8; 32]> + use<'a>, Rejection> {
        if length > max * 32 {
            return Err(malformed(format!("{} items, at most {max}", length / 32)));
        }
        let (arrays, left) = self.slice(length)?.as_chunks::<32>();
        if !left.is_empty() {
            return Err(malformed("the last hash is cut off"));
        }
        Ok(arrays.iter().copied())
    }

    /// Checks that no bytes are left.
    pub(super) fn finish(self) -> Result<(), Rejection> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(malformed(format!(
                "{} bytes are left over",
                self.rest.len()
            )))
        }
    }
}

fn ascending(ids: Vec<TxId>) -> Result<Vec<TxId>, Rejection> {
    if ids.windows(2).all(|pair| pair[0] < pair[1]) {
        Ok(ids)
    } else {
        Err(malformed("the ids are not in ascending order"))
    }
}

pub(super) fn put_count(count: usize, out: &mut Vec<u8>) {
    // The lists written here are bounded when they are made. A list longer than 32 bits allow would not decode.
    out.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes());
}

pub(super) fn put_ids(ids: &[TxId], out: &mut Vec<u8>) {
    out.reserve(ids.len() * 32);
    for id in ids {
        out.extend_from_slice(&id.0);
    }
}

pub(super) fn malformed(detail: impl Into<String>) -> Rejection {
    Rejection::new("chain_message.malformed", detail)
}
