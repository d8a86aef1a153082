//! The reasons why transactions left the pool without a block. The newest rows can be queried.

use super::limits::LEFT_ROWS_MAX;
use super::{Action, Core, Notice};
use crate::TxId;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::state::{Overlay, rows::read_u64};

/// Key in `Meta` for the number of rows.
const COUNT: &[u8] = b"left";
/// Maximum number of old rows that one round deletes.
const TRIM_STEP: usize = 1_024;

/// The number of rows.
#[derive(Debug)]
pub(super) struct LeftRows {
    count: u64,
}

impl LeftRows {
    pub(super) fn open<R: Reads<Table>>(rows: &Overlay<R>) -> Result<Self, StoreFailure> {
        let count = rows.get(Table::Meta, COUNT)?;
        Ok(Self {
            count: count.map_or(Ok(0), |value| read_u64(&value))?,
        })
    }
}

/// Returns the time in seconds since genesis at which a transaction left, and the reason: a code of [`crate::ERRORS`].
///
/// # Errors
/// The store fails, or the row does not decode.
pub fn why_left(
    reads: &impl Reads<Table>,
    id: &TxId,
) -> Result<Option<(u32, String)>, StoreFailure> {
    let Some(value) = reads.get(Table::Left, &id.0)? else {
        return Ok(None);
    };
    let wrong = || damaged("a row of reasons makes no sense");
    let (time, code) = value.split_first_chunk::<4>().ok_or_else(wrong)?;
    let code = String::from_utf8(code.to_vec()).map_err(|_| wrong())?;
    Ok(Some((u32::from_be_bytes(*time), code)))
}

fn order_key(time: u32, id: &TxId) -> Vec<u8> {
    [&time.to_be_bytes()[..], &id.0].concat()
}

impl<R: Reads<Table>> Core<R> {
    /// Writes why transactions left since the last round, and notifies followers.
    pub(super) fn write_left(&mut self) -> Result<(), StoreFailure> {
        let left = self.pool.take_left();
        if left.is_empty() {
            return Ok(());
        }
        for one in left {
            let id = one.carried.id;
            // It may have returned already, or be in a block.
            if self.pool.contains(&id) || self.is_confirmed(&id)? {
                continue;
            }
            self.forget_own(&id);
            self.note_left(&id, one.reason)?;
            self.actions.push(Action::Notice(Box::new(Notice::Left {
                id,
                reason: one.reason,
            })));
        }
        self.trim_left()?;
        let count = self.left.count.to_be_bytes();
        self.rows.put(Table::Meta, COUNT, count);
        Ok(())
    }

    pub(super) fn note_left(
        &mut self,
        id: &TxId,
        reason: &'static str,
    ) -> Result<(), StoreFailure> {
        let now = self.now_seconds();
        match why_left(&self.rows, id)? {
            Some((before, _)) => self.rows.delete(Table::LeftOrder, order_key(before, id)),
            None => self.left.count += 1,
        }
        let value = [&now.to_be_bytes()[..], reason.as_bytes()].concat();
        self.rows.put(Table::Left, id.0, value);
        self.rows.put(Table::LeftOrder, order_key(now, id), []);
        Ok(())
    }

    fn trim_left(&mut self) -> Result<(), StoreFailure> {
        let surplus = self.left.count.saturating_sub(LEFT_ROWS_MAX);
        let step = usize::try_from(surplus).unwrap_or(TRIM_STEP).min(TRIM_STEP);
        if step == 0 {
            return Ok(());
        }
        for (key, _) in self.rows.scan(Table::LeftOrder, &[], None, step)? {
            let id = key
                .get(4..)
                .ok_or_else(|| damaged("an order row is cut off"))?;
            self.rows.delete(Table::Left, id);
            self.rows.delete(Table::LeftOrder, key);
            self.left.count -= 1;
        }
        Ok(())
    }
}
