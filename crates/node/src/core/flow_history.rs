//! Ended flows, as the API shows them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use api::{EndedFlow, FlowHistory, FlowHistoryQuery, FlowRecord, FlowStatus};
use flow::FlowId;
use kernel::rows::Outcome;
use kernel::{HistoryEnd, HistoryFilter, HistoryPlace, HistoryRow, HistoryStatus};
use ledger::LegalName;
use primitives::Timestamp;

use super::hospital::failure;
use super::refusals::{joined, store_refusal};
use super::service::Service;
use crate::http::place;
use crate::http::{Refusal, Sees};

impl Service {
    /// Returns a page of the history.
    pub(super) async fn history_page(
        &self,
        query: FlowHistoryQuery,
        sees: Sees,
        after: Option<HistoryPlace>,
        limit: usize,
    ) -> Result<FlowHistory, Refusal> {
        let (filter, store) = (filter_of(query)?, self.store.clone());
        let found = place::blocking(move || {
            kernel::history_page(&filter, &*sees, after, limit, &store)
                .map_err(|failure| store_refusal(&failure))
        });
        let page = joined(found.await)?;
        Ok(FlowHistory {
            flows: page.rows.iter().map(|row| self.ended_flow(row)).collect(),
            next: page.next.map(|place| place.to_string()),
        })
    }

    /// Returns the row of an ended flow, if the history has one.
    pub(super) async fn history_row(&self, flow: FlowId) -> Result<Option<HistoryRow>, Refusal> {
        let store = self.store.clone();
        let found = place::blocking(move || {
            kernel::ended_flow(&flow, &store).map_err(|failure| store_refusal(&failure))
        });
        joined(found.await)
    }

    /// Returns the start and the end of a flow.
    pub(super) fn flow_record(&self, row: &HistoryRow) -> FlowRecord {
        let start = row.start.as_ref();
        let origin = start.and_then(|start| start.origin);
        let others = row.peers.iter().filter(|peer| Some(**peer) != origin);
        let peers = origin.iter().chain(others);
        FlowRecord {
            flow: start.map(|start| start.name.clone()),
            version: start.and_then(|start| start.version),
            started_here: start.is_some() && origin.is_none(),
            user: start.and_then(|start| start.user.clone()),
            client_id: start.and_then(|start| start.client_id.clone()),
            peers: peers.map(|peer| self.name_of(peer)).collect(),
            started_at_ms: start.and_then(|start| start.at).map(Timestamp::as_ms),
            ended_at_ms: row.ended_at.as_ms(),
            result_bytes: match row.end {
                HistoryEnd::LargeOutput(bytes) => Some(bytes),
                HistoryEnd::Output(_) | HistoryEnd::Failure(_) => None,
            },
        }
    }

    fn ended_flow(&self, row: &HistoryRow) -> EndedFlow {
        let version = row.start.as_ref().and_then(|start| {
            let version = start.version?;
            Some((start.name.as_str(), version))
        });
        let (mut result, mut error) = (None, None);
        match &row.end {
            HistoryEnd::Output(output) => {
                // A version that the node has no longer has no form in JSON.
                result = version.and_then(|(name, version)| {
                    // The conversion is the application's code. Its panic must not cost the page.
                    let convert = || self.flows.output_to_json(name, version, output);
                    let json = catch_unwind(AssertUnwindSafe(convert)).ok()?.ok()?;
                    serde_json::value::RawValue::from_string(json).ok()
                });
            }
            HistoryEnd::LargeOutput(_) => {}
            HistoryEnd::Failure(rejection) => error = Some(failure(rejection.clone())),
        }
        EndedFlow {
            flow_id: row.flow.to_string(),
            status: status_of(row),
            record: self.flow_record(row),
            result,
            error,
            transactions: row.transactions.iter().map(ToString::to_string).collect(),
        }
    }
}

/// Returns the outcome of an ended flow. A large output is not kept, so it is empty.
pub(super) fn outcome_of(row: &HistoryRow) -> Outcome {
    let start = row.start.as_ref();
    Outcome {
        flow: row.flow,
        // Only a failed flow may lack a name or a version, and a failure is shown without them.
        name: start.map_or_else(String::new, |start| start.name.clone()),
        version: start.and_then(|start| start.version).unwrap_or_default(),
        result: match &row.end {
            HistoryEnd::Output(output) => Ok(output.clone()),
            HistoryEnd::LargeOutput(_) => Ok(Vec::new()),
            HistoryEnd::Failure(rejection) => Err(rejection.clone()),
        },
        transactions: row.transactions.clone(),
    }
}

fn status_of(row: &HistoryRow) -> FlowStatus {
    match row.status() {
        HistoryStatus::Succeeded => FlowStatus::Finalised,
        HistoryStatus::Failed => FlowStatus::Failed,
        HistoryStatus::Killed => FlowStatus::Killed,
    }
}

fn filter_of(query: FlowHistoryQuery) -> Result<HistoryFilter, Refusal> {
    let bad = |text: String| Refusal::listed(&api::codes::BAD_PARAMETER, text);
    let status = match query.status {
        None => None,
        Some(FlowStatus::Finalised) => Some(HistoryStatus::Succeeded),
        Some(FlowStatus::Failed) => Some(HistoryStatus::Failed),
        Some(FlowStatus::Killed) => Some(HistoryStatus::Killed),
        Some(other) => {
            return Err(bad(format!(
                "the history has no {} flows, only finalised, failed and killed ones",
                other.as_str()
            )));
        }
    };
    let peer = query.peer.map(|name| {
        let parsed: Result<LegalName, _> = name.parse();
        parsed.map_err(|error| bad(format!("peer '{name}': {error}")))
    });
    Ok(HistoryFilter {
        status,
        has_failed: query.failed,
        name: query.flow,
        code: query.code,
        user: query.user,
        peer: peer.transpose()?.map(|name| name.party_id()),
        since: query.since_ms.map(Timestamp::from_ms),
        until: query.until_ms.map(Timestamp::from_ms),
    })
}
