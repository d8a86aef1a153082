//! The reasons why transactions left the pool without a block. The newest rows can be queried.

use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::state::Overlay;
use crate::state::rows::read_u64;
use crate::{BlockTimestamp, TxId};

/// Key in `Meta` for the number of rows.
pub(super) const COUNT: &[u8] = b"left";
/// Maximum number of old rows that one round deletes.
pub(super) const TRIM_STEP: usize = 1_024;

/// The log of removals in the tables `Left` and `LeftOrder`. It holds only their number of rows, which is bounded.
#[derive(Debug)]
pub(in crate::core) struct RemovalLog {
    pub(super) count: u64,
}

impl RemovalLog {
    pub(in crate::core) fn open<R: Reads<Table>>(rows: &Overlay<R>) -> Result<Self, StoreFailure> {
        let count = rows.get(Table::Meta, COUNT)?;
        Ok(Self {
            count: count.map_or(Ok(0), |value| read_u64(&value))?,
        })
    }
}

/// Returns the time at which a transaction left, and the reason: a code of [`crate::ERRORS`].
///
/// # Errors
/// The store fails, or the row does not decode.
pub fn removal_reason(
    reads: &impl Reads<Table>,
    id: &TxId,
) -> Result<Option<(BlockTimestamp, String)>, StoreFailure> {
    let Some(value) = reads.get(Table::Left, &id.0)? else {
        return Ok(None);
    };
    let wrong = || damaged("a row of a removal reason is not valid");
    let (time, code) = value.split_first_chunk::<4>().ok_or_else(wrong)?;
    let code = String::from_utf8(code.to_vec()).map_err(|_| wrong())?;
    Ok(Some((BlockTimestamp::from_be_bytes(*time), code)))
}

pub(super) fn order_key(time: BlockTimestamp, id: &TxId) -> Vec<u8> {
    [&time.to_be_bytes()[..], &id.0].concat()
}
