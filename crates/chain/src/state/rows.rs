//! Keys and values of the state's tables, byte for byte (`docs/formats/chain.md`).

use primitives::Hash;

use crate::block::{HEADER_BYTES, Header, read_header};
use crate::port::{StoreFailure, Table, damaged};
use crate::{AccountId, ChainId, Height, MinorUnits};

/// Version of the tables' layout.
pub const SCHEMA_VERSION: u32 = 1;
/// Key in `Meta` for [`SCHEMA_VERSION`].
pub const META_VERSION: &[u8] = b"version";
/// Key in `Meta` for the encoded genesis.
pub const META_GENESIS: &[u8] = b"genesis";
/// Key in `Meta` for height and hash of the last block.
pub const META_TIP: &[u8] = b"tip";
/// Key in `Meta` for the progress of pruning, see [`super::Pruned`].
pub const META_PRUNED: &[u8] = b"pruned";

/// Length of a piece of a body in bytes. The last piece may be shorter.
pub const PIECE_BYTES: usize = 64 << 10;

/// Returns the value of [`META_TIP`].
#[must_use]
pub fn tip_value(height: Height, hash: &Hash) -> Vec<u8> {
    [&height.to_be_bytes()[..], hash.as_bytes()].concat()
}

/// Decodes the value of [`META_TIP`].
pub fn read_tip(value: &[u8]) -> Result<(Height, Hash), StoreFailure> {
    let mut reader = RowReader::new(value, "tip");
    let tip = (reader.height()?, reader.hash()?);
    reader.end()?;
    Ok(tip)
}

/// Returns a key in `Balances`.
#[must_use]
pub fn balance_key(account: &AccountId, chain: ChainId) -> [u8; 17] {
    let mut key = [chain.0; 17];
    key[..16].copy_from_slice(&account.0);
    key
}

/// Decodes an amount that is the whole value of a row (balances, held balances, fees that a bundler has paid).
pub fn read_minor_units(value: &[u8]) -> Result<MinorUnits, StoreFailure> {
    read_u64(value).map(MinorUnits::new)
}

/// Decodes a number that is the whole value of a row (numbers of removals).
pub fn read_u64(value: &[u8]) -> Result<u64, StoreFailure> {
    let mut reader = RowReader::new(value, "a number");
    let number = reader.u64()?;
    reader.end()?;
    Ok(number)
}

/// Decodes a number that is the whole value of a row (numbers of lessors).
pub fn read_u32(value: &[u8]) -> Result<u32, StoreFailure> {
    let mut reader = RowReader::new(value, "a number");
    let number = reader.u32()?;
    reader.end()?;
    Ok(number)
}

/// Decodes a height that is the whole key or value of a row.
pub fn read_height(bytes: &[u8]) -> Result<Height, StoreFailure> {
    let mut reader = RowReader::new(bytes, "a height");
    let height = reader.height()?;
    reader.end()?;
    Ok(height)
}

/// Returns a key in `Held` or `AccountTxs`. Heights are inverted, so that the newest comes first.
#[must_use]
pub fn held_key(account: &AccountId, height: Height) -> [u8; 20] {
    let mut key = [0; 20];
    key[..16].copy_from_slice(&account.0);
    key[16..].copy_from_slice(&(!height.get()).to_be_bytes());
    key
}

/// Decodes account and height of a key of `Held` or `AccountTxs`.
pub fn read_held_key(key: &[u8]) -> Result<(AccountId, Height), StoreFailure> {
    let mut reader = RowReader::new(key, "a key of held balances");
    let parts = (AccountId(reader.take()?), Height::new(!reader.u32()?));
    reader.end()?;
    Ok(parts)
}

/// Returns a key in `Bodies`.
#[must_use]
pub fn body_key(height: Height, piece: u16) -> [u8; 6] {
    let mut key = [0; 6];
    key[..4].copy_from_slice(&height.to_be_bytes());
    key[4..].copy_from_slice(&piece.to_be_bytes());
    key
}

/// Returns a key in `Lessors`.
#[must_use]
pub fn lessor_key(lessee: &AccountId, lessor: &AccountId) -> [u8; 32] {
    let mut key = [0; 32];
    key[..16].copy_from_slice(&lessee.0);
    key[16..].copy_from_slice(&lessor.0);
    key
}

/// The place of a transaction: its block, and the offset of its bytes in the block's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Height of the block.
    pub height: Height,
    /// Bytes before it in the body.
    pub offset: u32,
}

impl Place {
    /// Encodes the value of a row of `TxIndex`.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&self.height.to_be_bytes());
        bytes[4..].copy_from_slice(&self.offset.to_be_bytes());
        bytes
    }

    /// Decodes the value of a row of `TxIndex`.
    pub fn read(value: &[u8]) -> Result<Self, StoreFailure> {
        let mut reader = RowReader::new(value, "a transaction's place");
        let place = Self {
            height: reader.height()?,
            offset: reader.u32()?,
        };
        reader.end()?;
        Ok(place)
    }
}

/// The value of a row of `Headers`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderRow {
    /// The header.
    pub header: Header,
    /// The block's hash.
    pub hash: Hash,
    /// Fees of its parent transactions, in the parent token.
    pub fees: MinorUnits,
    /// Number of lease rows that the block changed. The undo row has their earlier values.
    pub leases: u32,
    /// Its child blocks: chain and number of transactions, ascending by chain.
    pub children: Vec<(ChainId, u32)>,
}

impl HeaderRow {
    /// Encodes the value.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES + 45 + 5 * self.children.len());
        out.extend_from_slice(&self.header.to_bytes());
        out.extend_from_slice(self.hash.as_bytes());
        out.extend_from_slice(&self.fees.to_be_bytes());
        out.extend_from_slice(&self.leases.to_be_bytes());
        out.push(self.children.len() as u8);
        for (chain, count) in &self.children {
            out.push(chain.0);
            out.extend_from_slice(&count.to_be_bytes());
        }
        out
    }

    /// Decodes the value.
    pub fn read(value: &[u8]) -> Result<Self, StoreFailure> {
        let mut reader = RowReader::new(value, "a header");
        let header = read_header(reader.slice(HEADER_BYTES)?)
            .map_err(|rejection| damaged(rejection.to_string()))?;
        let hash = reader.hash()?;
        let fees = MinorUnits::from_be_bytes(reader.take()?);
        let leases = reader.u32()?;
        let count = reader.take::<1>()?[0];
        let children = (0..count)
            .map(|_| Ok((ChainId(reader.take::<1>()?[0]), reader.u32()?)))
            .collect::<Result<_, StoreFailure>>()?;
        reader.end()?;
        Ok(Self {
            header,
            hash,
            fees,
            leases,
            children,
        })
    }
}

/// A lease for blocks of the heights `from..until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The account that forges with the balance.
    pub to: AccountId,
    /// The first height.
    pub from: Height,
    /// The height after the last one.
    pub until: Height,
}

impl Lease {
    /// Returns whether the lease is effective in a block of this height.
    #[must_use]
    pub fn covers(&self, height: Height) -> bool {
        (self.from..self.until).contains(&height)
    }
}

/// The value of a row of `Leases`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseRow {
    /// The current lease, or the first one to begin.
    pub now: Lease,
    /// The lease after it.
    pub next: Option<Lease>,
}

impl LeaseRow {
    /// Returns the leases in order.
    pub fn leases(&self) -> impl Iterator<Item = &Lease> {
        std::iter::once(&self.now).chain(&self.next)
    }

    /// Encodes the value: one lease or two, 24 bytes each.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(48);
        for lease in self.leases() {
            out.extend_from_slice(&lease.to.0);
            out.extend_from_slice(&lease.from.to_be_bytes());
            out.extend_from_slice(&lease.until.to_be_bytes());
        }
        out
    }

    /// Decodes the value.
    pub fn read(value: &[u8]) -> Result<Self, StoreFailure> {
        let mut reader = RowReader::new(value, "a lease");
        let mut lease = || {
            Ok::<_, StoreFailure>(Lease {
                to: AccountId(reader.take()?),
                from: reader.height()?,
                until: reader.height()?,
            })
        };
        let now = lease()?;
        let next = if value.len() > 24 {
            Some(lease()?)
        } else {
            None
        };
        reader.end()?;
        Ok(Self { now, next })
    }
}

/// A row before a block: table, key, and the value if there was one.
pub type Former = (Table, Vec<u8>, Option<Vec<u8>>);

/// Tables whose rows a block overwrites. To all other tables it only adds rows.
pub(super) const STATE: [Table; 3] = [Table::Balances, Table::Leases, Table::Lessors];

/// Returns whether a block overwrites rows of a table.
pub(super) fn is_state(table: Table) -> bool {
    STATE.contains(&table)
}

/// Encodes the value of a row of `Undo`.
#[must_use]
pub fn undo_value(former: &[Former]) -> Vec<u8> {
    let mut out = Vec::with_capacity(former.len() * 28);
    for (table, key, value) in former {
        out.push(*table as u8);
        out.push(key.len() as u8);
        out.extend_from_slice(key);
        // 0 means no row. Other bytes are the value's length plus one.
        out.push(value.as_ref().map_or(0, |value| value.len() as u8 + 1));
        // Without a row there is no value to write.
        out.extend_from_slice(value.as_deref().unwrap_or_default());
    }
    out
}

/// Decodes a row of `Undo`.
pub fn read_undo(value: &[u8]) -> Result<Vec<Former>, StoreFailure> {
    let mut reader = RowReader::new(value, "an undo row");
    let mut former = Vec::new();
    while !reader.rest.is_empty() {
        let number = reader.take::<1>()?[0];
        let table = STATE
            .into_iter()
            .find(|table| *table as u8 == number)
            .ok_or_else(|| damaged(format!("an undo row names the unknown table {number}")))?;
        let length = usize::from(reader.take::<1>()?[0]);
        let key = reader.slice(length)?.to_vec();
        let value = match reader.take::<1>()?[0] {
            0 => None,
            length => Some(reader.slice(usize::from(length) - 1)?.to_vec()),
        };
        former.push((table, key, value));
    }
    Ok(former)
}

/// Encodes the value of a row of `AccountTxs`: for each chain, the ascending offsets of the account's transactions in the block's
/// body.
///
/// `chain u8 | count | first offset | distances to the previous offset`, with numbers as LEB128.
#[must_use]
pub fn account_txs_value(places: &mut [(ChainId, u32)]) -> Vec<u8> {
    places.sort_unstable();
    let mut out = Vec::with_capacity(places.len() * 2 + 8);
    for group in places.chunk_by(|a, b| a.0 == b.0) {
        out.push(group[0].0.0);
        put_varint(&mut out, group.len() as u32);
        let mut last = 0;
        for (_, offset) in group {
            put_varint(&mut out, offset - last);
            last = *offset;
        }
    }
    out
}

/// Decodes the value, in order of chain and offset.
pub fn read_account_txs(value: &[u8]) -> Result<Vec<(ChainId, u32)>, StoreFailure> {
    let mut reader = RowReader::new(value, "an account's transactions");
    let mut places = Vec::new();
    while !reader.rest.is_empty() {
        let chain = ChainId(reader.take::<1>()?[0]);
        let count = reader.varint()?;
        let mut offset = 0u32;
        for _ in 0..count {
            offset = offset
                .checked_add(reader.varint()?)
                .ok_or_else(|| damaged("an offset of an account's transaction exceeds 32 bits"))?;
            places.push((chain, offset));
        }
    }
    Ok(places)
}

fn put_varint(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Decodes the fields of a row. Errors name the row.
pub(super) struct RowReader<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> RowReader<'a> {
    pub(super) fn new(rest: &'a [u8], what: &'static str) -> Self {
        Self { rest, what }
    }

    fn damaged(&self) -> StoreFailure {
        damaged(format!("{} has a wrong length", self.what))
    }

    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N], StoreFailure> {
        let (taken, rest) = self
            .rest
            .split_first_chunk()
            .ok_or_else(|| self.damaged())?;
        self.rest = rest;
        Ok(*taken)
    }

    fn slice(&mut self, length: usize) -> Result<&'a [u8], StoreFailure> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or_else(|| self.damaged())?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn u32(&mut self) -> Result<u32, StoreFailure> {
        self.take().map(u32::from_be_bytes)
    }

    pub(super) fn height(&mut self) -> Result<Height, StoreFailure> {
        self.take().map(Height::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, StoreFailure> {
        self.take().map(u64::from_be_bytes)
    }

    fn hash(&mut self) -> Result<Hash, StoreFailure> {
        self.take().map(Hash::from_bytes)
    }

    fn varint(&mut self) -> Result<u32, StoreFailure> {
        let mut number = 0u32;
        for shift in (0..35).step_by(7) {
            let byte = self.take::<1>()?[0];
            let part = u32::from(byte & 0x7f);
            number |= part
                .checked_shl(shift)
                .filter(|shifted| shifted >> shift == part)
                .ok_or_else(|| self.damaged())?;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.damaged())
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn end(&self) -> Result<(), StoreFailure> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.damaged())
        }
    }
}
