//! Steps after a load: pools empty, forging stops, the nodes reach one tip.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::chain::{ChainStatus, ChainTarget};
use crate::load::Fault;

/// Interval between two checks.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Equal checks in a row that are required. Transactions in transit between nodes are in no pool.
const SAME_LOOKS: u32 = 3;

/// Number of blocks without a change of the pools after which the rest is abandoned.
const QUIET_BLOCKS: u64 = 4;

/// Returns the status of all nodes.
async fn statuses(targets: &[Arc<dyn ChainTarget>]) -> Result<Vec<ChainStatus>, Fault> {
    let mut all = Vec::with_capacity(targets.len());
    for target in targets {
        all.push(target.status().await?);
    }
    Ok(all)
}

/// Waits until `settled` holds several times in a row, or until the time limit. Returns whether it held.
async fn until(
    targets: &[Arc<dyn ChainTarget>],
    patience: Duration,
    mut settled: impl FnMut(&[ChainStatus]) -> bool,
) -> Result<bool, Fault> {
    let begun = Instant::now();
    let mut same = 0;
    loop {
        // A busy node may answer late once.
        match statuses(targets).await {
            Ok(all) if settled(&all) => same += 1,
            Ok(_) => same = 0,
            Err(fault) if begun.elapsed() >= patience => return Err(fault),
            Err(_) => same = 0,
        }
        if same >= SAME_LOOKS {
            return Ok(true);
        }
        if begun.elapsed() >= patience {
            return Ok(false);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Waits until all pools are empty, or until several blocks in a row have removed nothing from them. The remaining
/// transactions are then useless, such as a bundler's offer that another has outbid. Returns whether that happened.
pub(super) async fn drained(
    targets: &[Arc<dyn ChainTarget>],
    patience: Duration,
) -> Result<bool, Fault> {
    let mut quiet = Quiet::default();
    until(targets, patience, |all| quiet.look(all)).await
}

/// The number of blocks since the pools last changed.
#[derive(Debug, Default)]
struct Quiet {
    waiting: Vec<u64>,
    since: u64,
}

impl Quiet {
    /// Checks all nodes. Returns whether the pools are empty, or the rest can be abandoned.
    fn look(&mut self, all: &[ChainStatus]) -> bool {
        let waiting: Vec<u64> = all.iter().map(|status| status.unconfirmed).collect();
        let Some(height) = all.iter().map(|status| status.height).min() else {
            return true;
        };
        if waiting != self.waiting {
            *self = Self {
                waiting,
                since: height,
            };
        }
        self.waiting.iter().all(|count| *count == 0)
            || height
                .checked_sub(self.since)
                .is_some_and(|blocks| blocks >= QUIET_BLOCKS)
    }
}

/// Stops forging everywhere and waits until all nodes have one tip. Returns whether that happened.
pub(super) async fn one_tip(
    targets: &[Arc<dyn ChainTarget>],
    patience: Duration,
) -> Result<bool, Fault> {
    for target in targets {
        target.forge(false).await?;
    }
    until(targets, patience, |all| {
        all.windows(2).all(|two| two[0].tip == two[1].tip)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_are_drained_when_they_are_empty_or_no_block_takes_from_them() {
        let mut quiet = Quiet::default();
        for (waiting, heights, drained) in [
            ([5, 3], [10, 10], false),
            ([5, 3], [13, 14], false),
            ([5, 2], [14, 14], false),
            ([5, 2], [18, 17], false),
            ([5, 2], [18, 18], true),
            ([5, 3], [18, 18], false),
            ([0, 0], [19, 19], true),
        ] {
            let status = |at: usize| ChainStatus {
                height: heights[at],
                unconfirmed: waiting[at],
                ..ChainStatus::default()
            };
            assert_eq!(
                quiet.look(&[status(0), status(1)]),
                drained,
                "{waiting:?} {heights:?}"
            );
        }
    }
}
