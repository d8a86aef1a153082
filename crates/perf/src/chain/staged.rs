//! A node for tests, which notes the calls that it gets.

use std::sync::Mutex;

use super::{BlockSeen, Boxed, ChainId, ChainStatus, ChainTarget, Detail, Fate, Payment, TxKey};
use crate::load::Fault;

/// A node with empty blocks.
pub(super) struct Staged {
    height: u64,
    page: u64,
    calls: Mutex<Vec<&'static str>>,
}

impl Staged {
    /// Creates a node whose chain has this height, and this many blocks on each page. With no blocks on a page it never answers a question
    /// for them.
    pub fn new(height: u64, page: u64) -> Self {
        Self {
            height,
            page,
            calls: Mutex::default(),
        }
    }

    /// Returns the calls so far, in order.
    pub fn calls(&self) -> Vec<&'static str> {
        self.calls.lock().expect("no panic").clone()
    }

    fn note(&self, call: &'static str) {
        self.calls.lock().expect("no panic").push(call);
    }
}

impl ChainTarget for Staged {
    fn name(&self) -> &str {
        "node-1"
    }

    fn submit<'a>(&'a self, _: &'a [Payment]) -> Boxed<'a, Vec<Result<TxKey, Fault>>> {
        unreachable!("it is not paid")
    }

    fn status(&self) -> Boxed<'_, Result<ChainStatus, Fault>> {
        self.note("status");
        Box::pin(async {
            Ok(ChainStatus {
                height: self.height,
                ..ChainStatus::default()
            })
        })
    }

    fn waiting(&self) -> Boxed<'_, Result<u64, Fault>> {
        self.note("waiting");
        Box::pin(async { Ok(0) })
    }

    fn blocks(&self, from: u64, _: u32, _: Detail) -> Boxed<'_, Result<Vec<BlockSeen>, Fault>> {
        self.note("blocks");
        Box::pin(async move {
            if self.page == 0 {
                std::future::pending::<()>().await;
            }
            tokio::task::yield_now().await;
            let block = |height| BlockSeen {
                height,
                ..BlockSeen::default()
            };
            Ok((from..from + self.page).map(block).collect())
        })
    }

    fn balances(&self, _: usize) -> Boxed<'_, Result<Vec<(ChainId, u64)>, Fault>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn account_name(&self, _: usize) -> String {
        String::new()
    }

    fn fate(&self, _: TxKey) -> Boxed<'_, Result<Fate, Fault>> {
        Box::pin(async { Ok(Fate::Unknown) })
    }

    fn forge(&self, _: bool) -> Boxed<'_, Result<(), Fault>> {
        Box::pin(async { Ok(()) })
    }

    fn state_hash(&self) -> Boxed<'_, Result<Option<(u64, String)>, Fault>> {
        Box::pin(async { Ok(None) })
    }
}
