//! Reads a node's answers within limits, so that no server can keep an audit busy without an end.

use std::time::Duration;

use tokio::time::timeout;

use crate::chain::codes::{ENDLESS, MALFORMED, SLOW};
use crate::chain::{BlockSeen, Boxed, ChainTarget, Detail};
use crate::load::Fault;

/// Blocks requested at a time. A node returns fewer if they are large.
const BLOCKS_AT_A_TIME: u32 = 100;

/// The limits of an audit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Upper limit on the blocks of one node, and so on the pages with them: each page has a block at least.
    pub blocks: u64,
    /// Time limit for one answer. An overloaded server of the Ardor/Nxt family may take seconds for each block of a page.
    pub answer: Duration,
    /// Time limit for everything together.
    pub all: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // A block a second for eleven days.
            blocks: 1_000_000,
            answer: Duration::from_secs(600),
            all: Duration::from_secs(7_200),
        }
    }
}

impl Limits {
    /// Waits for a node's answer to a call.
    pub async fn answer<T>(
        &self,
        target: &dyn ChainTarget,
        what: &str,
        call: Boxed<'_, Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let answer = timeout(self.answer, call).await;
        answer.map_err(|_| {
            let message = format!("no {what} within {:?}", self.answer);
            fault(SLOW, target, message)
        })?
    }

    /// Reads the blocks of these heights in order, a bounded number at a time.
    pub async fn each_block(
        &self,
        target: &dyn ChainTarget,
        from: u64,
        until: u64,
        detail: Detail,
        tell: &mut (dyn FnMut(&BlockSeen) + Send),
    ) -> Result<(), Fault> {
        // A chain that ends below the first height has no blocks to read.
        let count = until
            .checked_sub(from)
            .map_or(0, |more| more.saturating_add(1));
        if count > self.blocks {
            let message = format!(
                "{count} blocks since the load began; at most {} are read",
                self.blocks
            );
            return Err(fault(ENDLESS, target, message));
        }
        let mut next = from;
        while next <= until {
            let most = (until - next + 1).min(u64::from(BLOCKS_AT_A_TIME)) as u32;
            let call = target.blocks(next, most, detail);
            let blocks = self.answer(target, "blocks", call).await?;
            if blocks.is_empty() || blocks.len() > most as usize {
                let message = format!(
                    "{} blocks from {next} on instead of 1 to {most}, though its tip is at {until} or above",
                    blocks.len()
                );
                return Err(fault(MALFORMED, target, message));
            }
            for block in &blocks {
                if block.height != next {
                    let message = format!("block {} in the place of {next}", block.height);
                    return Err(fault(MALFORMED, target, message));
                }
                tell(block);
                next += 1;
            }
        }
        Ok(())
    }
}

/// Returns a fault that names the node.
pub(super) fn fault(code: &str, target: &dyn ChainTarget, message: impl Into<String>) -> Fault {
    Fault {
        code: code.to_owned(),
        message: format!("{}: {}", target.name(), message.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::audit::collect::audit_within;
    use crate::chain::audit::{Question, Start};
    use crate::chain::staged::Staged;
    use std::sync::Arc;

    #[tokio::test]
    async fn a_server_without_an_end_is_refused() {
        let (short, long) = (Duration::from_millis(20), Duration::from_secs(600));
        for (height, page, answer, all, words) in [
            (100, 20, long, long, ""),
            (1_000_001, 20, long, long, ENDLESS),
            (u64::MAX / 2, 20, long, long, ENDLESS),
            // It never answers.
            (100, 0, short, long, "node-1: no blocks within 20ms"),
            // Each page comes in time, but they are too many.
            (1_000_000, 1, long, short, "not read within 20ms"),
            // More blocks than were asked for.
            (100, 101, long, long, MALFORMED),
        ] {
            let limits = Limits {
                answer,
                all,
                ..Limits::default()
            };
            let targets: [Arc<dyn ChainTarget>; 1] = [Arc::new(Staged::new(height, page))];
            let question = Question {
                targets: &targets,
                chains: &[],
                accounts: 0,
                accepted: &[],
                every: 1,
                start: &Start::default(),
                read_max: 1_000,
            };
            let result = audit_within(&question, &limits).await.result;
            assert_eq!(result.clean, words.is_empty(), "{height}: {}", result.words);
            assert!(result.words.contains(words), "{height}: {}", result.words);
        }
    }
}
