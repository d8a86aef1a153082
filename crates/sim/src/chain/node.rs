//! One simulated node: its core, its store, its clock, and what of its rounds is not yet durable.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use chain::core::{Action, Core, Settings};
use chain::state::MemoryStore;
use chain::{Genesis, TxId};

/// A node.
pub(super) struct Node {
    pub(super) core: Option<Core<MemoryStore>>,
    pub(super) store: MemoryStore,
    pub(super) settings: Settings,
    pub(super) skew_ms: i64,
    /// Each life has a number: what was under way in an earlier one is nobody's now.
    pub(super) life: u32,
    /// A round will be flushed.
    pub(super) flush_planned: bool,
    /// Actions of rounds that are not yet durable, oldest first.
    pub(super) flying: VecDeque<Vec<Action>>,
    /// When the last of them will be durable.
    pub(super) durable_ms: u64,
    /// When it will be woken, of the wakes planned the only one that counts.
    pub(super) wake_ms: Option<u64>,
    /// Messages that it has seen: the transport passes each only once.
    pub(super) seen: HashSet<u64>,
    /// The height of its chain when it was probed last.
    pub(super) probed: u32,
    /// What its clients were told is accepted.
    pub(super) accepted: Vec<TxId>,
}

/// Clocks start so far from genesis that none is before it, milliseconds.
const START_MS: i64 = 5_000;

impl Node {
    pub(super) fn new(settings: Settings, skew_ms: i64) -> Self {
        Self {
            core: None,
            store: MemoryStore::new(),
            settings,
            skew_ms,
            life: 0,
            flush_planned: false,
            flying: VecDeque::new(),
            durable_ms: 0,
            wake_ms: None,
            seen: HashSet::new(),
            probed: 0,
            accepted: Vec::new(),
        }
    }

    /// What its clock says, milliseconds since genesis.
    pub(super) fn clock_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_add_signed(self.skew_ms + START_MS)
    }

    /// When its clock will say this.
    pub(super) fn world_ms(&self, clock_ms: u64) -> u64 {
        clock_ms.saturating_add_signed(-(self.skew_ms + START_MS))
    }

    /// Opens its core on what is durable.
    pub(super) fn start(&mut self, genesis: &Arc<Genesis>, now_ms: u64) -> Result<(), String> {
        let clock_ms = self.clock_ms(now_ms);
        let core = Core::open(
            self.store.clone(),
            genesis.clone(),
            self.settings.clone(),
            clock_ms,
        );
        self.core = Some(core.map_err(|fault| fault.to_string())?);
        Ok(())
    }

    /// Power is cut: some of what was on its way to the disk arrives, the rest is lost. How many batches were lost.
    pub(super) fn crash(&mut self, arrive: usize) -> u64 {
        for _ in 0..arrive.min(self.flying.len()) {
            self.store.acknowledge();
        }
        let lost = self.flying.len().saturating_sub(arrive) as u64;
        self.store.lose();
        self.core = None;
        self.life += 1;
        self.flush_planned = false;
        self.flying.clear();
        self.wake_ms = None;
        self.seen.clear();
        lost
    }
}
