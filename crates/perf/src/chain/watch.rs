//! Polls a node's main chain during a load.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use primitives::whole_ms;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::backlog::Backlog;
use super::line::{Line, LineUpdate};
use super::{ChainTarget, Detail};
use crate::load::Fault;

/// Interval between two polls: the precision of the time to a block.
pub const EVERY: Duration = Duration::from_millis(200);
/// Blocks requested at a time.
const BLOCKS_AT_A_TIME: u32 = 100;
/// Upper limit on consecutive answers that do not connect to the known chain. After it, the poll is given up until the
/// next.
const STEPS_MAX: usize = 64;

/// A watch on the pool of one node, for a backlog. Dropping it ends it.
pub struct PoolWatch(JoinHandle<()>);

impl PoolWatch {
    /// Starts to tell a backlog how many payments wait at the node, which has this index among the nodes.
    #[must_use]
    pub fn begin(target: Arc<dyn ChainTarget>, backlog: Arc<Backlog>, node: usize) -> Self {
        Self(tokio::spawn(async move {
            let mut ticks = interval(EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                look_at_pool(&*target, &backlog, node).await;
            }
        }))
    }
}

impl Drop for PoolWatch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A watch on one node. Dropping it ends it.
pub struct Watch {
    line: Arc<Mutex<Line>>,
    task: JoinHandle<()>,
}

impl Watch {
    /// Starts to poll from a height on. Times count from `epoch`. A load's backlog is told how many payments wait at the
    /// node, which has this index among the nodes.
    #[must_use]
    pub fn begin(
        target: Arc<dyn ChainTarget>,
        from: u64,
        epoch: Instant,
        backlog: Option<(Arc<Backlog>, usize)>,
    ) -> Self {
        let line = Arc::new(Mutex::new(Line::default()));
        let looked = Arc::clone(&line);
        let task = tokio::spawn(async move {
            let mut ticks = interval(EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                poll(&*target, from, epoch, &looked, backlog.as_ref()).await;
            }
        });
        Self { line, task }
    }

    /// Returns the chain observed so far.
    #[must_use]
    pub fn line(&self) -> Line {
        lock(&self.line).clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Polls a node once. Errors are ignored: a node that does not answer may answer the next poll, and the audit queries it again in any case.
async fn poll(
    target: &dyn ChainTarget,
    from: u64,
    epoch: Instant,
    line: &Mutex<Line>,
    backlog: Option<&(Arc<Backlog>, usize)>,
) {
    let _ = follow(target, from, epoch, line).await;
    if let Some((backlog, node)) = backlog {
        // The blocks come first: counting can take many calls, and the time of a block must not wait for it.
        look_at_pool(target, backlog, *node).await;
    }
}

/// Tells a backlog how many payments wait at a node. A node that does not answer is asked again at the next poll.
async fn look_at_pool(target: &dyn ChainTarget, backlog: &Backlog, node: usize) {
    let entered = backlog.look();
    if let Ok(waiting) = target.waiting().await {
        backlog.seen(node, entered, waiting);
    }
}

/// Reads the blocks that are new since the last poll.
async fn follow(
    target: &dyn ChainTarget,
    from: u64,
    epoch: Instant,
    line: &Mutex<Line>,
) -> Result<(), Fault> {
    let status = target.status().await?;
    let mut next = {
        let line = lock(line);
        match line.tip() {
            Some(tip) if tip.id == status.tip => return Ok(()),
            // The node's height bounds the sum.
            Some(tip) => tip.height.saturating_add(1).min(status.height),
            None => from,
        }
    };
    for _ in 0..STEPS_MAX {
        let blocks = target
            .blocks(next.max(from), BLOCKS_AT_A_TIME, Detail::Counts)
            .await?;
        let at_ms = whole_ms(epoch.elapsed());
        let mut line = lock(line);
        next = match line.tell(&blocks, at_ms) {
            LineUpdate::Needed(height) => height,
            LineUpdate::Taken => match blocks.last() {
                Some(last) if last.height < status.height => last.height + 1,
                _ => return Ok(()),
            },
        };
    }
    Ok(())
}

fn lock(line: &Mutex<Line>) -> std::sync::MutexGuard<'_, Line> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::backlog::Share;
    use crate::chain::staged::Staged;

    #[tokio::test]
    async fn the_pool_is_read_after_the_blocks_and_only_for_a_backlog() {
        let backlog = (Arc::new(Backlog::new(10, 1, Share::WHOLE)), 0);
        for (backlog, calls) in [
            (None, &["status", "blocks"][..]),
            (Some(&backlog), &["status", "blocks", "waiting"]),
        ] {
            let node = Staged::new(3, 3);
            let line = Mutex::default();
            poll(&node, 1, Instant::now(), &line, backlog).await;
            assert_eq!(node.calls(), calls);
            assert_eq!(lock(&line).blocks().len(), 3);
        }
    }
}
