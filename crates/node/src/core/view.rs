//! The vault view's thread: fed in the order of the ledger, asked for coins, and filled again from the ledger at start.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use flow::FlowId;
use kernel::port::{Reads, StoreFailure};
use kernel::{Event, Found, LINEAR_LOOKED_AT_MAX, LookUp, decode_row, ledger_page};
use ledger::{ContractRegistry, NetworkMap, PartyId, StateAndRef, StateRef, TxId};
use primitives::{Decode, Encode, PublicKey, Timestamp};
use store::{
    CoinCursor, ConsumedState, ProducedState, StateRow, TokenFacts, VaultReader, VaultView,
    ViewProgress,
};
use tokio::sync::watch;
use vault::{CoinRow, RefillRequest, ViewChange};

use super::columns::Columns;
use super::mailbox::Mailbox;
use super::start::VIEW_FAILED;
use crate::metrics::NodeMetrics;

/// Transactions of the ledger read at once when the view is filled again.
const FILL_PAGE: usize = 1_000;
/// Changes applied in one transaction of the view, about.
const APPLY_CHANGES: usize = 20_000;
/// Changes kept in memory for the view. What a busy peer delivers beyond it is read from the ledger when the view gets there.
const HELD_CHANGES_MAX: u64 = 20_000;
/// Changes that may wait, in memory or in the ledger, before the node takes no new starts.
pub(super) const LAG_CHANGES_MAX: u64 = 200_000;

/// What one transaction changes.
pub(super) type Fed = (u64, TxId, Timestamp, Vec<ViewChange>);

enum Job {
    Feed(Vec<Fed>),
    /// Follow the ledger up to here; so many changes are on the way.
    Follow {
        upto: u64,
        changes: u64,
    },
    Refill(RefillRequest),
    LookUp(FlowId, u32, LookUp),
    Stop,
}

/// The way to the view's thread.
pub(super) struct ViewFeed {
    jobs: Mutex<VecDeque<Job>>,
    arrived: Condvar,
    /// The last position fed; the view has to come there before what was acknowledged is seen.
    fed_seq: AtomicU64,
    waiting_changes: AtomicU64,
    /// Those of them that are in memory.
    held_changes: AtomicU64,
    failed: Mutex<Option<String>>,
    reached: watch::Sender<u64>,
}

impl ViewFeed {
    pub(super) fn new(ledger_end: u64) -> Self {
        Self {
            jobs: Mutex::default(),
            arrived: Condvar::new(),
            fed_seq: AtomicU64::new(ledger_end),
            waiting_changes: AtomicU64::new(0),
            held_changes: AtomicU64::new(0),
            failed: Mutex::default(),
            reached: watch::Sender::new(0),
        }
    }

    pub(super) fn feed(&self, fed: Vec<Fed>) {
        let changes = count(&fed);
        let Some((upto, ..)) = fed.last() else { return };
        let upto = *upto;
        self.waiting_changes.fetch_add(changes, Ordering::Relaxed);
        self.fed_seq.fetch_max(upto, Ordering::Release);
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Job::Follow {
            upto: end,
            changes: more,
        }) = jobs.back_mut()
        {
            *end = upto;
            *more += changes;
            return;
        }
        let full = self.held_changes.load(Ordering::Relaxed) + changes > HELD_CHANGES_MAX;
        if full {
            self.add(jobs, Job::Follow { upto, changes });
        } else {
            self.held_changes.fetch_add(changes, Ordering::Relaxed);
            self.add(jobs, Job::Feed(fed));
        }
    }

    pub(super) fn refill(&self, request: RefillRequest) {
        self.push(Job::Refill(request));
    }

    /// A question of a flow, answered after all that was fed before.
    pub(super) fn look_up(&self, flow: FlowId, effect: u32, what: LookUp) {
        self.push(Job::LookUp(flow, effect, what));
    }

    pub(super) fn stop(&self) {
        self.push(Job::Stop);
    }

    /// The position that the view has to reach to show everything acknowledged so far.
    pub(super) fn fed_seq(&self) -> u64 {
        self.fed_seq.load(Ordering::Acquire)
    }

    /// The position that the view has reached, for those who follow it.
    pub(super) fn reached(&self) -> watch::Receiver<u64> {
        self.reached.subscribe()
    }

    /// Whether new work has to wait for the view.
    pub(super) fn is_behind(&self) -> bool {
        self.waiting_changes.load(Ordering::Relaxed) > LAG_CHANGES_MAX
    }

    /// Why the view stands still, if it does.
    pub(super) fn failure(&self) -> Option<String> {
        self.failed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn push(&self, job: Job) {
        self.add(
            self.jobs.lock().unwrap_or_else(PoisonError::into_inner),
            job,
        );
    }

    fn add(&self, mut jobs: MutexGuard<'_, VecDeque<Job>>, job: Job) {
        let idle = jobs.is_empty();
        jobs.push_back(job);
        drop(jobs);
        if idle {
            self.arrived.notify_one();
        }
    }

    fn take(&self, into: &mut VecDeque<Job>) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        while jobs.is_empty() {
            jobs = self
                .arrived
                .wait(jobs)
                .unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::swap(into, &mut jobs);
    }

    fn fail(&self, why: String) {
        tracing::error!(
            code = VIEW_FAILED.code,
            hint = VIEW_FAILED.action,
            "the vault's view stands still: {why}"
        );
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }
}

/// What the thread owns.
pub(super) struct ViewThread<R> {
    pub(super) view: VaultView,
    pub(super) reader: VaultReader,
    pub(super) reads: R,
    pub(super) feed: Arc<ViewFeed>,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) contracts: Arc<ContractRegistry>,
    pub(super) network: Arc<NetworkMap>,
    pub(super) keys: Vec<PublicKey>,
    pub(super) columns: Arc<Columns>,
    pub(super) metrics: Arc<NodeMetrics>,
    /// The ledger's end when the node started: up to there the view is filled from the ledger.
    pub(super) ledger_end: u64,
}

impl<R: Reads> ViewThread<R> {
    /// Fills the view up to the ledger's end, then follows.
    pub(super) fn run(mut self) {
        if let Err(why) = self.follow(self.ledger_end) {
            self.feed.fail(why);
            return;
        }
        let mut jobs = VecDeque::new();
        let mut rows = Vec::new();
        let mut counted = 0;
        let mut upto = self.view.upto();
        loop {
            self.feed.take(&mut jobs);
            while let Some(job) = jobs.pop_front() {
                match job {
                    Job::Follow { upto: end, changes } => {
                        let followed = self.follow(end);
                        if let Err(why) = followed {
                            self.feed.fail(why);
                            return;
                        }
                        upto = upto.max(end);
                        self.feed
                            .waiting_changes
                            .fetch_sub(changes, Ordering::Relaxed);
                    }
                    Job::Feed(fed) => {
                        self.feed
                            .held_changes
                            .fetch_sub(count(&fed), Ordering::Relaxed);
                        for (seq, _, at, changes) in fed {
                            upto = upto.max(seq);
                            counted += changes.len() as u64;
                            if let Err(why) = self.rows_of(at, changes, &mut rows) {
                                self.feed.fail(why.message);
                                return;
                            }
                        }
                        let more = matches!(jobs.front(), Some(Job::Feed(_)));
                        if (!more || rows.len() >= APPLY_CHANGES)
                            && !self.apply(upto, &mut rows, &mut counted)
                        {
                            return;
                        }
                    }
                    Job::Refill(request) => {
                        if let Err(why) = self.refill(&request) {
                            self.feed.fail(why);
                            return;
                        }
                    }
                    Job::LookUp(flow, effect, what) => {
                        let found = match self.look_up(what) {
                            Ok(found) => found,
                            Err(why) => {
                                self.feed.fail(why);
                                return;
                            }
                        };
                        self.mailbox.push(Event::LookedUp {
                            flow,
                            effect,
                            found,
                        });
                    }
                    Job::Stop => return,
                }
            }
        }
    }

    fn apply(&mut self, upto: u64, rows: &mut Vec<store::ViewChange>, counted: &mut u64) -> bool {
        let began = Instant::now();
        let outcome = self.view.apply(upto, rows);
        self.metrics.view_batch.record(rows.len() as u64);
        self.metrics.view_time.record_time(began.elapsed());
        self.metrics.view_seq.set_count(upto);
        if outcome.is_ok() {
            self.feed.reached.send_replace(upto);
        }
        self.feed
            .waiting_changes
            .fetch_sub(std::mem::take(counted), Ordering::Relaxed);
        rows.clear();
        match outcome {
            Ok(()) => true,
            Err(error) => {
                self.feed.fail(error.to_string());
                false
            }
        }
    }

    /// Reads the ledger up to a position that it has reached, and no further: what comes after it is fed.
    fn follow(&mut self, end: u64) -> Result<(), String> {
        let mut rows = Vec::new();
        while self.view.upto() < end {
            let page = ledger_page(&self.reads, self.view.upto(), FILL_PAGE)
                .map_err(|failure| failure.message)?;
            let mut upto = None;
            for (seq, row) in page.rows.into_iter().take_while(|(seq, _)| *seq <= end) {
                let (at, transaction) = decode_row(&row).map_err(|error| error.to_string())?;
                let failed = std::cell::Cell::new(None);
                let changes = vault::changes(
                    seq,
                    transaction.wire(),
                    &|key| self.is_ours(key, &failed),
                    &|state| self.contracts.describe(state).ok(),
                );
                if let Some(failure) = failed.take() {
                    return Err(failure.message);
                }
                self.rows_of(at, changes, &mut rows)
                    .map_err(|failure| failure.message)?;
                upto = Some(seq);
            }
            let Some(upto) = upto else { break };
            self.view
                .apply(upto, &rows)
                .map_err(|error| error.to_string())?;
            rows.clear();
        }
        self.metrics.view_seq.set_count(self.view.upto());
        self.feed.reached.send_replace(self.view.upto());
        Ok(())
    }

    /// Whether a key is this node's: the party's own, or a fresh one.
    fn is_ours(&self, key: &PublicKey, failed: &std::cell::Cell<Option<StoreFailure>>) -> bool {
        if self.keys.contains(key) {
            return true;
        }
        if self.network.by_key(key).is_some() {
            return false;
        }
        kernel::is_own_key(key, &self.reads).unwrap_or_else(|failure| {
            failed.set(Some(failure));
            false
        })
    }

    fn rows_of(
        &self,
        at: Timestamp,
        changes: Vec<ViewChange>,
        rows: &mut Vec<store::ViewChange>,
    ) -> Result<(), StoreFailure> {
        for change in changes {
            match change {
                ViewChange::Produced(produced) => {
                    rows.push(store::ViewChange::Produced(produced_row(
                        at,
                        *produced,
                        &self.network,
                        &self.columns,
                    )));
                }
                ViewChange::Consumed(consumed) => {
                    let key = consumed.reference.tx.as_bytes();
                    let of_seq = self.reads.get(kernel::port::Table::TxIndex, key)?;
                    // Rows are never lost again once something consumed them here; without one it was never ours.
                    if let Some(of_seq) = of_seq.as_deref().and_then(kernel::rows::seq_of) {
                        rows.push(store::ViewChange::Consumed(ConsumedState {
                            of_seq,
                            output: consumed.reference.index,
                            seq: consumed.seq,
                            at: at.as_ms(),
                        }));
                    }
                }
            }
        }
        Ok(())
    }

    fn look_up(&self, what: LookUp) -> Result<Found, String> {
        let failed = |error: store::ViewError| error.to_string();
        match what {
            LookUp::Linear { contract, id } => {
                let rows = self
                    .reader
                    .linear(contract.as_str(), id.as_bytes(), LINEAR_LOOKED_AT_MAX)
                    .map_err(failed)?;
                let coins = rows.into_iter().filter_map(coin_row);
                Ok(Found::States(coins.map(|row| row.coin).collect()))
            }
            LookUp::Consumed(refs) => {
                for reference in refs {
                    let seq = self
                        .reads
                        .get(kernel::port::Table::TxIndex, reference.tx.as_bytes())
                        .map_err(|failure| failure.message)?;
                    let Some(seq) = seq.as_deref().and_then(kernel::rows::seq_of) else {
                        continue;
                    };
                    let row = self.reader.state_at(seq, reference.index).map_err(failed)?;
                    if row.is_some_and(|row| row.consumed_seq.is_some()) {
                        return Ok(Found::Consumed(Some(reference)));
                    }
                }
                Ok(Found::Consumed(None))
            }
        }
    }

    fn refill(&self, request: &RefillRequest) -> Result<(), String> {
        let token = request.token.as_bytes();
        let from = request
            .from
            .map(|at| CoinCursor::at_most(at.quantity, at.seq, at.index));
        let found = self
            .reader
            .coins(token, from, request.limit, |_, _| false)
            .map_err(|error| error.to_string())?;
        let total = self
            .reader
            .balance(token)
            .map_err(|error| error.to_string())?;
        let view_seq = self.view.upto();
        let more = found.len() >= request.limit;
        let rows = found.into_iter().filter_map(coin_row).collect();
        self.mailbox.push(Event::Refilled {
            token: request.token,
            rows,
            view_seq,
            total: total.map_or(0, |balance| balance.quantity),
            more,
        });
        Ok(())
    }
}

fn count(fed: &[Fed]) -> u64 {
    fed.iter()
        .map(|(_, _, _, changes)| changes.len() as u64)
        .sum()
}

fn produced_row(
    at: Timestamp,
    produced: vault::Produced,
    network: &NetworkMap,
    columns: &Columns,
) -> ProducedState {
    let vault::Produced { seq, state, facts } = produced;
    let StateAndRef { state, reference } = state;
    let (token, quantity) = match facts.fungible {
        Some(fungible) => {
            let id = *fungible.token.as_bytes();
            let facts = TokenFacts {
                id,
                symbol: fungible.symbol,
                issuer: network.title(&fungible.issuer),
            };
            (Some(facts), fungible.quantity)
        }
        None => (None, 0),
    };
    let only_owner = match (&facts.owner, facts.participants.as_slice()) {
        (Some(owner), [participant]) => owner == participant,
        _ => false,
    };
    ProducedState {
        tx: *reference.tx.as_bytes(),
        output: reference.index,
        seq,
        contract: state.contract.as_str().to_owned(),
        token,
        quantity,
        owner: facts.owner.map(|owner| owner.to_bytes()),
        participants: (!only_owner).then(|| facts.participants.to_bytes()),
        participant_keys: if only_owner {
            Vec::new()
        } else {
            facts.participants.iter().map(Encode::to_bytes).collect()
        },
        linear_id: facts.linear_id.map(|id| *id.as_bytes()),
        notary: *state.notary.id().as_bytes(),
        recorded_at: at.as_ms(),
        state: state.to_bytes(),
        columns: columns.row(state.contract.as_str(), facts.columns),
    }
}

fn coin_row(row: StateRow) -> Option<CoinRow> {
    // What the view holds was encoded here; a row that does not decode is passed over, and an audit shows it.
    let state = ledger::TransactionState::from_bytes(&row.state).ok()?;
    let reference = StateRef::new(TxId::from_array(row.tx), row.output);
    let coin = StateAndRef { state, reference };
    Some(CoinRow {
        coin,
        quantity: row.quantity,
        seq: row.seq,
    })
}

/// Opens the view's file beside the ledger.
pub(super) fn open(
    path: &Path,
    options: &store::ViewOptions,
    ledger_end: u64,
) -> Result<(VaultView, VaultReader, ViewProgress), store::ViewError> {
    let view = VaultView::open(path, options, ledger_end)?;
    let reader = view.reader()?;
    let progress = view.progress();
    Ok((view, reader, progress))
}

/// A notary's party id, as the view holds it.
pub(super) fn notary_of(row: &StateRow) -> PartyId {
    PartyId::from_array(row.notary)
}
