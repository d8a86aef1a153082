//! The node as the HTTP API sees it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use api::{
    Balance, Balances, ChainPage, ConsumedEntry, ConsumedPage, Drain, FlowInfo, FlowJournal,
    FlowList, FlowOrder, FlowOrdered, FlowQuery, Fungible, Health, LedgerEntry, LedgerPage,
    NetworkView, NodeState, NodeView, NotaryView, NoteView, PartyView, PeersView, RawJson,
    SchedulePage, StateEntry, StatesPage, TransactionView, VaultAnswer, VaultQuery, Wait,
};
use flow::{FlowId, FlowRegistry};
use kernel::port::{Reads, StoreFailure, Table};
use kernel::{Event, Reply, Start, Token, decode_row, ledger_page};
use ledger::{ContractRegistry, NetworkMap, NodeInfo, StateRef, TransactionState, TxId};
use primitives::Decode;
use store::{Embedded, StateFilter, StateRow, VaultReader, ViewProgress};

use super::columns::Columns;
use super::shared::Shared;
use super::start::VIEW_FAILED;
use super::vault_changes::ChangeReader;
use super::vault_query::{Leash, QUERY_RETRY_MS, Searcher, Waiting, late};
use super::view::notary_of;
use super::{figures, ledger_reads};
use crate::http::{
    Answer, FlowAction, Followers, NodeService, Pending, Refusal, StartRequest, Ticket,
    VaultChanges, transaction_view,
};

/// What "busy" suggests while the vault's view catches up.
const VIEW_RETRY_MS: u64 = 500;

/// See the module.
pub(super) struct Service {
    pub(super) shared: Arc<Shared>,
    pub(super) info: NodeInfo,
    pub(super) network: Arc<NetworkMap>,
    pub(super) contracts: Arc<ContractRegistry>,
    pub(super) columns: Arc<Columns>,
    pub(super) flows: Arc<FlowRegistry>,
    pub(super) keys: Vec<primitives::PublicKey>,
    pub(super) store: Embedded,
    pub(super) readers: Arc<Readers>,
    pub(super) progress: ViewProgress,
    pub(super) net: net::Handle,
    pub(super) started: Instant,
}

/// Connections to the view's file for queries, as many as are used at once.
pub(super) struct Readers {
    /// Places for queries whose cost is the client's choice.
    pub(super) queries: Arc<tokio::sync::Semaphore>,
    pub(super) idle: std::sync::Mutex<Vec<VaultReader>>,
    pub(super) open: Box<dyn Fn() -> Result<VaultReader, store::ViewError> + Send + Sync>,
}

impl Readers {
    fn with<T>(
        &self,
        query: impl FnOnce(&VaultReader) -> Result<T, store::ViewError>,
    ) -> Result<T, Refusal> {
        self.lend(|reader| query(reader).map_err(|error| view_refusal(&error)))
    }

    fn lend<T>(
        &self,
        query: impl FnOnce(&VaultReader) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let lock = || {
            self.idle
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        };
        let idle = lock().pop();
        let reader = match idle {
            Some(reader) => reader,
            None => (self.open)().map_err(|error| view_refusal(&error))?,
        };
        let answer = query(&reader);
        lock().push(reader);
        answer
    }
}

pub(super) fn view_refusal(error: &store::ViewError) -> Refusal {
    Refusal {
        code: VIEW_FAILED.code.into(),
        message: error.to_string(),
        hint: VIEW_FAILED.action.into(),
        retry_after_ms: None,
    }
}

pub(super) fn store_refusal(failure: &StoreFailure) -> Refusal {
    Refusal {
        code: failure.code.into(),
        message: failure.message.clone(),
        hint: failure.hint.into(),
        retry_after_ms: None,
    }
}

fn stopping() -> Refusal {
    Refusal::listed(&api::codes::NODE_STOPPING, "the node is stopping")
}

pub(super) fn joined<T>(
    outcome: Result<Result<T, Refusal>, tokio::task::JoinError>,
) -> Result<T, Refusal> {
    outcome.unwrap_or_else(|_| {
        Err(Refusal::listed(
            &api::codes::NODE_STOPPING,
            "the query was given up",
        ))
    })
}

fn kernel_wait(wait: Wait) -> kernel::Wait {
    match wait {
        Wait::None => kernel::Wait::Accepted,
        Wait::Finalised => kernel::Wait::Finalised,
        Wait::Delivered => kernel::Wait::Delivered,
    }
}

impl Service {
    /// Waits until the view shows everything acknowledged before the call.
    async fn view_ready(&self, deadline: Instant) -> Result<u64, Refusal> {
        let wanted = self.shared.view.fed_seq();
        let (progress, feed) = (self.progress.clone(), Arc::clone(&self.shared.view));
        if progress.upto() >= wanted {
            return Ok(progress.upto());
        }
        let waited = tokio::task::spawn_blocking(move || {
            let left = deadline.saturating_duration_since(Instant::now());
            if progress.wait_for(wanted, left) {
                return Ok(progress.upto());
            }
            let text = match feed.failure() {
                Some(why) => format!("the vault's view stands still: {why}"),
                None => format!("the vault's view is at {} of {wanted}", progress.upto()),
            };
            Err(Refusal {
                retry_after_ms: Some(VIEW_RETRY_MS),
                ..Refusal::listed(&api::codes::VIEW_BEHIND, text)
            })
        });
        joined(waited.await)
    }

    fn state(&self) -> NodeState {
        if self.shared.replies.failure().is_some() {
            NodeState::Failed
        } else if *self.shared.drained.borrow() {
            NodeState::Drained
        } else if self.shared.is_draining() {
            NodeState::Draining
        } else {
            NodeState::Ready
        }
    }

    fn prepare(&self, start: StartRequest<'_>) -> Option<(Ticket, Start)> {
        let StartRequest {
            flow_id,
            seed,
            flow,
            version,
            args,
            user,
            client_id,
            wait,
            ticket,
        } = start;
        let encoded = match version {
            Some(version) => Ok(version),
            None => self.flows.current_version(flow),
        };
        let encoded = encoded.and_then(|v| self.flows.args_from_json(flow, v, args.as_bytes()));
        let args = match encoded {
            Ok(args) => args,
            Err(error) => {
                ticket.answer(Answer::Refused(error.to_rejection().into()));
                return None;
            }
        };
        let start = Start {
            flow: flow_id,
            seed,
            name: flow.to_owned(),
            version,
            args,
            user: user.to_string(),
            client_id: client_id.map(str::to_owned),
            wait: kernel_wait(wait),
            token: Token(ticket.id()),
        };
        Some((ticket, start))
    }

    /// The legal names of the peers connected now.
    fn connected_peers(&self) -> Vec<String> {
        let peers = self.net.peers().into_iter();
        let connected = peers.filter(|peer| peer.address.is_some());
        let names = connected.map(|peer| match self.network.party(&peer.peer) {
            Some(party) => party.name.to_string(),
            None => peer.peer.to_string(),
        });
        names.collect()
    }

    fn describe(&self, state: &TransactionState) -> Option<ledger::StateFacts> {
        self.contracts.describe(state).ok()
    }
}

impl NodeService for Service {
    fn start(&self, starts: Vec<StartRequest<'_>>) {
        let behind = self.shared.view.is_behind();
        let mut tickets = Vec::with_capacity(starts.len());
        let mut events = Vec::with_capacity(starts.len());
        for start in starts {
            if behind {
                start
                    .ticket
                    .answer(Answer::Refused(Refusal::busy(VIEW_RETRY_MS)));
                continue;
            }
            if let Some((ticket, start)) = self.prepare(start) {
                tickets.push(ticket);
                events.push(Event::Start(Box::new(start)));
            }
        }
        if !tickets.is_empty() && self.shared.replies.register(tickets) {
            self.shared.mailbox.push_all(events);
        }
    }

    fn attach(&self, flow_id: FlowId, wait: Wait, ticket: Ticket) {
        let token = Token(ticket.id());
        if self.shared.replies.register([ticket]) {
            let wait = kernel_wait(wait);
            self.shared.mailbox.push(Event::Attach {
                flow: flow_id,
                wait,
                token,
            });
        }
    }

    fn detach(&self, tickets: &[u64]) {
        self.shared.replies.forget(tickets);
        for ticket in tickets {
            self.shared.mailbox.push(Event::Detach {
                token: Token(*ticket),
            });
        }
    }

    fn cancel(&self, flow_id: FlowId, ticket: Ticket) {
        let token = Token(ticket.id());
        if self.shared.replies.register([ticket]) {
            self.shared.mailbox.push(Event::Cancel {
                flow: flow_id,
                token,
            });
        }
    }

    fn forget_client_id(&self, user: &Arc<str>, client_id: &str, ticket: Ticket) {
        let token = Token(ticket.id());
        if self.shared.replies.register([ticket]) {
            let (user, client_id) = (user.to_string(), client_id.to_owned());
            self.shared.mailbox.push(Event::RemoveClient {
                user,
                client_id,
                token,
            });
        }
    }

    fn output_to_json(&self, flow: &str, version: u32, output: &[u8]) -> Result<RawJson, Refusal> {
        let json = self.flows.output_to_json(flow, version, output);
        let json = json.map_err(|error| Refusal::from(error.to_rejection()))?;
        serde_json::value::RawValue::from_string(json).map_err(|error| {
            let text = format!("the output of {flow} is not JSON: {error}");
            Refusal::listed(&api::codes::INTERNAL, text)
        })
    }

    fn flows(
        &self,
        query: FlowQuery,
        after: Option<FlowId>,
        limit: usize,
    ) -> Pending<'_, FlowList> {
        Box::pin(async move {
            let filter = self.filter(query)?;
            let mut flows = self.live(filter, after, limit.saturating_add(1)).await?;
            let more = flows.len() > limit;
            flows.truncate(limit);
            let last = flows.last().filter(|_| more);
            let next = last.map(|flow| flow.flow_id.clone());
            Ok(FlowList { flows, next })
        })
    }

    fn order(
        &self,
        action: FlowAction,
        flow: Option<FlowId>,
        order: FlowOrder,
    ) -> Pending<'_, FlowOrdered> {
        Box::pin(self.ordered(action, flow, order))
    }

    fn journal(&self, flow: FlowId, after: Option<u32>, limit: usize) -> Pending<'_, FlowJournal> {
        Box::pin(self.journal_of(flow, after, limit))
    }

    fn balances(&self, deadline: Instant) -> Pending<'_, Balances> {
        Box::pin(async move {
            let view_seq = self.view_ready(deadline).await?;
            let readers = Arc::clone(&self.readers);
            let found = tokio::task::spawn_blocking(move || readers.with(VaultReader::balances));
            let balances = joined(found.await)?.into_iter().map(|balance| Balance {
                token: primitives::hex::encode(&balance.token.id),
                symbol: balance.token.symbol,
                issuer: balance.token.issuer,
                quantity: balance.quantity.to_string(),
                states: balance.states,
            });
            Ok(Balances {
                view_seq,
                balances: balances.collect(),
            })
        })
    }

    fn states(
        &self,
        after: Option<u64>,
        limit: usize,
        deadline: Instant,
    ) -> Pending<'_, StatesPage> {
        Box::pin(async move {
            let view_seq = self.view_ready(deadline).await?;
            let readers = Arc::clone(&self.readers);
            let after = after.map_or(0, |after| i64::try_from(after).unwrap_or(i64::MAX));
            let found = tokio::task::spawn_blocking(move || {
                readers.with(|reader| reader.unconsumed(&StateFilter::default(), after, limit))
            });
            let rows = joined(found.await)?;
            let next = rows
                .last()
                .filter(|_| rows.len() == limit)
                .map(|row| row.cursor as u64);
            let states = rows.into_iter().map(|row| self.state_entry(row)).collect();
            Ok(StatesPage {
                view_seq,
                states,
                next,
            })
        })
    }

    fn vault_query(&self, query: VaultQuery, deadline: Instant) -> Pending<'_, VaultAnswer> {
        Box::pin(async move {
            let place = Arc::clone(&self.readers.queries).try_acquire_owned();
            let place = place.map_err(|_| Refusal::busy(QUERY_RETRY_MS))?;
            let view_seq = self.view_ready(deadline).await?;
            let readers = Arc::clone(&self.readers);
            let leash = Leash::default();
            let searcher = Searcher {
                store: self.store.clone(),
                network: Arc::clone(&self.network),
                me: self.info.party.id(),
                columns: Arc::clone(&self.columns),
                leash: leash.clone(),
            };
            // Dropped with this future at the deadline, and when the client goes.
            let _waiting = Waiting(leash);
            let search = tokio::task::spawn_blocking(move || {
                let _place = place;
                readers.lend(|reader| searcher.answer(reader, query))
            });
            let found = tokio::time::timeout_at(deadline.into(), search).await;
            let mut answer = joined(found.map_err(|_| late())?)?;
            answer.view_seq = view_seq;
            Ok(answer)
        })
    }

    fn transaction(&self, id: TxId) -> Pending<'_, TransactionView> {
        Box::pin(async move {
            let store = self.store.clone();
            let found = tokio::task::spawn_blocking(move || {
                let fail = |failure: StoreFailure| store_refusal(&failure);
                let Some(seq) = store.get(Table::TxIndex, id.as_bytes()).map_err(fail)? else {
                    return Ok(None);
                };
                Ok(store
                    .get(Table::Ledger, &seq)
                    .map_err(fail)?
                    .map(|row| (seq, row)))
            });
            let Some((seq, row)) = joined(found.await)? else {
                let text = format!("transaction {id} is not recorded here");
                return Err(Refusal::listed(&api::codes::UNKNOWN_TRANSACTION, text));
            };
            let seq = kernel::rows::seq_of(&seq).unwrap_or_default();
            let (_, transaction) = decode_row(&row)
                .map_err(|error| Refusal::listed(&api::codes::INTERNAL, error.to_string()))?;
            Ok(transaction_view(
                seq,
                &transaction,
                &self.network,
                |state| self.describe(state),
            ))
        })
    }

    fn ledger(&self, after: Option<u64>, limit: usize) -> Pending<'_, LedgerPage> {
        Box::pin(async move {
            let store = self.store.clone();
            let found = tokio::task::spawn_blocking(move || {
                let page = ledger_page(&store, after.unwrap_or(0), limit);
                let page = page.map_err(|failure| store_refusal(&failure))?;
                let entries = page
                    .rows
                    .into_iter()
                    .map(|(seq, row)| {
                        let (_, transaction) = decode_row(&row).map_err(|error| {
                            Refusal::listed(&api::codes::INTERNAL, error.to_string())
                        })?;
                        Ok(LedgerEntry {
                            seq,
                            id: transaction.id().to_string(),
                        })
                    })
                    .collect::<Result<Vec<LedgerEntry>, Refusal>>()?;
                Ok((entries, page.more))
            });
            let (entries, more) = joined(found.await)?;
            let next = entries.last().filter(|_| more).map(|entry| entry.seq);
            Ok(LedgerPage { entries, next })
        })
    }

    fn chain(&self, id: TxId, before: Option<u64>, limit: usize) -> Pending<'_, ChainPage> {
        let store = self.store.clone();
        Box::pin(async move {
            let read = move || ledger_reads::chain(&store, &id, before, limit);
            joined(tokio::task::spawn_blocking(read).await)
        })
    }

    fn notes(&self, id: TxId) -> Pending<'_, Vec<NoteView>> {
        let store = self.store.clone();
        Box::pin(async move {
            joined(tokio::task::spawn_blocking(move || ledger_reads::notes(&store, &id)).await)
        })
    }

    fn add_note(&self, id: TxId, user: &Arc<str>, text: String) -> Pending<'_, NoteView> {
        let user = user.to_string();
        Box::pin(async move {
            let mut salt = [0; 4];
            getrandom::fill(&mut salt)
                .map_err(|error| Refusal::listed(&api::codes::INTERNAL, error.to_string()))?;
            let token = Token(Ticket::next_id());
            let reply = self.shared.replies.once(token);
            let row = kernel::NoteRow {
                user,
                at: primitives::Timestamp::EPOCH,
                text,
            };
            self.shared.mailbox.push(Event::Note {
                transaction: id,
                salt,
                user: row.user.clone(),
                text: row.text.clone(),
                token,
            });
            match reply.await {
                Ok(Reply::Noted { note, at }) => Ok(ledger_reads::note_view(
                    &note,
                    kernel::NoteRow { at, ..row },
                )),
                Ok(Reply::Rejected(rejection)) => Err(rejection.into()),
                _ => Err(stopping()),
            }
        })
    }

    fn remove_note(&self, id: TxId, note: kernel::NoteId) -> Pending<'_, ()> {
        Box::pin(async move {
            let token = Token(Ticket::next_id());
            let reply = self.shared.replies.once(token);
            self.shared.mailbox.push(Event::RemoveNote {
                transaction: id,
                note,
                token,
            });
            match reply.await {
                Ok(Reply::Done) => Ok(()),
                Ok(Reply::Rejected(rejection)) => Err(rejection.into()),
                _ => Err(stopping()),
            }
        })
    }

    fn schedule(&self, after: Option<Vec<u8>>, limit: usize) -> Pending<'_, SchedulePage> {
        let (store, now) = (self.store.clone(), self.shared.clock.now());
        Box::pin(async move {
            let read = move || ledger_reads::schedule(&store, after, limit, now);
            joined(tokio::task::spawn_blocking(read).await)
        })
    }

    fn consumed(&self, after: Option<StateRef>, limit: usize) -> Pending<'_, ConsumedPage> {
        Box::pin(async move {
            if self.info.notary.is_none() {
                let text = "this node is no notary";
                return Err(Refusal::listed(&api::codes::NOT_A_NOTARY, text));
            }
            let store = self.store.clone();
            let found = tokio::task::spawn_blocking(move || {
                let from = match after {
                    Some(after) => [kernel::rows::state_ref_key(&after).as_slice(), &[0]].concat(),
                    None => Vec::new(),
                };
                let rows = store.scan(Table::NotaryStates, &from, None, limit);
                rows.map_err(|failure| store_refusal(&failure))
            });
            let rows = joined(found.await)?;
            let full = rows.len() == limit;
            let entries: Vec<ConsumedEntry> = rows
                .into_iter()
                .filter_map(|(key, value)| {
                    let reference = kernel::rows::state_ref_of(&key)?;
                    let consumed_by = TxId::from_array(value.get(..32)?.try_into().ok()?);
                    Some(ConsumedEntry {
                        state_ref: reference.to_string(),
                        consumed_by: consumed_by.to_string(),
                    })
                })
                .collect();
            let next = entries
                .last()
                .filter(|_| full)
                .map(|entry| entry.state_ref.clone());
            Ok(ConsumedPage { entries, next })
        })
    }

    fn followers(&self) -> &Arc<Followers> {
        &self.shared.followers
    }

    fn vault_seq(&self) -> tokio::sync::watch::Receiver<u64> {
        self.shared.view.reached()
    }

    fn vault_changes(&self, after: u64, upto: u64, limit: usize) -> Pending<'_, VaultChanges> {
        Box::pin(async move {
            let reader = ChangeReader {
                store: self.store.clone(),
                keys: self.keys.clone(),
                contracts: Arc::clone(&self.contracts),
                network: Arc::clone(&self.network),
            };
            joined(tokio::task::spawn_blocking(move || reader.read(after, upto, limit)).await)
        })
    }

    fn node(&self) -> NodeView {
        let figures = self.shared.figures();
        NodeView {
            name: self.info.party.name.to_string(),
            party_id: self.info.party.id().to_string(),
            key: self.info.party.key.to_text(),
            notary: notary_view(&self.info),
            addresses: self.info.addresses.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            platform_version: self.info.platform_version,
            state: self.state(),
            uptime_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            flows_in_flight: figures.flows_live,
            flows_queued: figures.flows_queued,
            ledger_seq: figures.transactions,
            view_seq: self.progress.upto(),
            peers: self.connected_peers(),
            flows: self
                .flows
                .list()
                .into_iter()
                .filter(|flow| !flow.versions.is_empty())
                .map(|flow| FlowInfo {
                    name: flow.name.to_owned(),
                    versions: flow.versions,
                    arguments: flow.arguments.iter().map(|a| a.name.to_owned()).collect(),
                })
                .collect(),
        }
    }

    fn network(&self) -> NetworkView {
        let parameters = self.network.parameters();
        NetworkView {
            parameters: parameters.hash().to_string(),
            max_message_bytes: parameters.max_message_bytes,
            max_transaction_bytes: parameters.max_transaction_bytes,
            issued_at_ms: parameters.issued_at.as_ms(),
            notaries: parameters
                .notaries
                .iter()
                .map(|n| n.name.to_string())
                .collect(),
            nodes: self
                .network
                .nodes()
                .map(|(id, info)| PartyView {
                    name: info.party.name.to_string(),
                    party_id: id.to_string(),
                    key: info.party.key.to_text(),
                    addresses: info.addresses.clone(),
                    notary: notary_view(info),
                })
                .collect(),
        }
    }

    fn peers(&self) -> PeersView {
        super::peers::view(&self.net, &self.network)
    }

    fn drain(&self) -> Drain {
        if !self.shared.draining.swap(true, Ordering::Relaxed) {
            self.shared.mailbox.push(Event::Drain);
        }
        Drain {
            state: self.state(),
            flows_in_flight: self.shared.figures().flows_live,
        }
    }

    fn health(&self) -> Health {
        let state = self.state();
        let (fed, upto) = (self.shared.view.fed_seq(), self.progress.upto());
        let failed = self
            .shared
            .replies
            .failure()
            .map(|rejection| rejection.to_string());
        Health {
            live: state != NodeState::Failed,
            ready: state == NodeState::Ready,
            state,
            ledger_seq: fed,
            view_seq: upto,
            view_lag: fed.saturating_sub(upto),
            message: failed.or_else(|| self.shared.view.failure()),
        }
    }

    fn refresh_metrics(&self) {
        let metrics = &self.shared.metrics;
        figures::show_kernel(metrics, &self.shared.figures());
        figures::show_net(metrics, &self.net.figures());
        metrics.blocks.set_blocks(self.store.block_cache());
        metrics.view_seq.set_count(self.progress.upto());
        let connected = self.connected_peers().len();
        metrics.peers_connected.set_count(connected as u64);
    }
}

impl Service {
    fn state_entry(&self, row: StateRow) -> StateEntry {
        let reference = StateRef::new(TxId::from_array(row.tx), row.output);
        let notary = notary_of(&row);
        let linear_id = TransactionState::from_bytes(&row.state)
            .ok()
            .and_then(|state| self.describe(&state))
            .and_then(|facts| facts.linear_id);
        StateEntry {
            number: row.cursor as u64,
            state_ref: reference.to_string(),
            contract: row.contract,
            fungible: row.token.map(|token| Fungible {
                token: primitives::hex::encode(&token.id),
                symbol: token.symbol,
                issuer: token.issuer,
                quantity: row.quantity,
            }),
            linear_id: linear_id.map(|id| id.to_string()),
            notary: match self.network.party(&notary) {
                Some(party) => party.name.to_string(),
                None => notary.to_string(),
            },
        }
    }
}

fn notary_view(info: &NodeInfo) -> Option<NotaryView> {
    info.notary.as_ref().map(|notary| NotaryView {
        validating: notary.validating,
    })
}

/// How long the node waits for its last writes when it stops.
pub(super) const STOP_PATIENCE: Duration = Duration::from_secs(5);
