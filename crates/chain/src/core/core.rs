//! The state of the core, and the handling of events.

use std::collections::VecDeque;
use std::sync::Arc;

use primitives::CheckWorkers;

use super::blocks::{Assemblies, PendingBlocks, Release, SideBlocks};
use super::bounded_set::BoundedSet;
use super::bundling::{Bundling, Rates};
use super::checks::Checks;
use super::counters::Counters;
use super::forging::{Forging, OwnBlocks};
use super::fork_choice::{DeepFork, Evidence, FirstHeaders, Reorg, TiedTips};
use super::limits::INVALID_BLOCKS_MAX;
use super::mempool::{GossipBatch, Intake, LocalTransactions, PoolReconciliation, RemovalLog};
use super::orders::TrustedBlocks;
use super::peers::{InFlightRequests, Peers, ServingBudget};
use super::sync::ChainSync;
use super::{Action, Event, Notice, Round, Settings};
use crate::genesis::Genesis;
use crate::pool::Pool;
use crate::port::{Reads, StoreFailure, Table};
use crate::state::{Fault, Overlay};
use crate::{BlockTimestamp, ChainTime, Height, TxId};

/// A node's deciding core: events in, rounds out.
#[derive(Debug)]
pub struct Core<R> {
    pub(super) genesis: Arc<Genesis>,
    pub(super) settings: Settings,
    pub(super) rows: Overlay<R>,
    pub(super) pool: Pool,
    pub(super) checker: Checks,
    /// The latest time passed in. It never goes back.
    pub(super) now: ChainTime,
    pub(super) actions: Vec<Action>,
    pub(super) intake: Intake,
    pub(super) gossip_batch: GossipBatch,
    /// Transactions to gossip again, because a reorg put them back.
    pub(super) regossip: VecDeque<TxId>,
    pub(super) local: LocalTransactions,
    pub(super) removals: RemovalLog,
    pub(super) peers: Peers,
    /// The budget for answers to all peers together.
    pub(super) serving_budget: ServingBudget,
    pub(super) requests: InFlightRequests,
    pub(super) assemblies: Assemblies,
    pub(super) pending: PendingBlocks,
    /// The first announced header of each forger on each parent.
    pub(super) first_headers: FirstHeaders,
    /// Pairs of signed headers by forgers that signed two blocks on one parent.
    pub(super) evidence: Evidence,
    pub(super) tied_tips: TiedTips,
    pub(super) sync: ChainSync,
    pub(super) reorg: Option<Reorg>,
    /// Blocks that break a rule, and blocks after them.
    pub(super) invalid: BoundedSet,
    pub(super) side_blocks: SideBlocks,
    pub(super) forging: Forging,
    /// Blocks that local keys have forged.
    pub(super) own_blocks: OwnBlocks,
    pub(super) bundling: Bundling,
    pub(super) rates: Rates,
    pub(super) trusted: TrustedBlocks,
    pub(super) deep_fork: Option<DeepFork>,
    /// Maximum height of the blocks whose bodies an operator ordered to be deleted.
    pub(super) pruning: Option<Height>,
    /// Ids from peers' pools to request, with their peers.
    pub(super) reconciliation: PoolReconciliation,
    pub(super) counters: Counters,
    /// Whether more work is due than one round may do.
    pub(super) more: bool,
}

impl<R: Reads<Table>> Core<R> {
    /// Opens the chain of a store, or starts it at genesis if the store is empty. Locally accepted transactions that are in no
    /// block return to the pool. If a crash has left more side blocks than one round may apply, later rounds apply them first.
    ///
    /// # Errors
    /// The store fails, is damaged, is of another network, or has another block where one is trusted.
    pub fn open(
        store: R,
        genesis: Arc<Genesis>,
        settings: Settings,
        now: ChainTime,
    ) -> Result<Self, Fault> {
        let rows = Overlay::open(store, &genesis)?;
        let trusted = TrustedBlocks::open(&rows, &settings.trusted)?;
        let mut core = Self {
            pool: Pool::new(
                settings
                    .pool
                    .clone()
                    .for_blocks_of(genesis.params.block_seconds),
            ),
            checker: Checks::inline(),
            now,
            actions: Vec::new(),
            intake: Intake::default(),
            gossip_batch: GossipBatch::new(settings.gossip_linger),
            regossip: VecDeque::new(),
            local: LocalTransactions::default(),
            removals: RemovalLog::open(&rows)?,
            peers: Peers::default(),
            serving_budget: ServingBudget::new(now),
            requests: InFlightRequests::default(),
            assemblies: Assemblies::default(),
            pending: PendingBlocks::default(),
            first_headers: FirstHeaders::default(),
            evidence: Evidence::open(&rows)?,
            tied_tips: TiedTips::default(),
            sync: ChainSync::new(),
            reorg: None,
            invalid: BoundedSet::new(INVALID_BLOCKS_MAX),
            side_blocks: SideBlocks::open(&rows)?,
            forging: Forging::new(&settings.forgers, now),
            own_blocks: OwnBlocks::open(&rows)?,
            bundling: Bundling::new(&settings.bundlers),
            rates: Rates::default(),
            trusted,
            deep_fork: None,
            pruning: None,
            reconciliation: PoolReconciliation::default(),
            counters: Counters::default(),
            more: false,
            genesis,
            settings,
            rows,
        };
        core.check_trusted()?;
        core.restore_record()?;
        core.restore_side()?;
        core.step_reorg()?;
        // No follower was connected yet when these blocks joined again.
        core.actions.retain(|action| !is_of_a_block(action));
        Ok(core)
    }

    /// Has batches of signatures checked by these workers. Without them the core's own thread checks all.
    #[must_use]
    pub fn with_check_workers(mut self, workers: Box<dyn CheckWorkers + Send>) -> Self {
        self.checker.set_workers(workers);
        self
    }

    /// Handles one event at a time of the chain.
    ///
    /// # Errors
    /// The store fails. The node must stop.
    pub fn handle(&mut self, now: ChainTime, event: Event) -> Result<(), StoreFailure> {
        self.now = self.now.max(now);
        match event {
            Event::PeerUp(peer) => {
                self.peers.add(peer, self.sync.asked, self.now);
                self.rates.announce_soon();
                Ok(())
            }
            Event::PeerDown(peer) => self.peer_down(peer),
            Event::Gossip {
                peer,
                message,
                bytes,
            } => self.gossiped(peer, message, &bytes),
            Event::Asked {
                peer,
                ticket,
                bytes,
            } => self.serve(peer, ticket, &bytes),
            Event::Answered {
                peer,
                ticket,
                result,
            } => self.handle_answer(peer, ticket, result),
            Event::Submit {
                ticket,
                transactions,
            } => self.submitted(ticket, transactions),
            Event::StartForging(key) => {
                self.forging.start(key);
                Ok(())
            }
            Event::StopForging(key) => {
                self.forging.stop(&key);
                Ok(())
            }
            Event::StartBundling(bundler) => {
                self.bundling.start(bundler);
                self.rates.announce_soon();
                Ok(())
            }
            Event::StopBundling { key, child } => {
                self.bundling.stop(&key, child);
                Ok(())
            }
            Event::PopOff { ticket, height } => self.pop_off(ticket, height),
            Event::ClearPool { ticket } => self.clear_pool(ticket),
            Event::Prune { ticket, keep } => self.prune_bodies(ticket, keep),
            Event::Trust {
                ticket,
                height,
                hash,
            } => self.trust(ticket, height, hash),
        }
    }

    /// Ends a round. Performs the work that is due, and returns the batch to commit and the actions to perform afterwards.
    ///
    /// # Errors
    /// The store fails. The node must stop.
    pub fn flush(&mut self, now: ChainTime) -> Result<Round, StoreFailure> {
        self.now = self.now.max(now);
        self.more = false;
        self.check_intake()?;
        self.expire_requests()?;
        self.pool.expire(self.timestamp_now());
        self.step_reorg()?;
        self.release_pending(Release::BeforeOwn)?;
        self.advance_sync()?;
        self.announce_rates_if_due()?;
        self.bundle_if_due()?;
        self.forge_if_due()?;
        self.release_pending(Release::All)?;
        self.poll_statuses();
        self.compare_pools();
        self.regossip_step()?;
        self.relay_if_due();
        self.continue_pruning()?;
        self.trim_side_blocks();
        self.settle_pool()?;
        self.record_removals()?;
        Ok(Round {
            batch: self.rows.take_batch(),
            actions: std::mem::take(&mut self.actions),
        })
    }

    /// Marks the oldest open round as durable. Every flushed round must be committed in order, including empty ones.
    pub fn committed(&mut self) {
        self.rows.committed();
    }

    /// Returns the next time at which [`Core::flush`] has work, if no event comes before.
    #[must_use]
    pub fn next_wake(&self) -> Option<ChainTime> {
        if self.more || !self.intake.is_empty() {
            return Some(self.now);
        }
        let wakes = [
            self.parts_next_time(),
            self.sync_due(),
            self.forging_due(),
            self.bundling_due(),
            self.rates_due(),
            self.statuses_due(),
            self.regossip_due(),
        ];
        wakes.into_iter().flatten().min()
    }

    /// Returns the current second of the chain.
    pub(super) fn timestamp_now(&self) -> BlockTimestamp {
        BlockTimestamp::at(self.now)
    }

    /// Returns the pool.
    #[must_use]
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Returns the chain as this core sees it, including changes that are not durable yet.
    #[must_use]
    pub fn overlay(&self) -> &Overlay<R> {
        &self.rows
    }

    /// Returns the genesis.
    #[must_use]
    pub fn genesis(&self) -> &Arc<Genesis> {
        &self.genesis
    }
}

fn is_of_a_block(action: &Action) -> bool {
    matches!(action, Action::Notice(notice) if matches!(**notice, Notice::Added { .. }))
}
