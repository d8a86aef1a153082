//! Live flows as the API shows them, and operators' orders for them.

use api::{
    FlowCause, FlowFailure, FlowJournal, FlowOrder, FlowOrdered, FlowQuery, FlowStatus,
    FlowSummary, FlowWait, JournalEntry,
};
use flow::{CHART_STEP, FlowId, JournalItem, Stage, WaitsFor, journal_items};
use kernel::port::Table;
use kernel::rows::{journal_key, prefix_end, split_journal_row};
use kernel::{Event, FlowFilter, Order, Reply, Standing, Token};
use ledger::{LegalName, PartyId, Rejection};
use primitives::storage::Reads;
use primitives::{Timestamp, hex};

use super::refusals::{joined, store_refusal};
use super::replies::status_of;
use super::service::Service;
use crate::http::place;
use crate::http::{FlowAction, Refusal, Ticket};

/// Approximate size of the journal rows read for one page, in bytes.
const JOURNAL_PAGE_BYTES: usize = 4 << 20;

impl Service {
    /// The kernel's filter for a query.
    pub(super) fn filter(&self, query: FlowQuery) -> Result<FlowFilter, Refusal> {
        let bad = |text: String| Refusal::listed(&api::codes::BAD_PARAMETER, text);
        let standing = match query.status {
            None => None,
            Some(FlowStatus::Running) => Some(Standing::Running),
            Some(FlowStatus::Retrying) => Some(Standing::Retrying),
            Some(FlowStatus::Parked) => Some(Standing::Parked),
            Some(FlowStatus::Paused) => Some(Standing::Paused),
            Some(ended) => {
                let text = format!("a live flow is never {}", ended.as_str());
                return Err(bad(text));
            }
        };
        let peer = query.peer.map(|name| {
            let parsed: Result<LegalName, _> = name.parse();
            parsed.map_err(|error| bad(format!("peer '{name}': {error}")))
        });
        Ok(FlowFilter {
            flow: None,
            name: query.flow,
            standing,
            code: query.code,
            user: query.user,
            peer: peer.transpose()?.map(|name| name.party_id()),
            older_than_ms: query.older_than_ms,
            stuck_ms: query.stuck_ms,
        })
    }

    /// Asks the kernel, which answers once.
    pub(super) async fn ask(&self, event: impl FnOnce(Token) -> Event) -> Result<Reply, Refusal> {
        let token = Token(Ticket::next_id());
        let reply = self.shared.replies.once(token);
        self.shared.kernel.tell(event(token));
        match reply.await {
            Ok(Reply::Rejected(rejection)) => Err(rejection.into()),
            Ok(reply) => Ok(reply),
            Err(_) => Err(Refusal::listed(
                &api::codes::NODE_STOPPING,
                "the node is stopping",
            )),
        }
    }

    /// Live flows that meet a filter.
    pub(super) async fn live(
        &self,
        filter: FlowFilter,
        after: Option<FlowId>,
        limit: usize,
    ) -> Result<Vec<FlowSummary>, Refusal> {
        let reply = self
            .ask(|token| Event::Flows {
                filter: Box::new(filter),
                after,
                limit,
                token,
            })
            .await?;
        match reply {
            Reply::Flows(flows) => Ok(flows.iter().map(|flow| self.summary(flow)).collect()),
            _ => Ok(Vec::new()),
        }
    }

    /// Carries out an order for a flow, or for those that meet a query.
    pub(super) async fn ordered(
        &self,
        action: FlowAction,
        flow: Option<FlowId>,
        order: FlowOrder,
    ) -> Result<FlowOrdered, Refusal> {
        let after: Option<FlowId> = match &order.after {
            None => None,
            Some(after) => Some(after.parse().map_err(|error| {
                let text = format!("after '{after}': {error}");
                Refusal::listed(&api::codes::BAD_PARAMETER, text)
            })?),
        };
        let mut filter = self.filter(order.query)?;
        filter.flow = flow;
        let reply = self
            .ask(|token| Event::Order {
                order: match action {
                    FlowAction::Retry => Order::Retry,
                    FlowAction::Pause => Order::Pause,
                    FlowAction::Resume => Order::Resume,
                    FlowAction::Kill => Order::Kill,
                },
                filter: Box::new(filter),
                after,
                dry_run: order.dry_run,
                token,
            })
            .await?;
        let Reply::Ordered(ordered) = reply else {
            return Ok(FlowOrdered::default());
        };
        Ok(FlowOrdered {
            matched: ordered.matched,
            done: ordered.done,
            waiting: ordered.waiting,
            flows: ordered.flows.iter().map(FlowId::to_string).collect(),
            next: ordered.next.map(|flow| flow.to_string()),
        })
    }

    /// A page of a live flow's journal.
    pub(super) async fn journal_of(
        &self,
        flow: FlowId,
        after: Option<u32>,
        limit: usize,
    ) -> Result<FlowJournal, Refusal> {
        let filter = FlowFilter {
            flow: Some(flow),
            ..FlowFilter::default()
        };
        let summary = self.live(filter, None, 1).await?.pop().ok_or_else(|| {
            let text = format!("no live flow {flow}: it has ended, or never was");
            Refusal::listed(&api::codes::UNKNOWN_FLOW, text)
        })?;
        let store = self.store.clone();
        // The last number is the chart's, which is no row of the page.
        let first = after.map_or(0, |after| after.saturating_add(1));
        let found = place::blocking(move || {
            let from = journal_key(&flow, first);
            let to = prefix_end(flow.as_bytes());
            store
                .scan(Table::Journal, &from, to.as_deref(), limit + 1)
                .map_err(|failure| store_refusal(&failure))
        });
        let rows = joined(found.await)?;
        let (mut entries, mut next, mut bytes, mut last) = (Vec::new(), None, 0, None);
        for (at, (key, value)) in rows.iter().enumerate() {
            let step = key
                .last_chunk::<4>()
                .map_or(0, |step| u32::from_be_bytes(*step));
            if step == CHART_STEP {
                break;
            }
            if at >= limit || bytes > JOURNAL_PAGE_BYTES {
                next = last;
                break;
            }
            bytes += value.len();
            last = Some(step);
            let row = split_journal_row(value).map_or(&[][..], |(_, row)| row);
            match journal_items(row) {
                Ok(items) => entries.extend(items.into_iter().map(|item| self.entry(step, item))),
                Err(error) => entries.push(JournalEntry {
                    row: step,
                    entry: "unreadable".to_owned(),
                    bytes: Some(value.len() as u64),
                    value: raw(&error.to_string()),
                    ..JournalEntry::default()
                }),
            }
        }
        Ok(FlowJournal {
            flow: summary,
            entries,
            next,
        })
    }

    fn entry(&self, row: u32, item: JournalItem) -> JournalEntry {
        let value = match item.start {
            Some((flow, version, args)) if item.peer.is_none() => {
                let args = self.flows.args_to_json(&flow, version, &args).ok();
                args.and_then(|json| serde_json::value::RawValue::from_string(json).ok())
            }
            _ => item.number.and_then(|number| raw(&number)),
        };
        JournalEntry {
            row,
            entry: item.entry.to_owned(),
            number: item.effect.map(|effect| effect & 0xffff),
            scope: item.effect.map(|effect| effect >> 16),
            kind: item.kind.map(str::to_owned),
            digest: item.digest.map(|digest| format!("{digest:016x}")),
            peer: item.peer.map(|peer| self.name_of(&peer)),
            bytes: item.value.map(|(bytes, _)| bytes as u64),
            sha256: item.value.map(|(_, hash)| hex::encode(hash.as_bytes())),
            value,
            states: item.states.iter().map(ToString::to_string).collect(),
            transaction: item.transaction.map(|id| id.to_string()),
            error: item.error.map(failure),
        }
    }

    /// A party's legal name, or its id if the network does not list it.
    pub(super) fn name_of(&self, party: &PartyId) -> String {
        self.network.name_of(party)
    }

    pub(super) fn summary(&self, status: &flow::FlowStatus) -> FlowSummary {
        let start = status.start.as_ref();
        let step = match &status.stage {
            Stage::Running { step, .. } => step.unwrap_or("running").to_owned(),
            Stage::Loaded => self.held_step(),
            Stage::Retrying { reason, .. } | Stage::Parked { reason } => reason.to_string(),
            Stage::Paused => "paused until an operator resumes it".to_owned(),
        };
        let mut summary = FlowSummary {
            flow_id: status.flow.to_string(),
            flow: start.map(|start| start.flow.clone()),
            version: start.map(|start| start.version),
            status: status_of(kernel::standing(status)),
            step,
            started_here: start.is_some_and(|start| start.origin.is_none()),
            user: kernel::user_of(status),
            started_at_ms: start.map(|start| start.at.as_ms()),
            progress_at_ms: None,
            retry_at_ms: None,
            kill_asked: false,
            peers: Vec::new(),
            waits: Vec::new(),
            failures: status.chart.as_ref().map_or(0, |chart| chart.failures),
            errors: causes(status),
        };
        match &status.stage {
            Stage::Retrying { at, .. } => summary.retry_at_ms = Some(at.as_ms()),
            Stage::Running {
                waiting,
                sessions,
                since,
                kill_asked,
                ..
            } => {
                summary.progress_at_ms = Some(since.as_ms());
                summary.kill_asked = *kill_asked;
                summary.peers = sessions.iter().map(|peer| self.name_of(peer)).collect();
                let waits = waiting.iter().map(|waiting| self.wait(waiting));
                summary.waits = waits.collect();
                if summary.waits.is_empty() {
                    summary.waits = messages(&summary.peers, *since);
                }
            }
            _ => {}
        }
        let origin = start.and_then(|start| start.origin);
        if let Some(origin) = origin.filter(|_| summary.peers.is_empty()) {
            summary.peers.push(self.name_of(&origin.peer));
        }
        summary
    }

    /// The step of a flow that has not come back since the start: it may wait for peers.
    fn held_step(&self) -> String {
        let Some(held) = self.shared.figures().held else {
            return "loaded".to_owned();
        };
        let names = |peers: &[PartyId]| {
            let names: Vec<String> = peers.iter().map(|peer| self.name_of(peer)).collect();
            names.join("; ")
        };
        let mut step = "held until peers are met".to_owned();
        if !held.any_of.is_empty() {
            step.push_str(&format!(", one of: {}", names(&held.any_of)));
        }
        if !held.each_of.is_empty() {
            step.push_str(&format!(", for sessions: {}", names(&held.each_of)));
        }
        step
    }

    fn wait(&self, waiting: &flow::PendingEffect) -> FlowWait {
        let (peer, about) = match &waiting.on {
            WaitsFor::Nothing => (None, None),
            WaitsFor::Service(party, service) => {
                (Some(party), Some(format!("{service:?}").to_lowercase()))
            }
            WaitsFor::Token(token) => (None, Some(token.to_string())),
            WaitsFor::Transaction(id, from) => (from.as_ref(), Some(id.to_string())),
            WaitsFor::Until(at) => (None, Some(at.as_ms().to_string())),
            WaitsFor::Operation(name) => (None, Some(name.clone())),
        };
        FlowWait {
            what: waiting.kind.name().to_owned(),
            peer: peer.map(|party| self.name_of(party)),
            about,
            since_ms: waiting.since.as_ms(),
        }
    }
}

/// A flow that asked for nothing waits to be spoken to.
fn messages(peers: &[String], since: Timestamp) -> Vec<FlowWait> {
    let peers = peers.iter();
    let waits = peers.map(|peer| FlowWait {
        what: "message".to_owned(),
        peer: Some(peer.clone()),
        about: None,
        since_ms: since.as_ms(),
    });
    waits.collect()
}

fn causes(status: &flow::FlowStatus) -> Vec<FlowCause> {
    let causes = status.chart.iter().flat_map(|chart| &chart.causes);
    let shown = causes.map(|cause| FlowCause {
        error: failure(cause.to_error().to_rejection()),
        at_ms: cause.at.as_ms(),
        attempt: cause.attempt,
    });
    shown.collect()
}

pub(super) fn failure(rejection: Rejection) -> FlowFailure {
    FlowFailure {
        code: rejection.code,
        message: rejection.message,
        hint: rejection.hint,
        retry_after_ms: None,
    }
}

fn raw(value: &(impl serde::Serialize + ?Sized)) -> Option<api::RawJson> {
    serde_json::value::to_raw_value(value).ok()
}
