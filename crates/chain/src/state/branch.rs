//! Judges the headers of a branch before any block is rolled back for it.

use primitives::Hash;

use super::header::{check_links, hit_time, span_start};
use super::stake::{Former, LeasesAt, effective, tokens};
use super::{Fault, Overlay, Point, rows};
use crate::block::Header;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::{BlockTimestamp, Genesis, Height, pos};

/// The verdict on a header that breaks no rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Rows of this chain bound the forger's stake. The header counts with its work.
    Counted,
    /// No row at or below the common block bounds the forger's stake. The header was not added and has no weight.
    Unbounded,
}

/// A branch from a common block on, with the headers checked so far.
///
/// # Correctness
/// The balances of a forger on the branch are unknown without its blocks. But its effective balance is a minimum over a window,
/// and the part of the window at or below the common block is known. No lease made above the common block has begun. A lease that
/// was to follow another one and was replaced above the common block counts for both accounts. The true balance is therefore at
/// most the one used here, and the true hit is not before the one used here. If the window lies completely above the common
/// block, a new key may hold any part of the supply. Such a header is [`Judged::Unbounded`], and the branch's weight ends before
/// it. Because `effective_age_blocks` and `lease_delay_blocks` are at least the rollback limit, this point lies above every
/// branch that may be followed.
#[derive(Clone, Debug)]
pub struct Branch {
    common: Height,
    common_hash: Hash,
    tip: Point,
    /// Times of its blocks above the common one.
    times: Vec<BlockTimestamp>,
    /// The tip of the main branch when `former` was made.
    main_tip: Hash,
    /// Leases as they were at the common block.
    former: Former,
}

impl Branch {
    /// Begins a branch that leaves the main one after the block at `common`. Fails with `chain_block.too_deep` if leases changed
    /// in a block above it that can no longer be undone.
    pub fn at<R: Reads<Table>>(
        overlay: &Overlay<R>,
        genesis: &Genesis,
        common: Height,
    ) -> Result<Self, Fault> {
        let tip = if common.is_genesis() {
            Point::genesis(genesis)
        } else if common == overlay.tip().height {
            overlay.tip().clone()
        } else {
            let row = overlay
                .header_row(common)?
                .ok_or_else(|| Fault::not_next(format!("no block at {common}")))?;
            Point::of(&row.header, row.hash)
        };
        Ok(Self {
            common,
            common_hash: tip.hash,
            tip,
            times: Vec::new(),
            main_tip: overlay.tip().hash,
            former: former_leases(overlay, common)?,
        })
    }

    /// Returns the last checked block, at first the common one.
    #[must_use]
    pub fn tip(&self) -> &Point {
        &self.tip
    }

    /// Returns the height of the common block.
    #[must_use]
    pub fn common(&self) -> Height {
        self.common
    }

    /// Checks the branch's next header except for its signature and the clock. `hash` is the header's hash. A header that counts
    /// is added to the branch.
    ///
    /// Also fails with [`Fault::NotNext`] if the common block is no longer on the main branch. The caller must begin again.
    pub fn push<R: Reads<Table>>(
        &mut self,
        overlay: &Overlay<R>,
        genesis: &Genesis,
        header: &Header,
        hash: Hash,
    ) -> Result<Judged, Fault> {
        self.follow_main(overlay)?;
        let span_time = self.span_time(overlay, genesis)?;
        check_links(genesis, &self.tip, span_time, header)?;
        let leases = LeasesAt {
            overlay,
            former: &self.former,
        };
        let account = header.forger_account();
        let balance = effective(
            &leases,
            &genesis.params,
            &account,
            header.height,
            self.common,
        )?;
        let Some(balance) = balance else {
            return Ok(Judged::Unbounded);
        };
        let hit = hit_time(&self.tip, header, tokens(genesis, balance))?;
        if header.time <= hit {
            return Err(Fault::refused(
                "chain_block.time",
                format!(
                    "second {} is not after the hit, which is at second {hit} or later",
                    header.time
                ),
            ));
        }
        // The block after the common one is judged with exact knowledge, so its time must be exact too.
        if self.common.next() == Some(header.height)
            && !pos::time_fits(&genesis.params, hit, header.time)
        {
            return Err(Fault::refused(
                "chain_block.time",
                format!(
                    "second {} does not fit the hit at second {hit}",
                    header.time
                ),
            ));
        }
        self.times.push(header.time);
        self.tip = Point::of(header, hash);
        Ok(Judged::Counted)
    }

    fn follow_main<R: Reads<Table>>(&mut self, overlay: &Overlay<R>) -> Result<(), Fault> {
        if self.main_tip == overlay.tip().hash {
            return Ok(());
        }
        if overlay.tip().height < self.common
            || overlay.hash_at(self.common)? != Some(self.common_hash)
        {
            let detail = format!("block {} is no longer common", self.common);
            return Err(Fault::not_next(detail));
        }
        self.former = former_leases(overlay, self.common)?;
        self.main_tip = overlay.tip().hash;
        Ok(())
    }

    fn span_time<R: Reads<Table>>(
        &self,
        overlay: &Overlay<R>,
        genesis: &Genesis,
    ) -> Result<Option<BlockTimestamp>, StoreFailure> {
        let next = self.tip.height.next();
        let Some(start) = next.and_then(|next| span_start(genesis, next)) else {
            return Ok(None);
        };
        let time = match start.blocks_since(self.common) {
            Some(place @ 1..) => self.times.get(place as usize - 1).copied(),
            Some(0) | None => overlay.time_at(start)?,
        };
        time.map(Some)
            .ok_or_else(|| damaged(format!("there is no header at {start}")))
    }
}

/// Returns the lease rows that blocks above `common` have changed, with their earlier values.
fn former_leases<R: Reads<Table>>(overlay: &Overlay<R>, common: Height) -> Result<Former, Fault> {
    let mut former = Former::new();
    for height in common.above_through(overlay.tip().height).rev() {
        let leases = match overlay.window.get(height) {
            Some(seen) => seen.leases,
            None => overlay.header_row(height)?.map_or(0, |row| row.leases),
        };
        if leases == 0 {
            continue;
        }
        let undo = overlay
            .get(Table::Undo, &height.to_be_bytes())?
            .ok_or_else(|| Fault::refused("chain_block.too_deep", format!("block {height}")))?;
        // The first change of a row in a block has its value before the block.
        for (table, key, value) in rows::read_undo(&undo)?.into_iter().rev() {
            if matches!(table, Table::Leases | Table::Lessors) {
                former.insert((table, key), value);
            }
        }
    }
    Ok(former)
}
