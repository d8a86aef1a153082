//! Steps after a load: pools empty, forging stops, the nodes reach one tip.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::chain::{ChainStatus, ChainTarget};
use crate::load::Fault;
use crate::plan::ChainPlan;
use crate::run::stretch::seconds;

/// Minimum time limit for reaching one tip, and the limit in block times.
const SETTLE_MIN: Duration = Duration::from_secs(30);
const SETTLE_BLOCKS: u32 = 6;

/// Interval between two checks.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Equal checks in a row that are required. Transactions in transit between nodes are in no pool.
const SAME_LOOKS: u32 = 3;

/// Number of blocks without a change of the pools after which the rest is abandoned.
const QUIET_BLOCKS: u64 = 4;

/// Waits until the pools are empty and, with forging stopped, the nodes have one tip. Returns whether that happened, and its outcome
/// in words.
pub(super) async fn settle(targets: &[Arc<dyn ChainTarget>], plan: &ChainPlan) -> (bool, String) {
    let begun = Instant::now();
    let drained = drained(targets, seconds(plan.drain_s)).await;
    let block = Duration::from_secs(u64::from(plan.block_s));
    let patience = SETTLE_MIN.max(block * SETTLE_BLOCKS);
    let one = one_tip(targets, patience).await;
    match (drained, one) {
        (Ok(true), Ok(true)) => {
            let took = begun.elapsed().as_secs_f64();
            (true, format!("pools empty, one tip after {took:.1} s"))
        }
        (Ok(false), _) => (
            false,
            format!("pools are not empty after {} s", plan.drain_s),
        ),
        (_, Ok(false)) => (
            false,
            format!("no common tip within {} s", patience.as_secs()),
        ),
        (Err(fault), _) | (_, Err(fault)) => (false, fault.to_string()),
    }
}

/// Returns the status of all nodes.
async fn statuses(targets: &[Arc<dyn ChainTarget>]) -> Result<Vec<ChainStatus>, Fault> {
    let mut all = Vec::with_capacity(targets.len());
    for target in targets {
        all.push(target.status().await?);
    }
    Ok(all)
}

/// Returns how many transactions wait at each node.
async fn pools(targets: &[Arc<dyn ChainTarget>]) -> Result<Vec<u64>, Fault> {
    let mut all = Vec::with_capacity(targets.len());
    for target in targets {
        all.push(target.waiting().await?);
    }
    Ok(all)
}

/// Looks at the nodes that are still to come: until they are settled several times in a row, or until the time limit.
struct Looks {
    begun: Instant,
    patience: Duration,
    same: u32,
}

impl Looks {
    fn begin(patience: Duration) -> Self {
        Self {
            begun: Instant::now(),
            patience,
            same: 0,
        }
    }

    /// Takes in a look. Returns whether the nodes have settled, once that is known.
    fn add(&mut self, settled: Result<bool, Fault>) -> Option<Result<bool, Fault>> {
        let is_over = self.begun.elapsed() >= self.patience;
        match settled {
            Ok(true) => self.same += 1,
            Err(fault) if is_over => return Some(Err(fault)),
            // A busy node may answer late once.
            Ok(false) | Err(_) => self.same = 0,
        }
        match self.same >= SAME_LOOKS {
            true => Some(Ok(true)),
            false => is_over.then_some(Ok(false)),
        }
    }
}

/// Waits until all pools are empty, or until several blocks in a row have removed nothing from them. The remaining
/// transactions are then useless, such as a bundler's offer that another has outbid. Returns whether that happened.
async fn drained(targets: &[Arc<dyn ChainTarget>], patience: Duration) -> Result<bool, Fault> {
    let mut quiet = Quiet::default();
    let mut looks = Looks::begin(patience);
    loop {
        if let Some(ended) = looks.add(empty(targets, &mut quiet).await) {
            return ended;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Looks once whether pools are empty. Reads the pools after the blocks: a transaction that moves in between is then in both, and not in
/// neither.
async fn empty(targets: &[Arc<dyn ChainTarget>], quiet: &mut Quiet) -> Result<bool, Fault> {
    let heights = statuses(targets).await?;
    let height = heights.iter().map(|status| status.height).min();
    Ok(quiet.look(height, pools(targets).await?))
}

/// The number of blocks since the pools last changed.
#[derive(Debug, Default)]
struct Quiet {
    waiting: Vec<u64>,
    since: u64,
}

impl Quiet {
    /// Takes in the lowest height and the pools of all nodes. Returns whether the pools are empty, or the rest can be abandoned.
    fn look(&mut self, height: Option<u64>, waiting: Vec<u64>) -> bool {
        let Some(height) = height else {
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
    let mut looks = Looks::begin(patience);
    loop {
        let all = statuses(targets).await;
        let is_one = all.map(|all| all.windows(2).all(|two| two[0].tip == two[1].tip));
        if let Some(ended) = looks.add(is_one) {
            return ended;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
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
            assert_eq!(
                quiet.look(heights.into_iter().min(), waiting.to_vec()),
                drained,
                "{waiting:?} {heights:?}"
            );
        }
    }
    #[test]
    fn nodes_are_settled_after_equal_looks_or_when_time_is_over() {
        let fault = || Fault {
            code: "x".to_owned(),
            message: String::new(),
        };
        let long = Duration::from_secs(3_600);
        for (patience, looks, wanted) in [
            (long, vec![Ok(true); 3], Some(Ok(true))),
            (long, vec![Ok(true), Ok(true), Ok(false), Ok(true)], None),
            (long, vec![Ok(true), Ok(true), Err(fault()), Ok(true)], None),
            (Duration::ZERO, vec![Ok(false)], Some(Ok(false))),
            (Duration::ZERO, vec![Ok(true)], Some(Ok(false))),
            (Duration::ZERO, vec![Err(fault())], Some(Err(fault()))),
        ] {
            let mut all = Looks::begin(patience);
            let last = looks.clone().into_iter().map(|look| all.add(look)).last();
            assert_eq!(last, Some(wanted), "{looks:?}");
        }
    }
}
