//! Queries of the rows, durable or not, for the API and for other peers.

use super::rows::{self, HeaderRow, Place};
use crate::block::Header;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::transaction::{self, EXTENSION_BYTES_MAX, PAYMENT_BYTES, Transaction};
use crate::{AccountId, ChainId, Height, MinorUnits, TxId};
use primitives::Hash;

/// Maximum length of one transaction, in bytes.
const TRANSACTION_BYTES_MAX: usize = PAYMENT_BYTES + 2 + EXTENSION_BYTES_MAX;

/// Returns whether a store has no chain yet, not even the genesis. A store that has lost these rows and still has blocks is not new.
pub fn is_new(reads: &impl Reads<Table>) -> Result<bool, StoreFailure> {
    let has = |key| Ok(reads.get(Table::Meta, key)?.is_some());
    let blocks = reads.scan(Table::Headers, &[], None, 1)?;
    Ok(!has(rows::META_GENESIS)? && !has(rows::META_TIP)? && blocks.is_empty())
}

/// Returns the height and the hash of the last block.
pub fn tip(reads: &impl Reads<Table>) -> Result<(Height, Hash), StoreFailure> {
    let value = reads.get(Table::Meta, rows::META_TIP)?;
    let value = value.ok_or_else(|| damaged("the row of the tip is missing"))?;
    rows::read_tip(&value)
}

/// Returns the header at a height above genesis.
pub fn header(
    reads: &impl Reads<Table>,
    height: Height,
) -> Result<Option<HeaderRow>, StoreFailure> {
    let value = reads.get(Table::Headers, &height.to_be_bytes())?;
    let row = value.map(|value| HeaderRow::read(&value)).transpose()?;
    match row {
        Some(row) if row.header.height != height => {
            Err(damaged("a header is stored at a wrong height"))
        }
        row => Ok(row),
    }
}

/// Returns at most `max` headers from the height `from` on, ascending.
pub fn headers(
    reads: &impl Reads<Table>,
    from: Height,
    max: usize,
) -> Result<Vec<HeaderRow>, StoreFailure> {
    let found = reads.scan(Table::Headers, &from.to_be_bytes(), None, max)?;
    found
        .into_iter()
        .map(|(_, value)| HeaderRow::read(&value))
        .collect()
}

/// Returns the height of a block of the main branch, including genesis.
pub fn height_of(reads: &impl Reads<Table>, hash: &Hash) -> Result<Option<Height>, StoreFailure> {
    let value = reads.get(Table::ByHash, hash.as_bytes())?;
    value.map(|value| rows::read_height(&value)).transpose()
}

/// Returns the encoded body of a block, or `None` if it has been pruned.
pub fn body_bytes(
    reads: &impl Reads<Table>,
    header: &Header,
) -> Result<Option<Vec<u8>>, StoreFailure> {
    let length = header.body_bytes as usize;
    if length == 0 {
        return Ok(Some(Vec::new()));
    }
    let found = pieces(reads, header.height, 0, length.div_ceil(rows::PIECE_BYTES))?;
    match found.len() {
        0 => Ok(None),
        found_bytes if found_bytes == length => Ok(Some(found)),
        found_bytes => Err(damaged(format!(
            "the store has {found_bytes} of {length} body bytes of block {}",
            header.height
        ))),
    }
}

/// Returns the available pieces of a body in sequence, at most `count`.
fn pieces(
    reads: &impl Reads<Table>,
    height: Height,
    first: u16,
    count: usize,
) -> Result<Vec<u8>, StoreFailure> {
    let from = rows::body_key(height, first);
    let to = [&rows::body_key(height, u16::MAX)[..], &[0]].concat();
    let found = reads.scan(Table::Bodies, &from, Some(&to), count)?;
    let pieces: Vec<Vec<u8>> = found.into_iter().map(|(_, value)| value).collect();
    Ok(pieces.concat())
}

/// Returns the place of a transaction.
pub fn place_of(reads: &impl Reads<Table>, id: &TxId) -> Result<Option<Place>, StoreFailure> {
    let value = reads.get(Table::TxIndex, &id.0)?;
    value.map(|value| Place::read(&value)).transpose()
}

/// Returns the transaction at a place, or `None` if the body has been pruned.
pub fn transaction_at(
    reads: &impl Reads<Table>,
    place: Place,
) -> Result<Option<Transaction>, StoreFailure> {
    TransactionReader::new(reads).at(place)
}

/// Reads transactions at places. It keeps the last piece, so ascending places read each piece of a body once.
#[derive(Debug)]
pub struct TransactionReader<'a, R> {
    reads: &'a R,
    height: Height,
    first: u16,
    /// One or two pieces. Empty before the first read.
    bytes: Vec<u8>,
    bytes_read: usize,
}

impl<'a, R: Reads<Table>> TransactionReader<'a, R> {
    /// Returns a reader that has read no piece yet.
    pub fn new(reads: &'a R) -> Self {
        Self {
            reads,
            height: Height::GENESIS,
            first: 0,
            bytes: Vec::new(),
            bytes_read: 0,
        }
    }

    /// Returns the number of body bytes that it has read.
    #[must_use]
    pub fn bytes_read(&self) -> usize {
        self.bytes_read
    }

    /// Returns the transaction at a place, or `None` if the body has been pruned.
    pub fn at(&mut self, place: Place) -> Result<Option<Transaction>, StoreFailure> {
        let offset = place.offset as usize;
        let wrong = || {
            damaged(format!(
                "no transaction at {} of block {}",
                place.offset, place.height
            ))
        };
        let first = u16::try_from(offset / rows::PIECE_BYTES).map_err(|_| wrong())?;
        let start = offset % rows::PIECE_BYTES;
        // Read one piece, and the next one if the transaction may reach into it.
        if self.bytes.is_empty() || (self.height, self.first) != (place.height, first) {
            self.load(place.height, first, 1)?;
        }
        if self.bytes.is_empty() {
            return Ok(None);
        }
        if self.bytes.len() == rows::PIECE_BYTES
            && self.bytes.len() - start.min(self.bytes.len()) < TRANSACTION_BYTES_MAX
        {
            self.load(place.height, first, 2)?;
        }
        let bytes = self.bytes.get(start..).ok_or_else(wrong)?;
        let (transaction, _) =
            transaction::read(bytes).map_err(|rejection| damaged(rejection.to_string()))?;
        Ok(Some(transaction))
    }

    fn load(&mut self, height: Height, first: u16, count: usize) -> Result<(), StoreFailure> {
        self.bytes = pieces(self.reads, height, first, count)?;
        (self.height, self.first) = (height, first);
        // Work beyond the range is more than enough for a caller that limits it.
        self.bytes_read = self.bytes_read.saturating_add(self.bytes.len());
        Ok(())
    }
}

/// Returns an account's balances by chain.
pub fn balances(
    reads: &impl Reads<Table>,
    account: &AccountId,
) -> Result<Vec<(ChainId, MinorUnits)>, StoreFailure> {
    let to = [&rows::balance_key(account, ChainId(u8::MAX))[..], &[0]].concat();
    let found = reads.scan(Table::Balances, &account.0, Some(&to), 256)?;
    found
        .into_iter()
        .map(|(key, value)| {
            let chain = key.get(16).copied();
            let chain = chain.ok_or_else(|| damaged("a balance's key has a wrong length"))?;
            Ok((ChainId(chain), rows::read_minor_units(&value)?))
        })
        .collect()
}

/// Returns at most `max` places of an account's transactions, newest first, all before `before` if given, and of one chain if
/// given.
///
/// The last place of a full answer is the next question's `before`.
pub fn account_transactions(
    reads: &impl Reads<Table>,
    account: &AccountId,
    chain: Option<ChainId>,
    before: Option<Place>,
    max: usize,
) -> Result<Vec<Place>, StoreFailure> {
    let to = [&rows::held_key(account, Height::GENESIS)[..], &[0]].concat();
    let newest = before.map_or(Height::LAST, |before| before.height);
    let mut from = rows::held_key(account, newest).to_vec();
    let mut places = Vec::new();
    loop {
        let found = reads.scan(Table::AccountTxs, &from, Some(&to), ACCOUNT_PAGE)?;
        for (key, value) in &found {
            let (_, height) = rows::read_held_key(key)?;
            let mut offsets: Vec<u32> = rows::read_account_txs(value)?
                .into_iter()
                .filter(|(of, _)| chain.is_none_or(|chain| chain == *of))
                .map(|(_, offset)| offset)
                .collect();
            offsets.sort_unstable_by(|a, b| b.cmp(a));
            for offset in offsets {
                let place = Place { height, offset };
                if before.is_some_and(|before| place >= before) {
                    continue;
                }
                if places.len() >= max {
                    return Ok(places);
                }
                places.push(place);
            }
        }
        match found.last() {
            Some((last, _)) if found.len() == ACCOUNT_PAGE && places.len() < max => {
                from = [last, &[0][..]].concat();
            }
            _ => return Ok(places),
        }
    }
}

/// Blocks of an account that are read at a time.
const ACCOUNT_PAGE: usize = 16;
