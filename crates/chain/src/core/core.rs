//! The state of the core, and the handling of events.

use std::collections::VecDeque;
use std::sync::Arc;

use primitives::SignatureChecker;

use super::blocks::{Assemblies, HeldBlocks, Release, Side};
use super::bounded_set::Remembered;
use super::bundling::{Bundling, Rates};
use super::counters::Counters;
use super::forging::{Forged, Forging};
use super::fork_choice::{Evidence, Firsts, Stuck, Switch, TiedTips};
use super::limits::BAD_MAX;
use super::mempool::{Intake, LeftRows, LocalTransactions, Relay, Wanted};
use super::orders::TrustedBlocks;
use super::peers::{Peers, Questions, ServingBudget};
use super::sync::Following;
use super::{Action, Event, Notice, Round, Settings};
use crate::TxId;
use crate::genesis::Genesis;
use crate::pool::Pool;
use crate::port::{Reads, StoreFailure, Table};
use crate::state::{Fault, Overlay};

/// A node's deciding core: events in, rounds out.
#[derive(Debug)]
pub struct Core<R> {
    pub(super) genesis: Arc<Genesis>,
    pub(super) settings: Settings,
    pub(super) rows: Overlay<R>,
    pub(super) pool: Pool,
    pub(super) checker: SignatureChecker,
    /// The latest time passed in. It never goes back.
    pub(super) now_ms: u64,
    pub(super) actions: Vec<Action>,
    pub(super) intake: Intake,
    pub(super) relay: Relay,
    /// Transactions to gossip again, because a reorg put them back.
    pub(super) anew: VecDeque<TxId>,
    pub(super) own: LocalTransactions,
    pub(super) left: LeftRows,
    pub(super) peers: Peers,
    /// The budget for answers to all peers together.
    pub(super) serving: ServingBudget,
    pub(super) questions: Questions,
    pub(super) assemblies: Assemblies,
    pub(super) held: HeldBlocks,
    /// The first announced header of each forger on each parent.
    pub(super) firsts: Firsts,
    /// Pairs of signed headers by forgers that signed two blocks on one parent.
    pub(super) evidence: Evidence,
    pub(super) tied: TiedTips,
    pub(super) following: Following,
    pub(super) switch: Option<Switch>,
    /// Blocks that break a rule, and blocks after them.
    pub(super) bad: Remembered,
    pub(super) side: Side,
    pub(super) forging: Forging,
    /// Blocks that local keys have forged.
    pub(super) forged: Forged,
    pub(super) bundling: Bundling,
    pub(super) rates: Rates,
    pub(super) trusted: TrustedBlocks,
    pub(super) stuck: Option<Stuck>,
    /// Maximum height of the blocks whose bodies an operator ordered to be deleted.
    pub(super) pruning: Option<u32>,
    /// Ids from peers' pools to request, with their peers.
    pub(super) wanted: Wanted,
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
        now_ms: u64,
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
            checker: SignatureChecker::new(),
            now_ms,
            actions: Vec::new(),
            intake: Intake::default(),
            relay: Relay::new(settings.gossip_linger_ms),
            anew: VecDeque::new(),
            own: LocalTransactions::default(),
            left: LeftRows::open(&rows)?,
            peers: Peers::default(),
            serving: ServingBudget::of_all(now_ms),
            questions: Questions::default(),
            assemblies: Assemblies::default(),
            held: HeldBlocks::default(),
            firsts: Firsts::default(),
            evidence: Evidence::open(&rows)?,
            tied: TiedTips::default(),
            following: Following::new(),
            switch: None,
            bad: Remembered::new(BAD_MAX),
            side: Side::open(&rows)?,
            forging: Forging::new(&settings.forgers, now_ms),
            forged: Forged::open(&rows)?,
            bundling: Bundling::new(&settings.bundlers),
            rates: Rates::default(),
            trusted,
            stuck: None,
            pruning: None,
            wanted: Wanted::default(),
            counters: Counters::default(),
            more: false,
            genesis,
            settings,
            rows,
        };
        core.check_trusted()?;
        core.restore_record()?;
        core.restore_side()?;
        core.step_switch()?;
        // No follower was connected yet when these blocks joined again.
        core.actions.retain(|action| !is_of_a_block(action));
        Ok(core)
    }

    /// Handles one event at a time in milliseconds since genesis.
    ///
    /// # Errors
    /// The store fails. The node must stop.
    pub fn handle(&mut self, now_ms: u64, event: Event) -> Result<(), StoreFailure> {
        self.now_ms = self.now_ms.max(now_ms);
        match event {
            Event::PeerUp(peer) => {
                self.peers.add(peer, self.now_ms);
                self.rates.say_soon();
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
            } => self.answered(peer, ticket, result),
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
                self.rates.say_soon();
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
    pub fn flush(&mut self, now_ms: u64) -> Result<Round, StoreFailure> {
        self.now_ms = self.now_ms.max(now_ms);
        self.more = false;
        self.settle_intake()?;
        self.give_up_late()?;
        self.pool.expire(self.now_seconds());
        self.step_switch()?;
        self.release_held(Release::BeforeOwn)?;
        self.follow()?;
        self.say_rates_if_due()?;
        self.bundle_if_due()?;
        self.forge_if_due()?;
        self.release_held(Release::All)?;
        self.ask_where_peers_stand();
        self.compare_pools();
        self.gossip_anew()?;
        self.relay_if_due();
        self.prune_on()?;
        self.settle_pool()?;
        self.write_left()?;
        Ok(Round {
            batch: self.rows.take_batch(),
            actions: std::mem::take(&mut self.actions),
        })
    }

    /// Marks the oldest open round as durable. Every flushed round must be committed in order, including empty ones.
    pub fn committed(&mut self) {
        self.rows.committed();
    }

    /// Returns the next time at which [`Core::flush`] has work, in milliseconds since genesis, if no event comes before.
    #[must_use]
    pub fn next_wake(&self) -> Option<u64> {
        if self.more || !self.intake.is_empty() {
            return Some(self.now_ms);
        }
        let wakes = [
            self.parts_next_time_ms(),
            self.following_due_ms(),
            self.forging_due_ms(),
            self.bundling_due_ms(),
            self.rates_due_ms(),
            self.statuses_due_ms(),
            self.anew_due_ms(),
        ];
        wakes.into_iter().flatten().min()
    }

    /// Returns the time in whole seconds since genesis.
    pub(super) fn now_seconds(&self) -> u32 {
        u32::try_from(self.now_ms / 1_000).unwrap_or(u32::MAX)
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
