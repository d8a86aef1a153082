//! Headers: the values that follow from earlier blocks, and the turns of forgers.

use primitives::Hash;

use super::stake::{Former, LeasesAt, effective, effective_tokens, tokens};
use super::{Fault, Overlay, Point};
use crate::block::Header;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::pos::{self, BaseTarget, Hit};
use crate::transaction::PAYMENT_BYTES;
use crate::{BlockTimestamp, Genesis, Height, Rejection, Seconds, WholeTokens};

/// Returns the height of the block that begins the span, if the base target changes at `height`.
pub(super) fn span_start(genesis: &Genesis, height: Height) -> Option<Height> {
    pos::adjusts(&genesis.params, height)
        .then(|| height.minus(genesis.params.base_target_span))
        .flatten()
}

/// Returns the base target and the difficulty of a block that follows `previous` at `time`. `span_time` is the time at
/// [`span_start`].
pub(super) fn follow(
    genesis: &Genesis,
    previous: &Point,
    span_time: Option<BlockTimestamp>,
    time: BlockTimestamp,
) -> (BaseTarget, u128) {
    let base_target = span_time.map_or(previous.base_target, |start| {
        // A header that is not later than the one before is refused afterwards.
        let elapsed = time.since(start).unwrap_or(Seconds::ZERO);
        pos::next_base_target(
            &genesis.params,
            genesis.base_target,
            previous.base_target,
            elapsed,
        )
    });
    // See above: such a header is refused.
    let elapsed = time.since(previous.time).unwrap_or(Seconds::ZERO);
    let work = pos::work(&genesis.params, previous.base_target, elapsed);
    // No chain of 32-bit heights comes near the limit.
    (base_target, previous.difficulty.saturating_add(work))
}

/// Checks the rules of a header that do not depend on its forger's balance.
pub(super) fn check_links(
    genesis: &Genesis,
    previous: &Point,
    span_time: Option<BlockTimestamp>,
    header: &Header,
) -> Result<(), Fault> {
    let no = |code, detail: String| Err(Fault::refused(code, detail));
    if previous.height.next() != Some(header.height) || header.previous != previous.hash {
        let detail = format!(
            "block {} does not follow {}",
            header.height, previous.height
        );
        return Err(Fault::not_next(detail));
    }
    let params = &genesis.params;
    let children = genesis.chains.len() as u64 - 1;
    if header.parent_count > params.parent_transactions_max
        || u64::from(header.child_count) > children * u64::from(params.child_transactions_max)
        || header.body_bytes > params.block_bytes_max
    {
        return no(
            "chain_block.too_large",
            format!(
                "the header counts {} parent and {} child transactions in {} bytes",
                header.parent_count, header.child_count, header.body_bytes
            ),
        );
    }
    check_counts(header)?;
    if header.generation != pos::generation(&previous.generation, &header.forger) {
        return no("chain_block.generation", format!("block {}", header.height));
    }
    if header.time <= previous.time {
        return no(
            "chain_block.time",
            format!(
                "second {} is not after second {} of the previous block",
                header.time, previous.time
            ),
        );
    }
    let (base_target, difficulty) = follow(genesis, previous, span_time, header.time);
    if header.base_target != base_target {
        return no(
            "chain_block.base_target",
            format!("base target {}, expected {base_target}", header.base_target),
        );
    }
    if header.difficulty != difficulty {
        return no(
            "chain_block.difficulty",
            format!("difficulty {}, expected {difficulty}", header.difficulty),
        );
    }
    Ok(())
}

/// Checks that some body can have the header's counts, so that no body is fetched and no block is rolled back for a header that
/// contradicts itself. Every transaction has at least [`PAYMENT_BYTES`], and only a parent transaction carries others.
///
/// # Errors
/// `chain_block.counts`.
fn check_counts(header: &Header) -> Result<(), Fault> {
    let transactions = u64::from(header.parent_count) + u64::from(header.child_count);
    let is_possible = if header.parent_count == 0 {
        header.child_count == 0 && header.body_bytes == 0 && header.root == Hash::ZERO
    } else {
        u64::from(header.body_bytes) >= transactions * PAYMENT_BYTES as u64
    };
    if is_possible {
        return Ok(());
    }
    Err(Fault::refused(
        "chain_block.counts",
        format!(
            "no body has {} parent and {} child transactions in {} bytes with root {}",
            header.parent_count, header.child_count, header.body_bytes, header.root
        ),
    ))
}

/// Returns the hit time of a header after `previous`, by a forger with this number of tokens.
pub(super) fn hit_time(
    previous: &Point,
    header: &Header,
    tokens: WholeTokens,
) -> Result<BlockTimestamp, Rejection> {
    let hit = Hit::of(&header.generation);
    pos::hit_time(previous.time, hit, previous.base_target, tokens).ok_or_else(|| {
        Rejection::new(
            "chain_block.stake",
            format!("{} has {tokens} effective tokens", header.forger_account()),
        )
    })
}

/// Checks that a header is not beyond the clock drift of blocks. A refused header may be valid later.
pub fn check_clock(
    genesis: &Genesis,
    header: &Header,
    now: BlockTimestamp,
) -> Result<(), Rejection> {
    if let Some(ahead) = header.time.since(now)
        && ahead > genesis.params.block_drift_seconds()
    {
        let detail = format!(
            "second {} is {ahead} s ahead of this node's clock",
            header.time
        );
        return Err(Rejection::new("chain_block.from_future", detail));
    }
    Ok(())
}

fn span_time<R: Reads<Table>>(
    overlay: &Overlay<R>,
    genesis: &Genesis,
    height: Height,
) -> Result<Option<BlockTimestamp>, StoreFailure> {
    let Some(start) = span_start(genesis, height) else {
        return Ok(None);
    };
    let time = overlay.time_at(start)?;
    time.map(Some)
        .ok_or_else(|| damaged(format!("there is no header at {start}")))
}

/// Checks a header that follows the tip against the state, except for its signature, its body and the clock ([`check_clock`]).
pub fn check_header<R: Reads<Table>>(
    overlay: &Overlay<R>,
    genesis: &Genesis,
    header: &Header,
) -> Result<(), Fault> {
    let previous = overlay.tip();
    let span_time = match previous.height.next() {
        Some(next) => span_time(overlay, genesis, next)?,
        None => None,
    };
    check_links(genesis, previous, span_time, header)?;
    let leases = LeasesAt {
        overlay,
        former: &Former::new(),
    };
    let account = header.forger_account();
    let balance = effective(
        &leases,
        &genesis.params,
        &account,
        header.height,
        previous.height,
    )?;
    let hit = hit_time(
        previous,
        header,
        tokens(
            genesis,
            balance.expect("the next block has an exact balance"),
        ),
    )?;
    if pos::time_fits(&genesis.params, hit, header.time) {
        Ok(())
    } else {
        Err(Fault::refused(
            "chain_block.time",
            format!(
                "second {} does not fit the hit at second {hit}",
                header.time
            ),
        ))
    }
}

/// Returns a header that follows the tip, forged by `forger` at `time`. The forger must fill in the body's fields and the
/// signature.
pub fn next_header<R: Reads<Table>>(
    overlay: &Overlay<R>,
    genesis: &Genesis,
    forger: &[u8; 32],
    time: BlockTimestamp,
) -> Result<Header, StoreFailure> {
    let previous = overlay.tip();
    let height = previous
        .height
        .next()
        .ok_or_else(|| damaged("there are no more heights"))?;
    let span_time = span_time(overlay, genesis, height)?;
    let (base_target, difficulty) = follow(genesis, previous, span_time, time);
    Ok(Header {
        height,
        time,
        previous: previous.hash,
        forger: *forger,
        generation: pos::generation(&previous.generation, forger),
        base_target,
        difficulty,
        parent_count: 0,
        child_count: 0,
        body_bytes: 0,
        root: Hash::ZERO,
        signature: [0; 64],
    })
}

/// Returns the time of a forger's block after the tip, or `None` without enough stake. Later than `standstill_seconds` after
/// the hit, any time is allowed.
pub fn turn<R: Reads<Table>>(
    overlay: &Overlay<R>,
    genesis: &Genesis,
    forger: &[u8; 32],
) -> Result<Option<BlockTimestamp>, StoreFailure> {
    let tip = overlay.tip();
    let tokens = effective_tokens(overlay, genesis, &crate::AccountId::of_key(forger))?;
    let hit = Hit::of(&pos::generation(&tip.generation, forger));
    Ok(pos::hit_time(tip.time, hit, tip.base_target, tokens).and_then(pos::block_timestamp))
}
