//! One simulated node: its core, its store, its clock, and the rounds that are not durable yet.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use chain::core::{Action, Core, Settings};
use chain::state::MemoryStore;
use chain::{ChainTime, Genesis, Height, TxId};

/// A node.
pub(super) struct Node {
    pub(super) core: Option<Core<MemoryStore>>,
    pub(super) store: MemoryStore,
    pub(super) settings: Settings,
    pub(super) skew_ms: i64,
    /// Counts the node's starts. Events of an earlier life are dropped.
    pub(super) life: u32,
    /// Whether a flush is scheduled.
    pub(super) flush_planned: bool,
    /// Actions of rounds that are not yet durable, oldest first.
    pub(super) flying: VecDeque<Vec<Action>>,
    /// The time at which the last of these rounds is durable.
    pub(super) durable_ms: u64,
    /// The time of the only wake-up that counts among those scheduled.
    pub(super) wake_ms: Option<u64>,
    /// Messages that it has seen. The transport passes each message on only once.
    pub(super) seen: HashSet<u64>,
    /// Height of its chain at the last probe.
    pub(super) probed: Height,
    /// Transactions that it has accepted from clients.
    pub(super) accepted: Vec<TxId>,
}

/// Offset of all clocks from genesis, in milliseconds. It keeps every clock after genesis.
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
            probed: Height::GENESIS,
            accepted: Vec::new(),
        }
    }

    /// Returns the node's clock, in milliseconds since genesis.
    pub(super) fn clock_ms(&self, now_ms: u64) -> u64 {
        // Clipped at 0: a clock does not show a time before genesis.
        now_ms.saturating_add_signed(self.skew_ms + START_MS)
    }

    /// Returns the simulated time at which the node's clock shows this time.
    pub(super) fn world_ms(&self, clock_ms: u64) -> u64 {
        // Clipped at 0: a time before the simulation began is due at once.
        clock_ms.saturating_add_signed(-(self.skew_ms + START_MS))
    }

    /// Opens the core from the durable rows.
    pub(super) fn start(&mut self, genesis: &Arc<Genesis>, now_ms: u64) -> Result<(), String> {
        let clock_ms = self.clock_ms(now_ms);
        let core = Core::open(
            self.store.clone(),
            genesis.clone(),
            self.settings.clone(),
            ChainTime::from_ms(clock_ms),
        );
        self.core = Some(core.map_err(|fault| fault.to_string())?);
        Ok(())
    }

    /// Cuts the power: the first `arrive` batches in flight become durable, the rest are lost. Returns the number of lost
    /// batches.
    pub(super) fn crash(&mut self, arrive: usize) -> u64 {
        for _ in 0..arrive.min(self.flying.len()) {
            self.store.acknowledge();
        }
        // Clipped at 0: the number of surviving batches may be drawn above the number in flight.
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
