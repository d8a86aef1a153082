//! The headers of a branch are judged before anything is taken back for it.

use primitives::Hash;

use super::header::{check_links, hit_time, span_start};
use super::stake::{Former, LeasesAt, effective, tokens};
use super::{Fault, Overlay, Point, rows};
use crate::block::Header;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::{Genesis, pos};

/// The verdict on a header that breaks no rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Rows of this chain bound the forger's stake. The header counts with its work.
    Counted,
    /// No row at or below the common block bounds the forger's stake. The header was not added and carries no weight.
    Unbounded,
}

/// A branch from a common block on, as far as its headers have been checked.
///
/// # Correctness
/// What a forger holds on the branch is not known without its blocks. But its effective balance is a minimum over a window, and the
/// part of the window at or below the common block is known; no lease made above it has begun, and a lease that was to follow another
/// one and was replaced above it counts for both sides. So the true balance is at most the
/// one reckoned with here, and the true hit not before the one reckoned with. Where the window has left the common block behind, a
/// throwaway key may hold any part of the supply: such a header is [`Judged::Unbounded`], and the branch's weight ends before it
/// (`effective_age_blocks` and `lease_delay_blocks` are at least the rollback limit, so it ends above every branch that may be followed).
#[derive(Clone, Debug)]
pub struct Branch {
    common: u32,
    common_hash: Hash,
    tip: Point,
    /// Times of its blocks above the common one.
    times: Vec<u32>,
    /// The tip of the main branch for which `former` was made.
    main_tip: Hash,
    /// Leases as they were at the common block.
    former: Former,
}

impl Branch {
    /// A branch that leaves the main one after the block at `common`. `chain_block.too_deep` where the blocks above it cannot all be
    /// undone any more, and leases changed in them.
    pub fn at<R: Reads<Table>>(
        overlay: &Overlay<R>,
        genesis: &Genesis,
        common: u32,
    ) -> Result<Self, Fault> {
        let tip = if common == 0 {
            Point::genesis(genesis)
        } else if common == overlay.tip().height {
            overlay.tip().clone()
        } else {
            let row = overlay.header_row(common)?.ok_or_else(|| {
                Fault::refused("chain_block.not_next", format!("no block at {common}"))
            })?;
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

    /// The last block checked; the common one at first.
    #[must_use]
    pub fn tip(&self) -> &Point {
        &self.tip
    }

    /// The height of the common block.
    #[must_use]
    pub fn common(&self) -> u32 {
        self.common
    }

    /// Checks the branch's next header: everything but its signature and the clock. `hash` is the header's. A header that counts is
    /// added to the branch.
    ///
    /// `chain_block.not_next` also where the common block is no longer on the main branch: begin anew.
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
                format!("{} with the hit at {hit} or later", header.time),
            ));
        }
        // With exact knowledge the time is exact too.
        if self.common.checked_add(1) == Some(header.height)
            && !pos::time_fits(&genesis.params, hit, header.time)
        {
            return Err(Fault::refused(
                "chain_block.time",
                format!("{} with the hit at {hit}", header.time),
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
            return Err(Fault::refused(
                "chain_block.not_next",
                format!("block {} is no longer common", self.common),
            ));
        }
        self.former = former_leases(overlay, self.common)?;
        self.main_tip = overlay.tip().hash;
        Ok(())
    }

    fn span_time<R: Reads<Table>>(
        &self,
        overlay: &Overlay<R>,
        genesis: &Genesis,
    ) -> Result<Option<u32>, StoreFailure> {
        let next = self.tip.height.saturating_add(1);
        let Some(start) = span_start(genesis, next) else {
            return Ok(None);
        };
        let time = match start.checked_sub(self.common + 1) {
            Some(place) => self.times.get(place as usize).copied(),
            None => overlay.time_at(start)?,
        };
        time.map(Some)
            .ok_or_else(|| damaged(format!("there is no header at {start}")))
    }
}

/// Rows of leases that blocks above `common` have changed, as they were before.
fn former_leases<R: Reads<Table>>(overlay: &Overlay<R>, common: u32) -> Result<Former, Fault> {
    let mut former = Former::new();
    for height in (common.saturating_add(1)..=overlay.tip().height).rev() {
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
        // The first change of a row in a block knew what it was before the block.
        for (table, key, value) in rows::read_undo(&undo)?.into_iter().rev() {
            if matches!(table, Table::Leases | Table::Lessors) {
                former.insert((table, key), value);
            }
        }
    }
    Ok(former)
}
