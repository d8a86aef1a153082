//! A flow history in memory.

use std::sync::Mutex;

use api::{EndedFlow, FlowHistory, FlowHistoryQuery, FlowRecord, FlowStatus};
use flow::FlowId;
use kernel::{HistoryEnd, HistoryPlace, HistoryRow, HistoryStart, HistoryStatus};
use ledger::Rejection;
use node::http::{Answer, Ended, EndedRow, Output};
use primitives::Timestamp;

/// The ended flows, the newest first.
#[derive(Default)]
pub struct FakeHistory(Mutex<Vec<HistoryRow>>);

/// Returns a flow that ended with this result.
pub fn row(flow: FlowId, end: HistoryEnd) -> HistoryRow {
    HistoryRow {
        flow,
        start: Some(HistoryStart {
            name: "echo".to_owned(),
            version: Some(1),
            at: Some(Timestamp::from_ms(1_000)),
            user: Some("ann".to_owned()),
            client_id: None,
            origin: None,
        }),
        peers: Vec::new(),
        ended_at: Timestamp::from_ms(2_000),
        latest: Timestamp::from_ms(2_000),
        number: 0,
        end,
        transactions: Vec::new(),
    }
}

/// Returns a failure.
pub fn failure(code: &str) -> HistoryEnd {
    HistoryEnd::Failure(Rejection::new(
        code.to_owned(),
        "it failed",
        "start it again",
    ))
}

fn record(row: &HistoryRow) -> FlowRecord {
    let start = row.start.as_ref().expect("a start");
    FlowRecord {
        flow: Some(start.name.clone()),
        version: start.version,
        started_here: true,
        user: start.user.clone(),
        client_id: start.client_id.clone(),
        peers: Vec::new(),
        started_at_ms: start.at.map(Timestamp::as_ms),
        ended_at_ms: row.ended_at.as_ms(),
        result_bytes: match row.end {
            HistoryEnd::LargeOutput(bytes) => Some(bytes),
            _ => None,
        },
    }
}

fn status(row: &HistoryRow) -> FlowStatus {
    match row.status() {
        HistoryStatus::Succeeded => FlowStatus::Finalised,
        HistoryStatus::Failed => FlowStatus::Failed,
        HistoryStatus::Killed => FlowStatus::Killed,
    }
}

/// Returns the answer about a flow of the history.
pub fn recalled(row: &HistoryRow, delivered: bool) -> Answer {
    let output = match &row.end {
        HistoryEnd::Failure(rejection) => Err(rejection.clone()),
        HistoryEnd::Output(_) | HistoryEnd::LargeOutput(_) => {
            Ok(Output::Json(serde_json::from_str("7").expect("JSON")))
        }
    };
    Answer::Ended(Box::new(Ended {
        flow_id: row.flow,
        output,
        transactions: Vec::new(),
        delivered,
        refused: Vec::new(),
        undelivered: Vec::new(),
    }))
}

impl FakeHistory {
    /// Adds an ended flow.
    pub fn add(&self, row: HistoryRow) {
        self.0
            .lock()
            .expect("no test panics with it")
            .insert(0, row);
    }

    pub fn ended(&self, flow: &FlowId) -> Option<Box<EndedRow>> {
        let rows = self.0.lock().expect("no test panics with it");
        let row = rows.iter().find(|row| row.flow == *flow)?.clone();
        let record = record(&row);
        Some(Box::new(EndedRow { row, record }))
    }

    /// Returns a page. A place is the number of rows before it.
    pub fn page(
        &self,
        query: &FlowHistoryQuery,
        sees: &dyn Fn(&FlowId) -> bool,
        after: Option<HistoryPlace>,
        limit: usize,
    ) -> FlowHistory {
        let rows = self.0.lock().expect("no test panics with it");
        let skipped = after.map_or(0, |place| {
            let digits = place.to_string();
            usize::from_str_radix(&digits[..16], 16).expect("a place that this fake gave")
        });
        let wanted = |row: &&HistoryRow| {
            sees(&row.flow)
                && (!query.failed || status(row) != FlowStatus::Finalised)
                && query.status.is_none_or(|wanted| wanted == status(row))
                && query
                    .since_ms
                    .is_none_or(|since| row.ended_at.as_ms() >= since)
        };
        let found: Vec<&HistoryRow> = rows.iter().filter(wanted).collect();
        let shown = found.iter().skip(skipped).take(limit);
        let flows: Vec<EndedFlow> = shown
            .map(|row| EndedFlow {
                flow_id: row.flow.to_string(),
                status: status(row),
                record: record(row),
                result: None,
                error: None,
                transactions: Vec::new(),
            })
            .collect();
        let next = skipped + flows.len();
        FlowHistory {
            flows,
            next: (next < found.len()).then(|| format!("{next:016x}{:032x}", 0)),
        }
    }
}
