//! After a load: pools empty, forging stops, one tip.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::chain::{ChainStatus, ChainTarget};
use crate::load::Fault;

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Looks in a row that find the same before it is believed: what is on its way between nodes is in no pool.
const SAME_LOOKS: u32 = 3;

/// Blocks in a row that change no pool.
const QUIET_BLOCKS: u64 = 4;

/// Where all nodes stand.
async fn statuses(targets: &[Arc<dyn ChainTarget>]) -> Result<Vec<ChainStatus>, Fault> {
    let mut all = Vec::with_capacity(targets.len());
    for target in targets {
        all.push(target.status().await?);
    }
    Ok(all)
}

/// Waits until `settled` says so of the nodes several times in a row, or for too long; whether it did.
async fn until(
    targets: &[Arc<dyn ChainTarget>],
    patience: Duration,
    mut settled: impl FnMut(&[ChainStatus]) -> bool,
) -> Result<bool, Fault> {
    let begun = Instant::now();
    let mut same = 0;
    loop {
        // A node that is busy may answer late once.
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

/// Waits until nothing waits in any pool, or until several blocks in a row have taken nothing out of them: then what waits is of
/// no use to anybody, as a bundler's offer that another has outbid. Whether that came about.
pub(super) async fn drained(
    targets: &[Arc<dyn ChainTarget>],
    patience: Duration,
) -> Result<bool, Fault> {
    let mut quiet = Quiet::default();
    until(targets, patience, |all| quiet.look(all)).await
}

/// How long pools have not changed, in blocks.
#[derive(Debug, Default)]
struct Quiet {
    waiting: Vec<u64>,
    since: u64,
}

impl Quiet {
    /// Looks at all nodes; whether pools are empty, or as good as empty.
    fn look(&mut self, all: &[ChainStatus]) -> bool {
        let waiting: Vec<u64> = all.iter().map(|status| status.unconfirmed).collect();
        let height = all.iter().map(|status| status.height).min().unwrap_or(0);
        if waiting != self.waiting {
            *self = Self {
                waiting,
                since: height,
            };
        }
        self.waiting.iter().all(|count| *count == 0)
            || height >= self.since.saturating_add(QUIET_BLOCKS)
    }
}

/// Stops forging everywhere and waits until all nodes have one tip; whether that came about.
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
