//! The kernel itself: its parts, its rounds, and how events become one commit.
//!
//! # Invariants
//! - One round is `handle` any number of times, then `flush` once: one [`Action::Commit`] at most.
//! - Whatever leaves the node (messages, replies) is in the `then` of the round's commit, so it leaves after that batch and
//!   all earlier ones are durable. A round that writes nothing while nothing is being written acts at once.
//! - No signature is checked alone when others wait: checks of a round are one batch.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use flow::{EngineAction, FlowEngine, FlowId, FlowRegistry};
use ledger::{ContractRegistry, NetworkMap, Party, PartyId, Rejection, SignedTransaction, TxId};
use primitives::{Hash, KeyPair, PublicKey, SignatureChecker, SignedMessage, Timestamp};
use vault::{Selection, ViewChange};

use crate::book::Book;
use crate::cache::GenerationCache;
use crate::clients::Clients;
use crate::desk::Desk;
use crate::effects::HeldSelect;
use crate::event::{Action, Event, Priority, Reply, Token};
use crate::figures::Figures;
use crate::intake::{Intake, ItemId};
use crate::links::Links;
use crate::message::PeerMessage;
use crate::options::KernelOptions;
use crate::port::{Reads, StoreFailure, WriteBatch};
use crate::starts::Starts;

/// What a node is, beside its data: fixed while it runs.
pub struct Identity {
    /// This node's party.
    pub me: Party,
    /// The keys it signs with; the party's own key among them.
    pub keys: Vec<KeyPair>,
    /// Parameters and node infos.
    pub network: Arc<NetworkMap>,
    /// The contracts it can run.
    pub contracts: Arc<ContractRegistry>,
    /// The flows it can run.
    pub flows: Arc<FlowRegistry>,
}

/// Something to be done within the round.
pub(crate) enum Work {
    /// Actions of the flow engine.
    Engine(EngineAction),
    /// An item's signatures are good.
    Signed(ItemId),
    /// An item's dependencies are all recorded.
    Ready(ItemId),
    /// An item is given up.
    Refuse(ItemId, Rejection),
    /// A message of this node to itself.
    Loopback(PeerMessage),
}

/// Who asked for a signature check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CheckOwner {
    /// A transaction on its way.
    Item(ItemId),
    /// A flow's effect.
    Effect(FlowId, u32),
    /// A request to this notary, by its number within the desk.
    Notary(u64),
}

/// What a round has gathered.
#[derive(Default)]
pub(crate) struct Round {
    pub(crate) batch: WriteBatch,
    pub(crate) then: Vec<Action>,
    pub(crate) checks: Vec<(CheckOwner, SignedMessage)>,
    pub(crate) recorded: Vec<TxId>,
    pub(crate) changes: Vec<ViewChange>,
    /// A part of a back chain was verified in this round.
    pub(crate) chain_verified: bool,
    /// The notary has decided a batch in this round.
    pub(crate) notary_decided: bool,
}

/// What becomes true when a commit is durable.
struct InCommit {
    number: u64,
    recorded: Vec<TxId>,
    changes: Vec<ViewChange>,
}

/// One node's deciding core. See the crate's page for how it is driven.
pub struct Kernel {
    pub(crate) options: KernelOptions,
    pub(crate) identity: Identity,
    pub(crate) my_id: PartyId,
    pub(crate) keys: BTreeMap<PublicKey, usize>,
    pub(crate) now: Timestamp,
    pub(crate) engine: FlowEngine,
    pub(crate) engine_out: Vec<EngineAction>,
    pub(crate) links: Links,
    pub(crate) intake: Intake,
    pub(crate) book: Book,
    pub(crate) selection: Selection,
    pub(crate) desk: Option<Desk>,
    pub(crate) clients: Clients,
    pub(crate) starts: Starts,
    pub(crate) checker: SignatureChecker,
    /// Signed messages known to be good: our own, and those checked before.
    pub(crate) known_good: GenerationCache<Hash, ()>,
    /// Transactions whose contracts accepted them, recorded or not.
    pub(crate) verified: GenerationCache<TxId, ()>,
    /// Recent transactions that only this node has: sent along as dependencies.
    pub(crate) unshared: GenerationCache<TxId, Arc<SignedTransaction>>,
    pub(crate) awaiting: BTreeMap<TxId, Vec<(FlowId, u32)>>,
    pub(crate) sleeping: BTreeMap<(Timestamp, FlowId, u32), ()>,
    pub(crate) held_selects: VecDeque<HeldSelect>,
    pub(crate) work: VecDeque<Work>,
    pub(crate) round: Round,
    pub(crate) figures: Figures,
    next_commit: u64,
    committed: u64,
    in_commit: VecDeque<InCommit>,
}

impl Kernel {
    pub(crate) fn assemble(
        options: KernelOptions,
        identity: Identity,
        book: Book,
        links: Links,
        desk: Option<Desk>,
        now: Timestamp,
    ) -> Self {
        let my_id = identity.me.id();
        let keys = identity.keys.iter().enumerate();
        let keys: BTreeMap<PublicKey, usize> =
            keys.map(|(i, key)| (key.public().clone(), i)).collect();
        let engine = FlowEngine::new(
            Arc::clone(&identity.flows),
            identity.me.clone(),
            Arc::clone(&identity.network),
            options.entropy,
            options.flow,
        );
        let selection = Selection::new(options.selection, book.last_seq());
        Self {
            my_id,
            keys,
            now,
            engine,
            engine_out: Vec::new(),
            links,
            intake: Intake::default(),
            book,
            selection,
            desk,
            clients: Clients::new(options.outcomes_bytes),
            starts: Starts::default(),
            checker: SignatureChecker::new(),
            known_good: GenerationCache::new(options.known_signatures_bytes),
            verified: GenerationCache::new(options.known_signatures_bytes),
            unshared: GenerationCache::new(options.unshared_bytes),
            awaiting: BTreeMap::new(),
            sleeping: BTreeMap::new(),
            held_selects: VecDeque::new(),
            work: VecDeque::new(),
            round: Round::default(),
            figures: Figures::default(),
            next_commit: 1,
            committed: 0,
            in_commit: VecDeque::new(),
            options,
            identity,
        }
    }

    /// Takes one event. Nothing leaves before [`Kernel::flush`].
    ///
    /// # Errors
    /// The store could not be read: the node has to stop.
    pub fn handle(
        &mut self,
        event: Event,
        now: Timestamp,
        reads: &dyn Reads,
    ) -> Result<(), StoreFailure> {
        self.advance(now);
        match event {
            Event::Start(start) => self.on_start(*start, reads)?,
            Event::Attach { flow, wait, token } => self.on_attach(flow, wait, token, reads)?,
            Event::Detach { token } => self.clients.detach(token),
            Event::Cancel { flow, token } => self.on_cancel(flow, token),
            Event::Flows {
                after,
                limit,
                token,
            } => {
                let ids = self.engine.flow_ids();
                let ids = ids
                    .iter()
                    .filter(|id| after.is_none_or(|after| **id > after));
                let flows = ids
                    .take(limit)
                    .filter_map(|id| self.engine.status(id))
                    .collect();
                self.reply(token, Reply::Flows(flows));
            }
            Event::RemoveClient {
                user,
                client_id,
                token,
            } => self.on_remove_client(&user, &client_id, token, reads)?,
            Event::PeerUp { peer, epoch } => self.on_peer_up(peer, epoch, reads)?,
            Event::PeerDown { peer } => self.on_peer_down(peer),
            Event::Message { peer, bytes } => self.on_message(peer, &bytes, reads)?,
            Event::Committed { number } => self.on_committed(number),
            Event::Refilled {
                token,
                rows,
                view_seq,
                total,
                more,
            } => {
                let out = self
                    .selection
                    .refilled(token, rows, view_seq, total, more, self.now);
                self.on_selection(out);
            }
            Event::Tick => {}
            Event::Drain => self.starts.drain(),
        }
        self.settle(reads)
    }

    /// Ends a round: checks the signatures gathered, lets the notary decide, and says what is to be done.
    ///
    /// # Errors
    /// The store could not be read: the node has to stop.
    pub fn flush(
        &mut self,
        now: Timestamp,
        reads: &dyn Reads,
        out: &mut Vec<Action>,
    ) -> Result<(), StoreFailure> {
        self.advance(now);
        self.on_time(reads)?;
        loop {
            self.settle(reads)?;
            if !self.round.checks.is_empty() {
                self.check_signatures(reads)?;
                continue;
            }
            if self.verify_back_chains(reads)? {
                continue;
            }
            self.decide_notarisations(reads)?;
            if self.work.is_empty() && self.round.checks.is_empty() {
                break;
            }
        }
        self.engine.end_of_round(&mut self.engine_out);
        self.take_engine_actions();
        self.settle(reads)?;
        self.links_end_round(reads)?;
        self.close_round(out);
        Ok(())
    }

    /// The next time at which [`Event::Tick`] is due, if nothing else happens.
    pub fn next_wakeup(&self) -> Option<Timestamp> {
        let sleeping = self.sleeping.first_key_value().map(|((at, _, _), ())| *at);
        let work = self.starts.has_runnable().then_some(self.now);
        [
            sleeping,
            work,
            self.links.next_wakeup(),
            self.selection.next_deadline(),
            (self.intake.wants_round() || self.has_read_backs()).then_some(self.now),
            self.desk
                .as_ref()
                .is_some_and(Desk::can_decide)
                .then_some(self.now),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Counters and gauges for the metrics.
    pub fn figures(&self) -> Figures {
        let (cache_bytes, cache_hits, cache_misses) = self.book.cache_figures();
        Figures {
            flows_live: self.engine.live() as u64,
            flows_queued: self.starts.queued() as u64,
            transactions: self.book.last_seq(),
            transaction_cache_bytes: cache_bytes as u64,
            transaction_cache_hits: cache_hits,
            transaction_cache_misses: cache_misses,
            intake_items: self.intake.len() as u64,
            deliveries_pending: self.links.deliveries_pending(),
            outbox_pending: self
                .identity
                .network
                .nodes()
                .map(|(peer, _)| self.links.outbox_pending(peer))
                .sum(),
            notary_queued: self.desk.as_ref().map_or(0, |desk| desk.queued() as u64),
            requests_outstanding: self.links.requests_outstanding(),
            ..self.figures.clone()
        }
    }

    /// The flow engine, for inspection.
    pub fn flows(&self) -> &FlowEngine {
        &self.engine
    }

    /// The last position of the ledger, durable or about to be.
    pub fn last_seq(&self) -> u64 {
        self.book.last_seq()
    }

    fn advance(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        self.engine.set_now(self.now);
    }

    /// Works off everything that can be done without waiting.
    pub(crate) fn settle(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        self.pump_links(reads)?;
        while let Some(work) = self.work.pop_front() {
            match work {
                Work::Engine(action) => self.on_engine_action(action, reads)?,
                Work::Signed(item) => self.on_signed(item, reads)?,
                Work::Ready(item) => self.on_ready(item, reads)?,
                Work::Refuse(item, rejection) => self.refuse(item, rejection),
                Work::Loopback(message) => self.on_peer_message(self.my_id, message, reads)?,
            }
            if self.work.is_empty() {
                self.pump_links(reads)?;
            }
        }
        Ok(())
    }

    pub(crate) fn take_engine_actions(&mut self) {
        self.work
            .extend(self.engine_out.drain(..).map(Work::Engine));
    }

    /// Sends a message once the round is durable; to itself within the round.
    pub(crate) fn send(&mut self, peer: PartyId, priority: Priority, message: PeerMessage) {
        if peer == self.my_id {
            self.work.push_back(Work::Loopback(message));
            return;
        }
        let bytes = primitives::Encode::to_bytes(&message);
        self.round.then.push(Action::Send {
            peer,
            priority,
            bytes,
        });
    }

    pub(crate) fn reply(&mut self, token: Token, reply: Reply) {
        self.round.then.push(Action::Reply { token, reply });
    }

    pub(crate) fn log(&mut self, warning: bool, code: &'static str, message: String) {
        self.round.then.push(Action::Log {
            warning,
            code,
            message,
        });
    }

    fn close_round(&mut self, out: &mut Vec<Action>) {
        if self.starts.is_drained(self.engine.live()) && self.intake.len() == 0 {
            self.starts.drain_reported();
            self.round.then.push(Action::Drained);
        }
        let round = std::mem::take(&mut self.round);
        let nothing_written = round.batch.is_empty();
        if nothing_written && (self.in_commit.is_empty() || round.then.is_empty()) {
            self.round_without_commit();
            out.extend(round.then);
            return;
        }
        let number = self.next_commit;
        self.next_commit += 1;
        self.figures.commits += 1;
        self.figures.commit_rows += round.batch.writes.len() as u64;
        self.in_commit.push_back(InCommit {
            number,
            recorded: round.recorded,
            changes: round.changes,
        });
        out.push(Action::Commit {
            number,
            batch: round.batch,
            then: round.then,
        });
    }

    /// The number that this round's commit will have.
    pub(crate) fn round_number(&self) -> u64 {
        self.next_commit
    }

    fn on_committed(&mut self, number: u64) {
        self.committed = self.committed.max(number);
        while self.in_commit.front().is_some_and(|c| c.number <= number) {
            let Some(done) = self.in_commit.pop_front() else {
                break;
            };
            for id in &done.recorded {
                self.book.durable(id);
            }
            if !done.changes.is_empty() {
                let changes = done.changes;
                let out = self.selection.apply(changes, self.now);
                self.on_selection(out);
            }
        }
        for resolution in self.intake.resolutions_mut() {
            resolution.committed(number);
        }
        if let Some(desk) = &mut self.desk {
            desk.committed(number, self.now);
        }
        self.clients.committed(number);
        self.release_selects(number);
    }

    /// Every commit up to this one is durable.
    pub(crate) fn committed_number(&self) -> u64 {
        self.committed
    }
}
