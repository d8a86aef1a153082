//! Figures for the API: the core's figures after its last round, and the blocks of the last minute.

use std::collections::VecDeque;

use chain::core::Figures;

/// The period over which the rate is computed, in milliseconds.
const WINDOW_MS: u64 = 60_000;

/// The figures that a node shows.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) core: Figures,
    /// The recently joined blocks: the time in milliseconds since genesis by this node's clock, and the number of transactions,
    /// negative for a block that was rolled back.
    recent: VecDeque<(u64, i64)>,
    since_ms: u64,
}

impl Shown {
    pub(super) fn new(core: Figures, now_ms: u64) -> Self {
        Self {
            core,
            recent: VecDeque::new(),
            since_ms: now_ms,
        }
    }

    /// A block joined, or was rolled back.
    pub(super) fn block(&mut self, now_ms: u64, transactions: i64) {
        self.forget(now_ms);
        self.recent.push_back((now_ms, transactions));
    }

    /// Transactions in blocks of the last minute, each second.
    pub(super) fn rate(&mut self, now_ms: u64) -> f64 {
        self.forget(now_ms);
        let sum: i64 = self.recent.iter().map(|(_, count)| count).sum();
        // Clipped at 0: the window is one second at least.
        let window = now_ms.saturating_sub(self.since_ms).clamp(1_000, WINDOW_MS);
        sum.max(0) as f64 * 1_000.0 / window as f64
    }

    fn forget(&mut self, now_ms: u64) {
        // Clipped at 0: the first minute forgets nothing.
        let old = now_ms.saturating_sub(WINDOW_MS);
        while self.recent.front().is_some_and(|(at, _)| *at < old) {
            self.recent.pop_front();
        }
    }
}
